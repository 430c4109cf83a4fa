//! Callers that have no connection of RESP: requests over HTTP, each of which names its own user.
//!
//! A caller acts as a user with the same permissions as over RESP: a route stands for the command that
//! does the same, and goes through [`check`](::acl::check()). Refusals are counted and are in ACL LOG.

use std::fmt::Display;
use std::sync::Arc;

use ::commands::row::KeyFlags;

use super::{Catalogue as _, DEFAULT, Denied, Origin, Reason, Refusal, User, check, log};
use crate::engine::Engine;
use crate::table::Table;

/// Bytes that ACL LOG keeps of the name in a failed login: the head of a request may be long.
const NAME_MAX: usize = 256;

/// The command that lists topics.
const LIST: &[u8] = b"topic.list";

/// A user, and where the request comes from.
#[derive(Clone, Debug)]
pub struct Caller {
    user: Arc<User>,
    /// As ACL LOG shows a client.
    line: Arc<str>,
}

/// A client without a connection, in the form of CLIENT LIST.
fn line(port: &str, peer: &dyn Display, local: &dyn Display, user: &User) -> Arc<str> {
    let user = user.shown();
    format!("id=0 addr={peer} laddr={local} name= db=0 user={user} lib-name={port}").into()
}

fn default_caller(engine: &Engine, port: &str, peer: &dyn Display, local: &dyn Display) -> Caller {
    let user = engine.acl.default_user();
    Caller { user: Arc::clone(user), line: line(port, peer, local, user) }
}

impl Engine {
    /// The default user, if requests need not name a user.
    pub fn open_caller(
        &self,
        port: &str,
        peer: &dyn Display,
        local: &dyn Display,
    ) -> Option<Caller> {
        self.acl.is_open().then(|| default_caller(self, port, peer, local))
    }

    /// The default user, for a request that has shown the key of a port; none if that user is off.
    pub fn keyed_caller(
        &self,
        port: &str,
        peer: &dyn Display,
        local: &dyn Display,
    ) -> Option<Caller> {
        self.acl.default_user().rules().on.then(|| default_caller(self, port, peer, local))
    }

    /// The user of this name and password; an empty name stands for the default user. `any_password` says
    /// whether users without a password may come in. A failure is counted and logged.
    pub fn login(
        &self,
        port: &str,
        (name, password): (&[u8], &[u8]),
        any_password: bool,
        peer: &dyn Display,
        local: &dyn Display,
    ) -> Option<Caller> {
        let name = if name.is_empty() { DEFAULT } else { name };
        let user = self.acl.authenticate(name, password);
        let user = user.filter(|u| any_password || !u.rules().nopass);
        let Some(user) = user else {
            let line = line(port, peer, local, self.acl.default_user());
            let refusal = Refusal {
                reason: Reason::Auth,
                context: Origin::TopLevel,
                object: port.as_bytes(),
                user: &name[..name.len().min(NAME_MAX)],
                client: line.to_string(),
            };
            log(self, refusal);
            return None;
        };
        let line = line(port, peer, local, &user);
        Some(Caller { user, line })
    }
}

impl Engine {
    /// Whether a user may run this command, named as in its row, with these arguments; none: there is no such user.
    pub fn user_may(&self, user: &[u8], argv: &[&[u8]]) -> Option<bool> {
        let user = self.acl.user(user)?;
        let id = argv.first().and_then(|name| self.table.named(name));
        Some(id.is_some_and(|id| check(&self.table, &user, id, argv).is_ok()))
    }
}

impl Caller {
    /// Whether the user may run this command, named as in its row, with these arguments; a refusal is
    /// counted and logged.
    ///
    /// # Errors
    /// The text of the refusal.
    pub fn may(&self, engine: &Engine, argv: &[&[u8]]) -> Result<(), String> {
        if self.user.is_free() {
            return Ok(());
        }
        let id = argv.first().and_then(|name| engine.table.named(name));
        let Some(id) = id else { return Err("there is no such command".to_owned()) };
        check(&engine.table, &self.user, id, argv).map_err(|denied: Denied| {
            let refusal = Refusal {
                reason: denied.reason,
                context: Origin::TopLevel,
                object: denied.object(&engine.table, id, argv),
                user: self.user.name(),
                client: self.line.to_string(),
            };
            log(engine, refusal);
            denied.text(&self.user, engine.table.get(id).row)
        })
    }

    /// The topics among these that the user may read.
    pub fn readable(&self, table: &Table, topics: Vec<String>) -> Vec<String> {
        readable(&self.user, table.named(LIST), topics)
    }
}

/// The topics among these that a user may read by the same permissions that let them run command `list`.
pub fn readable(user: &User, list: Option<u16>, mut topics: Vec<String>) -> Vec<String> {
    if user.is_free() {
        return topics;
    }
    let rules = user.rules();
    topics.retain(|topic| {
        rules.selectors().any(|s| {
            list.is_some_and(|id| s.commands.allows(id, None))
                && s.allows_key(topic.as_bytes(), KeyFlags::RO.or(KeyFlags::ACCESS))
        })
    });
    topics
}
