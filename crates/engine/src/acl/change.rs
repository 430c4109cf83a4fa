//! Changing the set of users: each change as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stdx::carried::carry;

use super::revoke::{self, Narrowed};
use super::rules::{Ground, Rules, merge};
use super::user::User;
use super::{Acl, DEFAULT};
use crate::engine::Engine;
use crate::session::Session;
use crate::table::{Call, Table};

/// ACL SETUSER. Connections that are subscribed to channels that the user may not use any more are
/// closed.
///
/// # Errors
/// The text of the refusal without its code; nothing has changed.
pub fn set(call: &mut Call<'_>, name: &[u8], words: &[&[u8]]) -> Result<(), String> {
    let engine = call.engine;
    let ground = engine.acl_ground();
    let narrowed = {
        let mut users = engine.acl.users.write();
        let user = users.get(name).cloned();
        let old = user.as_ref().map(|u| u.rules());
        let rules = old.as_ref().map_or_else(|| Rules::new(ground), |r| Rules::clone(r));
        let rules = changed(ground, rules, words)?;
        match user.zip(old) {
            Some((user, old)) => {
                let narrowed = Narrowed::between(&user, &old, &rules);
                engine.acl.put(&user, rules);
                narrowed
            }
            None => {
                users.insert(name.to_vec(), Arc::new(User::new(name, rules)));
                None
            }
        }
    };
    if let Some(narrowed) = narrowed {
        revoke::subscribers(call.engine, Some(&mut *call.session), &narrowed);
    }
    Ok(())
}

/// `rules` with `words` applied.
fn changed(ground: Ground<'_>, mut rules: Rules, words: &[&[u8]]) -> Result<Rules, String> {
    let merged = merge(words.iter().copied()).map_err(|first| {
        let first = carry(first);
        format!("Unmatched parenthesis in acl selector starting at '{first}'.")
    })?;
    for word in merged {
        rules.apply(ground, &word).map_err(|e| {
            let word = carry(&word);
            format!("Error in ACL SETUSER modifier '{word}': {}", e.text())
        })?;
    }
    Ok(rules)
}

/// ACL DELUSER: closes the connections of the deleted users. Returns how many users there were.
pub fn delete(call: &mut Call<'_>, names: &[&[u8]]) -> usize {
    let gone: Vec<Arc<User>> = {
        let mut users = call.engine.acl.users.write();
        names.iter().filter_map(|name| users.remove(*name)).collect()
    };
    dismiss(call.engine, Some(&mut *call.session), &gone);
    gone.len()
}

/// Removes all permissions of users that are not in the list any more, and closes their connections.
fn dismiss(engine: &Engine, own: Option<&mut Session>, gone: &[Arc<User>]) {
    if gone.is_empty() {
        return;
    }
    let ground = engine.acl_ground();
    for user in gone {
        user.set_rules(Rules::new(Ground { all_channels: false, ..ground }));
    }
    revoke::connections(engine, own, gone);
}

/// ACL LOAD: `new` replaces the set of users. The default user has its initial rules if it is not
/// among them.
pub fn replace(engine: &Engine, mut own: Option<&mut Session>, new: Vec<(Vec<u8>, Rules)>) {
    let (gone, narrowed) = engine.acl.replace(&engine.table, new);
    dismiss(engine, own.as_deref_mut(), &gone);
    for n in &narrowed {
        revoke::subscribers(engine, own.as_deref_mut(), n);
    }
}

/// Takes the users from the ACL file, as ACL LOAD does, where no client asks for it.
///
/// # Errors
/// The errors in the file; the users do not change.
pub fn reload(engine: &Engine) -> Result<(), String> {
    let users = super::file::read(engine)?;
    replace(engine, None, users);
    Ok(())
}

impl Acl {
    /// Returns the users that are not in the list any more, and those that may use fewer channels.
    pub(super) fn replace(
        &self,
        table: &Table,
        new: Vec<(Vec<u8>, Rules)>,
    ) -> (Vec<Arc<User>>, Vec<Narrowed>) {
        let mut narrowed = Vec::new();
        let mut users = self.users.write();
        let mut next = BTreeMap::new();
        let mut all: BTreeMap<Vec<u8>, Rules> = new.into_iter().collect();
        all.entry(DEFAULT.to_vec()).or_insert_with(|| Rules::open(table));
        for (name, rules) in all {
            let user = match users.get(&name) {
                Some(user) => {
                    narrowed.extend(Narrowed::between(user, &user.rules(), &rules));
                    self.put(user, rules);
                    Arc::clone(user)
                }
                None => Arc::new(User::new(&name, rules)),
            };
            next.insert(name, user);
        }
        let kept: BTreeSet<&Vec<u8>> = next.keys().collect();
        let gone = users.iter().filter(|(name, _)| !kept.contains(name));
        let gone = gone.map(|(_, user)| Arc::clone(user)).collect();
        *users = next;
        (gone, narrowed)
    }
}
