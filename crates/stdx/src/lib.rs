//! stdx
