//! The first words on a connection: `HELLO 3` with the user, the name, who we are, the database.
//!
//! All of it leaves in one write. A server that has no `HELLO` (before Redis 6) is spoken to in RESP2, which takes
//! a second write. `CLIENT SETINFO` (since Redis 7.2) may fail.

use crate::arg::{Arg, Args, write_number};
use crate::config::{Config, Protocol};
use crate::connection::stream::Stream;
use crate::error::{Error, Result};
use crate::parse::{Limits, Parser};
use crate::value::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Size of the receive buffer; handshake replies are short.
const LIMITS: Limits = Limits { depth_max: 8, string_bytes_max: 1 << 20, reply_bytes_max: 1 << 20 };

/// One command, and whether it may fail.
struct Step {
    bytes: Vec<u8>,
    may_fail: bool,
}

fn step<A: Arg>(args: &[A], may_fail: bool) -> Step {
    let mut bytes = vec![b'*'];
    write_number(&mut bytes, args.len());
    bytes.extend_from_slice(b"\r\n");
    args.write(&mut Args { bytes: &mut bytes, count: &mut 0 });
    Step { bytes, may_fail }
}

/// Introduces us and says the `opening`, whose refusal is an error; the reply to one more command, if there is one.
pub(crate) async fn introduce(
    stream: &mut Stream,
    config: &Config,
    opening: &[Vec<Vec<u8>>],
    last: Option<&[&str]>,
) -> Result<Option<Value>> {
    let mut conversation = Conversation { stream, parser: Parser::new(LIMITS), input: Vec::new() };
    let mut hello = true;
    if config.protocol == Protocol::Auto {
        let steps = hello_and_more(config, opening, last);
        let replies = conversation.say(&steps).await?;
        hello = match replies.first() {
            Some(Value::Error(error)) if has_no_hello(error.text()) => false,
            _ => return check(&steps, replies).map(|reply| reply.filter(|_| last.is_some())),
        };
    }
    if !opening.is_empty() {
        return Err(Error::usage("tracking needs RESP3, and this connection has RESP2"));
    }
    let steps = resp2(config, last);
    let replies = conversation.say(&steps).await?;
    check(&steps, replies).map(|reply| reply.filter(|_| last.is_some())).map_err(
        |error| match hello {
            true => error,
            false => Error::connection(format!("the server has no HELLO, and then: {error}")),
        },
    )
}

/// What servers without RESP3 say.
fn has_no_hello(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("unknown command")
        || text.starts_with("noproto")
        || text.contains("unsupported protocol")
}

fn hello_and_more(config: &Config, opening: &[Vec<Vec<u8>>], last: Option<&[&str]>) -> Vec<Step> {
    let mut hello = vec!["HELLO", "3"];
    if let Some((user, password)) = credentials(config) {
        hello.extend(["AUTH", user, password]);
    }
    if let Some(name) = &config.name {
        hello.extend(["SETNAME", name]);
    }
    let mut steps = vec![step(&hello, false)];
    steps.extend(common(config, opening, last));
    steps
}

fn resp2(config: &Config, last: Option<&[&str]>) -> Vec<Step> {
    let mut steps = Vec::new();
    match (credentials(config), &config.username) {
        // Servers before Redis 6 know no users.
        (Some((_, password)), None) => steps.push(step(&["AUTH", password], false)),
        (Some((user, password)), Some(_)) => steps.push(step(&["AUTH", user, password], false)),
        (None, _) => {}
    }
    if let Some(name) = &config.name {
        steps.push(step(&["CLIENT", "SETNAME", name], false));
    }
    steps.extend(common(config, &[], last));
    steps
}

fn common(config: &Config, opening: &[Vec<Vec<u8>>], last: Option<&[&str]>) -> Vec<Step> {
    let mut steps = vec![
        step(&["CLIENT", "SETINFO", "LIB-NAME", env!("CARGO_PKG_NAME")], true),
        step(&["CLIENT", "SETINFO", "LIB-VER", env!("CARGO_PKG_VERSION")], true),
    ];
    if config.database != 0 {
        steps.push(step(&["SELECT", &config.database.to_string()], false));
    }
    if config.read_from_replicas {
        // Servers that are no cluster refuse it and need none.
        steps.push(step(&["READONLY"], true));
    }
    steps.extend(opening.iter().map(|args| step(args, false)));
    steps.extend(last.map(|args| step(args, true)));
    steps
}

fn credentials(config: &Config) -> Option<(&str, &str)> {
    let password = config.password.as_deref();
    match (&config.username, password) {
        (None, None) => None,
        (user, password) => {
            Some((user.as_deref().unwrap_or("default"), password.unwrap_or_default()))
        }
    }
}

/// The last reply, unless a mandatory command failed.
fn check(steps: &[Step], replies: Vec<Value>) -> Result<Option<Value>> {
    let mut last = None;
    for (step, reply) in steps.iter().zip(replies) {
        match reply {
            Value::Error(error) if !step.may_fail => return Err(error.into()),
            reply => last = Some(reply),
        }
    }
    Ok(last)
}

struct Conversation<'s> {
    stream: &'s mut Stream,
    parser: Parser,
    input: Vec<u8>,
}

impl Conversation<'_> {
    /// Sends all of it and reads as many replies.
    async fn say(&mut self, steps: &[Step]) -> Result<Vec<Value>> {
        let broke =
            |error| Error::connection(format!("the connection broke while it began: {error}"));
        let bytes: Vec<u8> = steps.iter().flat_map(|step| step.bytes.iter().copied()).collect();
        self.stream.write_all(&bytes).await.map_err(broke)?;
        self.stream.flush().await.map_err(broke)?;
        let mut replies = Vec::new();
        let mut piece = [0; 4096];
        // A push may follow at once, with tracking; half of one must not stay for the driver's parser.
        while replies.len() < steps.len() || !self.input.is_empty() || !self.parser.is_idle() {
            let (done, value) = self.parser.parse(&self.input)?;
            self.input.drain(..done);
            match value {
                // No key is cached yet, so the push is ignored.
                Some(Value::Push(_)) => {}
                Some(_) if replies.len() == steps.len() => {
                    return Err(Error::protocol("a reply to no command"));
                }
                Some(value) => replies.push(value),
                None => {
                    let n = self.stream.read(&mut piece).await.map_err(broke)?;
                    if n == 0 {
                        return Err(Error::connection(
                            "the server closed the connection while it began",
                        ));
                    }
                    self.input.extend_from_slice(&piece[..n]);
                }
            }
        }
        Ok(replies)
    }
}
