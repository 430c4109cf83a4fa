//! Access control, where it is about connections: refusals of their commands, and closing them when their
//! permissions are withdrawn. Users, rules and checks are in the crate [`acl`].

mod caller;
pub mod change;
pub mod file;
mod revoke;

use ::acl::{Catalogue, Ground, Narrowed, Refusal, Replaced, Rules};
use ::commands::keys::Argv;
use ::commands::row::Row;
use config::{AclPubsubDefault, Id};

pub use ::acl::may_listen;
pub(crate) use ::acl::reads_all;
pub use ::acl::{Acl, DEFAULT, Denied, Origin, Reason, User, check};
pub use caller::Caller;
pub use caller::readable;
pub use change::reload;
pub use file::lines;

use crate::clients::Client;
use crate::engine::Engine;
use crate::session::Session;
use crate::table::Table;

impl Catalogue for Table {
    fn len(&self) -> u16 {
        // All of them have a number.
        u16::try_from(self.all().len()).unwrap_or(u16::MAX)
    }

    #[inline]
    fn row(&self, id: u16) -> &'static Row {
        self.get(id).row
    }

    fn subs(&self, id: u16) -> std::ops::Range<u16> {
        Self::subs(self, id)
    }
}

impl Engine {
    /// What rules of access are made from.
    pub fn acl_ground(&self) -> Ground<'_> {
        let default = self.config.chosen(Id::AclPubsubDefault);
        let all_channels = matches!(default, AclPubsubDefault::Allchannels);
        Ground { table: &self.table, all_channels }
    }
}

/// Where the commands of a session are refused.
pub fn origin_of(session: &Session) -> Origin {
    if session.multi.is_some() { Origin::Multi } else { Origin::TopLevel }
}

/// A connection, as CLIENT LIST shows it.
fn line_of(engine: &Engine, client: &Client) -> String {
    let now = engine.clock.wall_ms() as i64;
    let mut line = String::new();
    crate::push_client_line(&mut line, engine, now, client);
    line.truncate(line.trim_end().len());
    line
}

fn log(engine: &Engine, refusal: Refusal<'_>) {
    let most = usize::try_from(engine.config.int(Id::AcllogMaxLen)).unwrap_or(usize::MAX);
    engine.acl.log.add(refusal, engine.clock.wall_ms() as i64, most);
}

/// Counts and logs a refusal to `user`. `client` is the connection.
pub fn note<A: Argv + ?Sized>(
    engine: &Engine,
    user: &User,
    client: &Client,
    context: Origin,
    (id, argv): (u16, &A),
    denied: Denied,
) {
    let object = denied.object(&engine.table, id, argv);
    let client = line_of(engine, client);
    log(engine, Refusal { reason: denied.reason, context, object, user: user.name(), client });
}

/// Counts and logs a failed login as `name` by `command`.
pub fn note_login(engine: &Engine, name: &[u8], client: &Client, context: Origin, command: &[u8]) {
    let client = line_of(engine, client);
    log(engine, Refusal { reason: Reason::Auth, context, object: command, user: name, client });
}
