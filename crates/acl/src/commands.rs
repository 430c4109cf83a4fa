//! Which commands a selector allows: a bit per command, and the rules that set the bits.
//!
//! A check reads the bits. The rules are kept in the order in which they came, so that ACL LIST can
//! show them and a file can bring them back; a rule is removed when a later one covers it (Redis
//! since 7.2).
//!
//! Names are those of the rows: `rename-command` does not affect them.

use std::collections::BTreeMap;

use ::commands::row::Acl as Category;

use crate::Catalogue;
use crate::error::RuleError;
use crate::has_blank;

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Every command is allowed: no bit has been cleared since `+@all`.
    every: bool,
    /// It began with `+@all` and not with `-@all`.
    begins_all: bool,
    /// By number.
    bits: Box<[u64]>,
    /// Commands that are allowed with one of these as their first argument only.
    first_args: BTreeMap<u16, Vec<Vec<u8>>>,
    /// Rules since then: whether they allow, and the name, in lower case.
    rules: Vec<(bool, Vec<u8>)>,
}

impl Commands {
    /// None.
    pub(crate) fn none(table: &dyn Catalogue) -> Self {
        Self {
            every: false,
            begins_all: false,
            bits: vec![0; usize::from(table.len()).div_ceil(64)].into(),
            first_args: BTreeMap::new(),
            rules: Vec::new(),
        }
    }

    /// Whether all of them are allowed.
    pub(crate) fn is_every(&self) -> bool {
        self.every
    }

    /// `+@all` or `-@all`.
    pub(crate) fn set_all(&mut self, allow: bool) {
        self.every = allow;
        self.begins_all = allow;
        self.bits.fill(if allow { u64::MAX } else { 0 });
        self.first_args.clear();
        self.rules.clear();
    }

    /// Whether command `id` is allowed with this first argument.
    pub fn allows(&self, id: u16, first_arg: Option<&[u8]>) -> bool {
        if self.every || self.bit(id) {
            return true;
        }
        let (Some(args), Some(given)) = (self.first_args.get(&id), first_arg) else { return false };
        args.iter().any(|a| a.eq_ignore_ascii_case(given))
    }

    fn bit(&self, id: u16) -> bool {
        let word = self.bits.get(usize::from(id / 64)).copied().unwrap_or(0);
        word >> (id % 64) & 1 == 1
    }

    fn set_bit(&mut self, id: u16, allow: bool) {
        let mask = 1 << (id % 64);
        if let Some(word) = self.bits.get_mut(usize::from(id / 64)) {
            if allow {
                *word |= mask;
            } else {
                *word &= !mask;
                self.every = false;
            }
        }
    }

    /// A command, with its subcommands if it is a container.
    fn set_command(&mut self, table: &dyn Catalogue, id: u16, allow: bool) {
        self.set_bit(id, allow);
        self.first_args.remove(&id);
        table.subs(id).for_each(|sub| self.set_bit(sub, allow));
    }

    /// `+name` or `-name`; `name` is a command, `container|sub`, `command|first-argument` or
    /// `@category`.
    pub(crate) fn apply(
        &mut self,
        table: &dyn Catalogue,
        allow: bool,
        name: &[u8],
    ) -> Result<(), RuleError> {
        if let Some(category) = name.strip_prefix(b"@") {
            self.apply_category(table, allow, category)?;
        } else if let Some(id) = table.named(name) {
            self.set_command(table, id, allow);
        } else {
            let bar = name.iter().rposition(|b| *b == b'|').filter(|_| allow);
            let (command, argument) = name.split_at(bar.ok_or(RuleError::Unknown)?);
            let id = table.named(command).ok_or(RuleError::Unknown)?;
            if command.contains(&b'|') {
                return Err(RuleError::DeepArgument);
            }
            let argument = &argument[1..];
            if argument.is_empty() || has_blank(argument) {
                return Err(RuleError::Syntax);
            }
            if !table.subs(id).is_empty() {
                return Err(RuleError::Unknown);
            }
            let argument = argument.to_ascii_lowercase();
            let args = self.first_args.entry(id).or_default();
            if !args.contains(&argument) {
                args.push(argument);
            }
        }
        self.note(allow, name.to_ascii_lowercase());
        Ok(())
    }

    fn apply_category(
        &mut self,
        table: &dyn Catalogue,
        allow: bool,
        category: &[u8],
    ) -> Result<(), RuleError> {
        let bit = category_named(category).ok_or(RuleError::Unknown)?;
        for id in 0..table.len() {
            // A container takes its subcommands along, whatever they are in themselves, as in Redis.
            if table.row(id).acl_categories().has(bit) {
                self.set_command(table, id, allow);
            }
        }
        Ok(())
    }

    /// Adds a rule. Removes those that it makes void: the same one, and those about subcommands or
    /// first arguments of the same command.
    fn note(&mut self, allow: bool, name: Vec<u8>) {
        self.rules.retain(|(_, old)| match old.strip_prefix(name.as_slice()) {
            Some(rest) => !rest.is_empty() && !rest.starts_with(b"|"),
            None => true,
        });
        self.rules.push((allow, name));
    }

    /// The rules, the first of them `+@all` or `-@all`.
    pub fn describe(&self) -> Vec<Vec<u8>> {
        let sign = |allow: bool| if allow { b'+' } else { b'-' };
        let all = (self.begins_all, b"@all".to_vec());
        std::iter::once(&all)
            .chain(&self.rules)
            .map(|(allow, name)| [&[sign(*allow)], name.as_slice()].concat())
            .collect()
    }
}

/// The category of that name, whatever its case.
pub fn category_named(name: &[u8]) -> Option<Category> {
    let is = |(_, known): &&(Category, &str)| name.eq_ignore_ascii_case(known.as_bytes());
    Category::NAMED.iter().find(is).map(|(bit, _)| *bit)
}
