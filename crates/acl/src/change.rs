//! Changing the set of users: each change as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stdx::carried::carry;

use crate::narrowed::Narrowed;
use crate::rules::{Ground, Rules, merge};
use crate::user::User;
use crate::{Acl, Catalogue, DEFAULT};

/// The users that are affected when all users have been replaced.
#[derive(Debug, Default)]
pub struct Replaced {
    /// Users that are not in the list any more.
    pub gone: Vec<Arc<User>>,
    /// Users that may use fewer channels than before.
    pub narrowed: Vec<Narrowed>,
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

impl Acl {
    /// ACL SETUSER. Returns the user if it may use fewer channels than before.
    ///
    /// # Errors
    /// The text of the refusal without its code; nothing has changed.
    pub fn set(
        &self,
        ground: Ground<'_>,
        name: &[u8],
        words: &[&[u8]],
    ) -> Result<Option<Narrowed>, String> {
        let mut users = self.users.write();
        let user = users.get(name).cloned();
        let old = user.as_ref().map(|u| u.rules());
        let rules = old.as_ref().map_or_else(|| Rules::new(ground), |r| Rules::clone(r));
        let rules = changed(ground, rules, words)?;
        Ok(match user.zip(old) {
            Some((user, old)) => {
                let narrowed = Narrowed::between(&user, &old, &rules);
                self.put(&user, rules);
                narrowed
            }
            None => {
                users.insert(name.to_vec(), Arc::new(User::new(name, rules)));
                None
            }
        })
    }

    /// ACL DELUSER. Returns the users that there were; they may do nothing any more.
    pub fn delete(&self, ground: Ground<'_>, names: &[&[u8]]) -> Vec<Arc<User>> {
        let gone: Vec<Arc<User>> = {
            let mut users = self.users.write();
            names.iter().filter_map(|name| users.remove(*name)).collect()
        };
        dismiss(ground, &gone);
        gone
    }

    /// ACL LOAD: `new` replaces the set of users. The default user has its initial rules if it is not
    /// among them. Users that are not in the list any more may do nothing.
    pub fn replace(&self, ground: Ground<'_>, new: Vec<(Vec<u8>, Rules)>) -> Replaced {
        let replaced = self.exchange(ground.table, new);
        dismiss(ground, &replaced.gone);
        replaced
    }

    fn exchange(&self, table: &dyn Catalogue, new: Vec<(Vec<u8>, Rules)>) -> Replaced {
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
        Replaced { gone, narrowed }
    }
}

/// Removes all permissions of users that are not in the list any more.
fn dismiss(ground: Ground<'_>, gone: &[Arc<User>]) {
    for user in gone {
        user.set_rules(Rules::new(Ground { all_channels: false, ..ground }));
    }
}
