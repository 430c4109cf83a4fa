//! Names of channels: which namespace a name belongs to, and what else the name says.
//!
//! ```text
//!  $secrets:topic#42,43
//!  │└──┬──┘│     └─┬─┘ users, after the last `user_boundary`: only they may subscribe,
//!  │   │   │       │   where the namespace allows names with users
//!  │   │   namespace_boundary: the first one ends the namespace
//!  │   namespace
//!  private_prefix: a subscription needs a token
//! ```

use crate::code::Error;
use crate::options::{Channels, Namespace};
use std::sync::Arc;

pub use crate::pattern::Pattern;

/// A name, taken apart.
#[derive(Clone, Debug)]
pub struct Channel<'a> {
    /// The whole name.
    pub name: &'a str,
    /// What follows the namespace; the whole name if there is none.
    pub rest: &'a str,
    /// The options of its namespace.
    pub namespace: &'a Arc<Namespace>,
}

impl Channels {
    /// The namespace of a name, without its private prefix, and what follows it.
    #[must_use]
    pub fn split<'a>(&self, name: &'a str) -> (&'a str, &'a str) {
        let trimmed = name.strip_prefix(self.private_prefix.as_str()).unwrap_or(name);
        if self.namespace_boundary.is_empty() {
            return ("", name);
        }
        trimmed.split_once(self.namespace_boundary.as_str()).unwrap_or(("", name))
    }

    /// Finds the namespace of a channel.
    ///
    /// # Errors
    /// [`Error::UNKNOWN_CHANNEL`]: there is no such namespace; [`Error::NOT_AVAILABLE`]: its channels are of a kind
    /// that is not supported.
    pub fn namespace(&self, name: &str) -> Result<&Arc<Namespace>, Error> {
        let namespace = match self.split(name).0 {
            "" => &self.without_namespace,
            known => self.namespaces.get(known).ok_or(Error::UNKNOWN_CHANNEL)?,
        };
        if namespace.is_available { Ok(namespace) } else { Err(Error::NOT_AVAILABLE) }
    }

    /// Finds the namespace of a channel and takes its name apart.
    ///
    /// # Errors
    /// As [`Self::namespace`].
    pub fn find<'a>(&'a self, name: &'a str) -> Result<Channel<'a>, Error> {
        Ok(Channel { name, rest: self.split(name).1, namespace: self.namespace(name)? })
    }

    /// Finds the namespace of a channel that a client names, and checks the name.
    ///
    /// # Errors
    /// [`Error::UNKNOWN_CHANNEL`]: there is no such namespace; [`Error::BAD_REQUEST`]: the name does not match
    /// `channel_regex`, or is no ASCII where there is none.
    pub fn find_for_client<'a>(&'a self, name: &'a str) -> Result<Channel<'a>, Error> {
        let channel = self.find(name)?;
        if channel.is_valid() { Ok(channel) } else { Err(Error::BAD_REQUEST) }
    }

    /// Whether a name is longer than allowed.
    #[must_use]
    pub fn is_too_long(&self, name: &str) -> bool {
        self.max_length > 0 && name.len() > self.max_length
    }

    /// Whether a subscription needs a token by its name.
    #[must_use]
    pub fn is_private(&self, name: &str) -> bool {
        !self.private_prefix.is_empty() && name.starts_with(self.private_prefix.as_str())
    }

    /// Whether a name has users.
    #[must_use]
    pub fn is_user_limited(&self, name: &str) -> bool {
        !self.user_boundary.is_empty() && name.contains(self.user_boundary.as_str())
    }

    /// Whether a name has this user among its users, or has none.
    #[must_use]
    pub fn is_for_user(&self, name: &str, user: &str) -> bool {
        if !self.is_user_limited(name) {
            return true;
        }
        let users = name.rsplit(self.user_boundary.as_str()).next().unwrap_or_default();
        if self.user_separator.is_empty() {
            return users == user;
        }
        users.split(self.user_separator.as_str()).any(|allowed| allowed == user)
    }

    /// The personal channel of a user.
    #[must_use]
    pub fn personal(&self, namespace: &str, user: &str) -> String {
        let boundary = if namespace.is_empty() { "" } else { self.namespace_boundary.as_str() };
        format!("{namespace}{boundary}{}{user}", self.user_boundary)
    }
}

impl Channel<'_> {
    /// Whether clients may use this name: `channel_regex` matches what follows the namespace; without one, the name
    /// is ASCII.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match &self.namespace.channel_regex {
            Some(pattern) => pattern.matches(self.rest),
            None => self.name.is_ascii(),
        }
    }
}
