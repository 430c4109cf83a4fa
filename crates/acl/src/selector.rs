//! One set of permissions: commands, key patterns and channel patterns that belong together.
//!
//! A user has one at least (the *root* one). Each of its calls must be allowed as a whole by one of
//! them.

use ::commands::row::KeyFlags;
use stdx::glob;
use stdx::split::split_args;

use crate::Catalogue;
use crate::commands::Commands;
use crate::error::RuleError;
use crate::has_blank;

/// A pattern and the access to the keys that match it; at least one of both is set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KeyPattern {
    read: bool,
    write: bool,
    pattern: Vec<u8>,
}

impl KeyPattern {
    fn describe(&self) -> Vec<u8> {
        let sign: &[u8] = match (self.read, self.write) {
            (true, false) => b"%R~",
            (false, true) => b"%W~",
            // `~*` would stand for all keys, behind which Redis refuses further patterns.
            _ if self.pattern == b"*" => b"%RW~",
            _ => b"~",
        };
        [sign, &self.pattern].concat()
    }
}

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The commands that it allows.
    pub commands: Commands,
    all_keys: bool,
    keys: Vec<KeyPattern>,
    all_channels: bool,
    channels: Vec<Vec<u8>>,
}

impl Selector {
    /// Nothing is allowed, except channels where `acl-pubsub-default` says so.
    pub(crate) fn new(table: &dyn Catalogue, all_channels: bool) -> Self {
        Self {
            commands: Commands::none(table),
            all_keys: false,
            keys: Vec::new(),
            all_channels,
            channels: Vec::new(),
        }
    }

    /// The selector that `(…)` makes; `inner` is the text between the parentheses.
    pub(crate) fn parse(
        table: &dyn Catalogue,
        all_channels: bool,
        inner: &[u8],
    ) -> Result<Self, RuleError> {
        let mut s = Self::new(table, all_channels);
        for rule in split_args(inner).map_err(|_| RuleError::Syntax)? {
            s.apply(table, &rule)?;
        }
        Ok(s)
    }

    /// Applies one rule.
    pub(crate) fn apply(&mut self, table: &dyn Catalogue, rule: &[u8]) -> Result<(), RuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        match rule {
            _ if is("allkeys") || is("~*") => {
                self.all_keys = true;
                self.keys.clear();
            }
            _ if is("resetkeys") => {
                self.all_keys = false;
                self.keys.clear();
            }
            _ if is("allchannels") || is("&*") => {
                self.all_channels = true;
                self.channels.clear();
            }
            _ if is("resetchannels") => {
                self.all_channels = false;
                self.channels.clear();
            }
            _ if is("allcommands") || is("+@all") => self.commands.set_all(true),
            _ if is("nocommands") || is("-@all") => self.commands.set_all(false),
            [b'~', pattern @ ..] => self.add_key(true, true, pattern)?,
            [b'%', rest @ ..] => {
                let (mut read, mut write) = (false, false);
                let mut signs = rest.iter();
                loop {
                    match signs.next() {
                        Some(b'R' | b'r') if !read => read = true,
                        Some(b'W' | b'w') if !write => write = true,
                        Some(b'~') if read || write => break,
                        // `%R` without a tilde is a pattern of nothing, in Redis too.
                        None if read || write => break,
                        _ => return Err(self.or_all_keys(RuleError::Syntax)),
                    }
                }
                self.add_key(read, write, signs.as_slice())?;
            }
            [b'&', pattern @ ..] => {
                if self.all_channels {
                    return Err(RuleError::ChannelsAreAll);
                }
                if has_blank(pattern) {
                    return Err(RuleError::Syntax);
                }
                if !self.channels.iter().any(|p| p == pattern) {
                    self.channels.push(pattern.to_vec());
                }
            }
            [b'+', name @ ..] => self.commands.apply(table, true, name)?,
            [b'-', name @ ..] => self.commands.apply(table, false, name)?,
            _ => return Err(RuleError::Syntax),
        }
        Ok(())
    }

    /// A key pattern behind `~*` is refused for its position, even if it is invalid, too.
    fn or_all_keys(&self, e: RuleError) -> RuleError {
        if self.all_keys { RuleError::KeysAreAll } else { e }
    }

    fn add_key(&mut self, read: bool, write: bool, pattern: &[u8]) -> Result<(), RuleError> {
        if self.all_keys {
            return Err(RuleError::KeysAreAll);
        }
        if has_blank(pattern) {
            return Err(RuleError::Syntax);
        }
        match self.keys.iter_mut().find(|p| p.pattern == pattern) {
            Some(p) => {
                p.read |= read;
                p.write |= write;
            }
            None => self.keys.push(KeyPattern { read, write, pattern: pattern.to_vec() }),
        }
        Ok(())
    }

    /// Whether nothing at all is refused.
    pub(crate) fn is_free(&self) -> bool {
        self.commands.is_every() && self.all_keys && self.all_channels
    }

    /// Whether every key is allowed.
    pub(crate) fn allows_all_keys(&self) -> bool {
        self.all_keys
    }

    /// Whether every channel is allowed.
    pub(crate) fn allows_all_channels(&self) -> bool {
        self.all_channels
    }

    /// Its channel patterns.
    pub(crate) fn channels(&self) -> &[Vec<u8>] {
        &self.channels
    }

    /// Whether a key may be accessed in this way.
    pub fn allows_key(&self, key: &[u8], flags: KeyFlags) -> bool {
        let (read, write) = wanted(flags);
        let fits = |p: &KeyPattern| {
            (p.read || !read) && (p.write || !write) && glob::matches(&p.pattern, key, false)
        };
        self.all_keys || self.keys.iter().any(fits)
    }

    /// Whether any key whatsoever may be accessed in this way.
    pub(crate) fn allows_any_key(&self, flags: KeyFlags) -> bool {
        let (read, write) = wanted(flags);
        let fits = |p: &KeyPattern| (p.read || !read) && (p.write || !write) && p.pattern == b"*";
        self.all_keys || self.keys.iter().any(fits)
    }

    /// Whether a channel, or a pattern of channels, may be used.
    pub(crate) fn allows_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        self.all_channels || channel_fits(&self.channels, name, is_pattern)
    }

    /// Key patterns as rules.
    pub fn describe_keys(&self) -> Vec<Vec<u8>> {
        if self.all_keys {
            return vec![b"~*".to_vec()];
        }
        self.keys.iter().map(KeyPattern::describe).collect()
    }

    /// Channel patterns as rules.
    pub fn describe_channels(&self) -> Vec<Vec<u8>> {
        if self.all_channels {
            return vec![b"&*".to_vec()];
        }
        self.channels.iter().map(|c| [b"&", c.as_slice()].concat()).collect()
    }

    /// All rules that bring it back from nothing, each a word without blanks.
    pub(crate) fn describe(&self) -> Vec<Vec<u8>> {
        let mut rules = self.describe_keys();
        if !self.all_channels {
            rules.push(b"resetchannels".to_vec());
        }
        rules.extend(self.describe_channels());
        rules.extend(self.commands.describe());
        rules
    }

    /// The same between parentheses. A word in which a quote or a parenthesis would be misread is
    /// quoted.
    pub(crate) fn describe_group(&self) -> Vec<u8> {
        let word = |rule: Vec<u8>| {
            let odd = rule.contains(&b'"') || rule.contains(&b'\'') || rule.ends_with(b")");
            if odd { stdx::repr::quoted(&rule).into_bytes() } else { rule }
        };
        let words: Vec<Vec<u8>> = self.describe().into_iter().map(word).collect();
        [b"(".as_slice(), &words.join(&b' '), b")"].concat()
    }
}

/// The rights that an access with these flags needs: reading the user's data, and changing it.
fn wanted(flags: KeyFlags) -> (bool, bool) {
    let changes = KeyFlags::INSERT.or(KeyFlags::DELETE).or(KeyFlags::UPDATE);
    (flags.has(KeyFlags::ACCESS), flags.has_any(changes))
}

/// Whether one of `patterns` lets a channel through. A pattern that is subscribed to must be among
/// them literally: its matches are not known beforehand.
pub(crate) fn channel_fits(patterns: &[Vec<u8>], name: &[u8], is_pattern: bool) -> bool {
    patterns.iter().any(|p| if is_pattern { p == name } else { glob::matches(p, name, false) })
}
