//! A connection that waits for the log, or for the broker of live channels: both answer from threads of their own.
//!
//! To the connection it is a blocked command like any other: its input waits, CLIENT UNBLOCK and its
//! end give up. The answer goes through a job of the connection's thread, so that it cannot come
//! before the connection waits.

use std::sync::Arc;

use ::acl::Catalogue as _;
use ::log::Error;
use commands::row::KeyFlags;
use commands::{Fail, Outcome};
use engine::Call;
use engine::Client;
use engine::acl;
use engine::{Engine, Worker};
use engine::{Job, Message};
use resp::{Out, Proto, Reply};
use store::{Block, Empty, Kind};

/// See the module's text.
#[derive(Clone)]
pub(crate) struct PendingReply {
    worker: Arc<Worker>,
    client: Arc<Client>,
    proto: Proto,
    /// The command and its topic.
    what: [String; 2],
    /// Distinguishes this command from others that the connection may wait for later.
    answer_id: u64,
}

/// Texts of the log as error replies.
pub(crate) fn fail(e: &Error) -> Fail {
    let word = match e {
        Error::NoTopic(_) => "NOTOPIC",
        Error::TopicExists(_) => "TOPICEXISTS",
        Error::OutOfBounds { .. } => "OUTOFBOUNDS",
        Error::Sequence { .. } => "SEQUENCE",
        Error::Damaged(_) => "DAMAGED",
        Error::NoGroup(_) => "NOGROUP",
        Error::Busy { .. } | Error::Larger { .. } | Error::NotYet(_) | Error::Closed => "TRYAGAIN",
        Error::ReadOnly => "READONLY",
        Error::Bad(_) | Error::TooLarge(_) | Error::Storage(_) => "ERR",
    };
    match e {
        Error::OutOfBounds { first, next, .. } => {
            Fail(format!("{word} {e}: the topic has {first} up to, not including, {next}").into())
        }
        // A reply is one line.
        _ => Fail(format!("{word} {}", e.to_string().replace(['\r', '\n'], " ")).into()),
    }
}

/// The refusal, if the client's user may not read the topic any more. A write is answered in any case.
fn revoked(engine: &Engine, client: &Client, what: &[String; 2]) -> Option<Fail> {
    let user = Arc::clone(&client.user.read());
    if user.is_free() {
        return None;
    }
    let id = engine.table.named(what[0].as_bytes())?;
    let row = engine.table.get(id).row;
    if !row.keys.iter().any(|k| k.flags.has(KeyFlags::ACCESS)) {
        return None;
    }
    let denied = acl::check(&engine.table, &user, id, &what[..]).err()?;
    acl::note(engine, &user, client, acl::Origin::TopLevel, (id, &what[..]), denied);
    Some(denied.fail(&user, row))
}

impl PendingReply {
    /// Makes the connection wait: until `deadline` (Unix milliseconds), if there is one, and then for
    /// nothing. `what` stands for the arguments in the slow log.
    pub(crate) fn wait(
        call: &mut Call<'_>,
        what: [&str; 2],
        deadline: Option<i64>,
    ) -> Result<Self, Fail> {
        let cx = &mut call.thread.cx;
        if !cx.may_block {
            return Err(Fail::text("ERR topics are not for transactions and scripts"));
        }
        let answer_id = Block::next_answer_id();
        let args = what.iter().map(|w| w.as_bytes().to_vec()).collect();
        let (empty, errors) = (Empty::NullArray, false);
        let kind = Kind::String;
        cx.block = Some(Block {
            errors,
            args: Some(args),
            answer_id,
            ..Block::new(Vec::new(), kind, deadline, empty)
        });
        Ok(Self {
            worker: Arc::clone(call.thread.worker()),
            client: Arc::clone(&call.session.client),
            proto: call.session.proto,
            what: what.map(str::to_owned),
            answer_id,
        })
    }

    /// Answers, if the connection still waits.
    pub(crate) fn answer(&self, write: impl FnOnce(&mut Reply<'_>) -> Outcome) {
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, self.proto);
        let failed = write(&mut reply).err();
        if let Some(fail) = &failed {
            reply.error(fail.bytes());
        }
        let bytes = if out.shared.is_empty() { out.buf } else { out.join() };
        let Self { client, answer_id, what, proto, .. } = self.clone();
        self.worker.mailbox.post(Message::Run(Job::new(move |engine, thread| {
            let Some(fail) = revoked(engine, &client, &what) else {
                return thread.answer_waiting(engine, &client, answer_id, bytes, failed.as_ref());
            };
            let mut out = Out::default();
            Reply::new(&mut out, proto).error(fail.bytes());
            thread.answer_waiting(engine, &client, answer_id, out.join(), Some(&fail));
        })));
    }

    /// Keeps the waker of the connection for as long as it waits for this command. That may be over
    /// already, and the connection may wait for another command.
    pub(crate) fn keep(&self, waiting: Option<::log::Waiting>) {
        let (client, answer_id) = (Arc::clone(&self.client), self.answer_id);
        self.worker.mailbox.post(Message::Run(Job::new(move |_, _| {
            if client.waits_for(answer_id).is_some() {
                client.set_topic_wait(waiting);
            }
        })));
    }
}
