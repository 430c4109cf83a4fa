//! Full copies.
