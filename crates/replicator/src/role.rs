//! Becoming a replica, and a primary again.
