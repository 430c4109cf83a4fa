//! Whole commands at the start of a primary's stream.
