//! Whether a user may run a command with these arguments.
//!
//! Keys are those that [`commands::keys::keys`] finds, which COMMAND GETKEYSANDFLAGS shows: the two
//! cannot differ. Where a call's keys cannot be found, not even for locking, the command itself
//! refuses it before it looks at any.

use ::commands::Fail;
use ::commands::keys::{Argv, KeyPos, keys, positions};
use ::commands::row::{Channels, Flags, KeyFlags, Row};
use stdx::carried::carry;

use crate::Catalogue;
use crate::selector::Selector;
use crate::user::User;

/// The missing permission. The order is that of importance: of the refusals of several selectors, the
/// greatest is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The command may not be run.
    Command,
    /// A key may not be accessed in this way.
    Key,
    /// The user or the password is wrong.
    Auth,
    /// A channel may not be used.
    Channel,
}

impl Reason {
    /// As ACL LOG calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Key => "key",
            Self::Auth => "auth",
            Self::Channel => "channel",
        }
    }
}

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denied {
    /// The missing permission.
    pub reason: Reason,
    /// The key or channel that may not be used, as the number of its argument.
    pub arg: usize,
}

impl Denied {
    /// The text that the client gets; it names no key, which may belong to another user.
    pub fn text(self, user: &User, row: &Row) -> String {
        match self.reason {
            Reason::Key => "No permissions to access a key".into(),
            Reason::Channel => "No permissions to access a channel".into(),
            Reason::Command | Reason::Auth => format!(
                "User {} has no permissions to run the '{}' command",
                carry(user.name()),
                row.name
            ),
        }
    }

    /// The same for ACL DRYRUN, whose caller may see everything. `value` is the argument in question.
    pub fn full_text(self, user: &User, row: &Row, value: &[u8]) -> String {
        let what = match self.reason {
            Reason::Key => "key",
            Reason::Channel => "channel",
            Reason::Command | Reason::Auth => return self.text(user, row),
        };
        let value = carry(value);
        format!("User {} has no permissions to access the '{value}' {what}", carry(user.name()))
    }

    /// The error reply.
    pub fn fail(self, user: &User, row: &Row) -> Fail {
        Fail::new(format!("NOPERM {}", self.text(user, row)))
    }

    /// What was refused, for the log: the command `id` of `table`, or the argument in question.
    pub fn object<'a, C: Catalogue + ?Sized, A: Argv + ?Sized>(
        self,
        table: &C,
        id: u16,
        argv: &'a A,
    ) -> &'a [u8] {
        match self.reason {
            Reason::Command => table.row(id).name.as_bytes(),
            _ if self.arg < argv.len() => argv.get(self.arg),
            _ => b"",
        }
    }

    /// The error reply within EXEC, when the command could be queued but may not be run any more.
    pub fn revoked(self) -> Fail {
        let why = match self.reason {
            Reason::Key => "no permission to touch the specified keys",
            Reason::Channel => "no permission to access one of the channels used as arguments",
            Reason::Command | Reason::Auth => "no permission to execute the command or subcommand",
        };
        Fail::new(format!(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the \
             EXEC call. This command is no longer allowed for the following reason: {why}"
        ))
    }
}

/// Whether `user` may run command `id` (as the table numbers it; a subcommand where there is one)
/// with these arguments, the command's name first.
///
/// # Errors
/// The missing permission; nothing has been logged or counted ([`Acl::log`](crate::Acl)).
#[inline]
pub fn check<C: Catalogue + ?Sized, A: Argv + ?Sized>(
    table: &C,
    user: &User,
    id: u16,
    argv: &A,
) -> Result<(), Denied> {
    if user.is_free() { Ok(()) } else { check_each(table, user, id, argv) }
}

#[cold]
fn check_each<C: Catalogue + ?Sized, A: Argv + ?Sized>(
    table: &C,
    user: &User,
    id: u16,
    argv: &A,
) -> Result<(), Denied> {
    let rules = user.rules();
    let mut call = CallOf::new(table, id, argv);
    let mut worst: Option<Denied> = None;
    for s in rules.selectors() {
        match call.fits(s) {
            Ok(()) => return Ok(()),
            Err(d) => worst = worst.max(Some(d)),
        }
    }
    worst.map_or(Ok(()), Err)
}

/// Whether `user` may run the command and, by the same permissions, read every key there is: BY and
/// GET of SORT need that, since their keys are not known beforehand.
pub fn reads_all<C: Catalogue + ?Sized, A: Argv + ?Sized>(
    table: &C,
    user: &User,
    id: u16,
    argv: &A,
) -> bool {
    if user.is_free() {
        return true;
    }
    let rules = user.rules();
    let mut call = CallOf::new(table, id, argv);
    rules.selectors().any(|s| s.allows_any_key(KeyFlags::ACCESS) && call.fits(s).is_ok())
}

/// Whether `user` may be subscribed to a channel, or to a pattern of channels.
pub fn may_listen(user: &User, name: &[u8], is_pattern: bool) -> bool {
    user.is_free() || user.rules().selectors().any(|s| s.allows_channel(name, is_pattern))
}

/// A call whose keys are looked for once at most.
struct CallOf<'a, A: ?Sized> {
    id: u16,
    row: &'static Row,
    argv: &'a A,
    keys: Option<Vec<KeyPos>>,
}

impl<'a, A: Argv + ?Sized> CallOf<'a, A> {
    fn new<C: Catalogue + ?Sized>(table: &C, id: u16, argv: &'a A) -> Self {
        Self { id, row: table.row(id), argv, keys: None }
    }

    fn fits(&mut self, s: &Selector) -> Result<(), Denied> {
        let (row, argv) = (self.row, self.argv);
        let first = (argv.len() > 1).then(|| argv.get(1));
        if !row.flags.has(Flags::NO_AUTH) && !s.commands.allows(self.id, first) {
            return Err(Denied { reason: Reason::Command, arg: 0 });
        }
        if !s.allows_all_keys() && row.has_keys() {
            let keys = self.keys.get_or_insert_with(|| {
                let mut found = Vec::new();
                if keys(row, argv, &mut |k| found.push(k)).is_err() {
                    // Their access cannot be determined; locking may know their positions.
                    let any = KeyFlags::ACCESS.or(KeyFlags::UPDATE);
                    let _ = positions(row, argv, &mut |index| {
                        found.push(KeyPos { index, flags: any });
                    });
                }
                found
            });
            if let Some(k) = keys.iter().find(|k| !s.allows_key(argv.get(k.index), k.flags)) {
                return Err(Denied { reason: Reason::Key, arg: k.index });
            }
        }
        if !s.allows_all_channels()
            && let Some((last, is_pattern)) = channels_of(row, argv.len())
            && let Some(arg) = (1..last).find(|i| !s.allows_channel(argv.get(*i), is_pattern))
        {
            return Err(Denied { reason: Reason::Channel, arg });
        }
        Ok(())
    }
}

/// The channels that a call subscribes or publishes to: from argument 1 up to, not including, the
/// answer; and whether they are patterns. To leave a channel is always allowed.
fn channels_of(row: &Row, argc: usize) -> Option<(usize, bool)> {
    match row.channels {
        Channels::Subscribe => Some((argc, false)),
        Channels::SubscribePatterns => Some((argc, true)),
        Channels::Publish | Channels::PublishShard => Some((argc.min(2), false)),
        Channels::None => None,
    }
}
