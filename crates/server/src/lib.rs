//! apus
