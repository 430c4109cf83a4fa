//! Where the two servers are.

/// The two servers, by address.
#[derive(Clone, Debug)]
pub struct Servers {
    /// The reference, `HOST:PORT`.
    pub redis: String,
    /// What is compared with it.
    pub apus: String,
}
