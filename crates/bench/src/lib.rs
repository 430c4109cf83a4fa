//! Load generators for servers, Apus or others. They know the wire and nothing of the server's
//! insides, so that what they measure is what any client would see.

pub mod kv;
