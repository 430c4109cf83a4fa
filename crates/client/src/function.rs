//! Functions of libraries that servers keep (Redis 7).

use crate::arg::Arg;
use crate::client::Client;
use crate::command::Command;
use crate::convert::FromValue;
use crate::error::{Error, Result};

/// A function with the library that has it. It is called by its name; a server that does not know it is given the
/// library.
///
/// ```no_run
/// # use apus_client::{Client, Function};
/// # async fn example(client: Client) -> apus_client::Result<()> {
/// const LIBRARY: &str = "#!lua name=counting
/// redis.register_function('add', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)";
/// let add = Function::new("add", LIBRARY);
/// let n: i64 = add.run(&client, "key", 7).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Function {
    name: String,
    library: String,
    is_read_only: bool,
}

impl Function {
    /// A function by its name, and the text of its library, which begins with `#!lua name=…`.
    #[must_use]
    pub fn new(name: impl Into<String>, library: impl Into<String>) -> Self {
        Self { name: name.into(), library: library.into(), is_read_only: false }
    }

    /// It has the flag `no-writes`: it is called by `FCALL_RO` and repeated after a broken connection.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    fn command(&self, keys: &impl Arg, args: &impl Arg) -> Command {
        let name = if self.is_read_only { "FCALL_RO" } else { "FCALL" };
        let mut command = Command::new(name).arg(&self.name);
        command.push_counted(keys);
        command.arg(args)
    }

    /// Calls it. If the server answers that it does not know the function, which is before it executes anything,
    /// the library is loaded and the function called again. A library of the same name that is there is left as it
    /// is: replacing a newer one would be worse than an error.
    ///
    /// # Errors
    ///
    /// What the function or the server answers; no reply.
    pub async fn run<T: FromValue>(
        &self,
        client: &Client,
        keys: impl Arg,
        args: impl Arg,
    ) -> Result<T> {
        let result = client.call(self.command(&keys, &args)).await;
        let value = match result {
            Err(error) if is_unknown(&error) => {
                self.load(client).await?;
                client.call(self.command(&keys, &args)).await?
            }
            result => result?,
        };
        T::from_value(value)
    }

    /// Loads the library, on all masters of a cluster; one that is there already is no error.
    ///
    /// # Errors
    ///
    /// What is wrong with the library; no reply.
    pub async fn load(&self, client: &Client) -> Result<()> {
        match client.call(Command::new("FUNCTION LOAD").arg(&self.library)).await {
            Err(error) if !text(&error).contains("already exists") => Err(error),
            _ => Ok(()),
        }
    }
}

fn text(error: &Error) -> &str {
    error.server().map_or("", crate::value::ServerError::text)
}

/// `ERR Function not found`: the code alone says nothing.
fn is_unknown(error: &Error) -> bool {
    text(error).eq_ignore_ascii_case("ERR Function not found")
}
