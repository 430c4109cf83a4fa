//! Tests of the API.
