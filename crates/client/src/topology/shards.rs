//! Servers that know nothing of one another, among which clients choose: centrifuge's way, so that both agree.

use crate::client::Client;
use crate::error::{Error, Result};

/// Several clients, each with a part of the keys.
#[derive(Clone, Debug)]
pub struct Shards {
    clients: Vec<Client>,
}

impl Shards {
    /// Connects to all of them. Their order decides which keys are where.
    ///
    /// # Errors
    ///
    /// There is no URL, or a server does not answer.
    pub async fn connect<U: AsRef<str>>(urls: impl IntoIterator<Item = U>) -> Result<Self> {
        let mut clients = Vec::new();
        for url in urls {
            clients.push(Client::connect(url.as_ref()).await?);
        }
        Self::new(clients)
    }

    /// Takes clients that are there; each may itself be one of Sentinel's or of a cluster.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn new(clients: Vec<Client>) -> Result<Self> {
        if clients.is_empty() {
            return Err(Error::usage("shards need at least one server"));
        }
        Ok(Self { clients })
    }

    /// The client that has a key or a channel.
    #[must_use]
    pub fn of(&self, key: impl AsRef<[u8]>) -> &Client {
        &self.clients[shard_of(key.as_ref(), self.clients.len())]
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Client] {
        &self.clients
    }
}

/// The number of the shard that has a key, of `count` shards: the jump consistent hash (Lamping and Veach, 2014)
/// of the key's 64-bit FNV-1a hash. One shard more moves as few keys as can be.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the hash is defined so"
)]
#[expect(clippy::cast_precision_loss, reason = "the hash is defined so")]
pub fn shard_of(key: &[u8], count: usize) -> usize {
    let fnv = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let mut hash = key.iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    let (mut shard, mut next) = (0, 0_u64);
    while next < count as u64 {
        shard = next;
        hash = hash.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((shard + 1) as f64 * ((1_u64 << 31) as f64 / ((hash >> 33) + 1) as f64)) as u64;
    }
    shard as usize
}

#[cfg(test)]
mod tests {
    use super::shard_of;

    #[test]
    fn shards_are_those_of_centrifuge() {
        // Computed by centrifuge's consistentIndex.
        let counts = [1, 2, 3, 7, 16, 1000];
        for (key, expected) in EXPECTED {
            assert_eq!(counts.map(|count| shard_of(key.as_bytes(), count)), expected, "{key}");
        }
    }

    const EXPECTED: [(&str, [usize; 6]); 6] = [
        ("", [0, 1, 1, 1, 13, 266]),
        ("a", [0, 1, 2, 2, 12, 163]),
        ("channel", [0, 1, 1, 1, 7, 488]),
        ("news:42", [0, 0, 0, 4, 10, 663]),
        ("chat:index", [0, 0, 0, 0, 0, 817]),
        ("канал", [0, 1, 2, 6, 8, 868]),
    ];
}
