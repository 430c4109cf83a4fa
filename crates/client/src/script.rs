//! Scripts, by their digests.

use crate::arg::Arg;
use crate::client::Client;
use crate::command::Command;
use crate::convert::FromValue;
use crate::error::Result;
use sha1::{Digest, Sha1};
use std::fmt::Write;

/// A Lua script. Its digest is sent instead of its text; a server that does not know it yet gets the text.
///
/// ```no_run
/// # use apus_client::{Client, Script};
/// # async fn example(client: Client) -> apus_client::Result<()> {
/// let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
/// let n: i64 = script.run(&client, "key", 7).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Script {
    text: String,
    digest: String,
    is_read_only: bool,
}

impl Script {
    /// A script with this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let digest = Sha1::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        Self { text, digest, is_read_only: false }
    }

    /// It writes nothing: it is sent as `EVALSHA_RO` (Redis 7) and repeated after a broken connection.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// The SHA-1 digest by which servers know it.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    fn command(&self, by_text: bool, keys: &impl Arg, args: &impl Arg) -> Command {
        let (name, what) = match (self.is_read_only, by_text) {
            (false, false) => ("EVALSHA", &self.digest),
            (false, true) => ("EVAL", &self.text),
            (true, false) => ("EVALSHA_RO", &self.digest),
            (true, true) => ("EVAL_RO", &self.text),
        };
        let mut command = Command::new(name).arg(what);
        command.push_counted(keys);
        command.arg(args)
    }

    /// Runs it. `NOSCRIPT` says that it was not executed, so it is sent again with its text.
    ///
    /// # Errors
    ///
    /// What the script or the server answers; no reply.
    pub async fn run<T: FromValue>(
        &self,
        client: &Client,
        keys: impl Arg,
        args: impl Arg,
    ) -> Result<T> {
        let result = client.call(self.command(false, &keys, &args)).await;
        let value = match result {
            Err(error) if error.code() == "NOSCRIPT" => {
                client.call(self.command(true, &keys, &args)).await?
            }
            result => result?,
        };
        T::from_value(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Script;

    #[test]
    fn the_digest_is_that_of_servers() {
        // SCRIPT LOAD "return 1"
        assert_eq!(Script::new("return 1").digest(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    }
}
