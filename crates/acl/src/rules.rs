//! A user's permissions and passwords: the value that ACL SETUSER changes.

use sha2::Digest as _;

use crate::Catalogue;
use crate::error::RuleError;
use crate::selector::Selector;

/// A password's SHA-256.
type Hash = [u8; 32];

/// The settings that new users and selectors depend on.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// All commands.
    pub table: &'a dyn Catalogue,
    /// `acl-pubsub-default allchannels`.
    pub all_channels: bool,
}

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether clients may authenticate as this user.
    pub on: bool,
    /// Any password will do.
    pub nopass: bool,
    /// RESTORE's payloads need not be verified. Apus always verifies them.
    skip_sanitize: bool,
    passwords: Vec<Hash>,
    /// The permissions that rules outside parentheses are about.
    pub root: Selector,
    /// The permissions of rules in parentheses.
    pub more: Vec<Selector>,
}

impl Rules {
    /// The permissions of a user that has just been made.
    pub(crate) fn new(ground: Ground<'_>) -> Self {
        Self {
            on: false,
            nopass: false,
            skip_sanitize: false,
            passwords: Vec::new(),
            root: Selector::new(ground.table, ground.all_channels),
            more: Vec::new(),
        }
    }

    /// The permissions of the default user while it is not configured: everything, and without a password.
    pub(crate) fn open(table: &dyn Catalogue) -> Self {
        let mut rules = Self::new(Ground { table, all_channels: true });
        rules.root.commands.set_all(true);
        // `~*` is always accepted.
        let _ = rules.root.apply(table, b"~*");
        rules.on = true;
        rules.nopass = true;
        rules
    }

    /// All its selectors, the root one first.
    pub fn selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.more)
    }

    /// Whether nothing is refused.
    pub(crate) fn is_free(&self) -> bool {
        self.selectors().any(Selector::is_free)
    }

    /// Applies one rule. On an error nothing has changed.
    pub(crate) fn apply(&mut self, ground: Ground<'_>, rule: &[u8]) -> Result<(), RuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        match rule {
            [] => {}
            _ if is("on") => self.on = true,
            _ if is("off") => self.on = false,
            _ if is("skip-sanitize-payload") => self.skip_sanitize = true,
            _ if is("sanitize-payload") => self.skip_sanitize = false,
            _ if is("nopass") => {
                self.nopass = true;
                self.passwords.clear();
            }
            _ if is("resetpass") => {
                self.nopass = false;
                self.passwords.clear();
            }
            _ if is("clearselectors") => self.more.clear(),
            _ if is("reset") => *self = Self::new(ground),
            [b'>', password @ ..] => self.add_password(hash(password)),
            [b'#', text @ ..] => self.add_password(parse_hash(text)?),
            [b'<', password @ ..] => self.remove_password(&hash(password))?,
            [b'!', text @ ..] => self.remove_password(&parse_hash(text)?)?,
            [b'(', inner @ .., b')'] => {
                self.more.push(Selector::parse(ground.table, ground.all_channels, inner)?);
            }
            _ => self.root.apply(ground.table, rule)?,
        }
        Ok(())
    }

    fn add_password(&mut self, hash: Hash) {
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
        self.nopass = false;
    }

    fn remove_password(&mut self, hash: &Hash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|p| p == hash);
        self.passwords.remove(at.ok_or(RuleError::NoSuchPassword)?);
        Ok(())
    }

    /// `requirepass`: the one password, or none if it is empty.
    pub(crate) fn set_password(&mut self, password: &[u8]) {
        self.passwords.clear();
        self.nopass = password.is_empty();
        if !self.nopass {
            self.passwords.push(hash(password));
        }
    }

    /// Whether a password with this hash is accepted. It takes as long for one that is nearly right
    /// as for any other, and looks at all of them.
    pub(crate) fn admits(&self, hash: &Hash) -> bool {
        let same = |a: &Hash| a.iter().zip(hash).fold(0, |d, (a, b)| d | (a ^ b)) == 0;
        let right = self.passwords.iter().fold(false, |found, p| found | same(p));
        self.on && (self.nopass | right)
    }

    /// `on`, `nopass` and the like, in Redis's order.
    pub fn flags(&self) -> Vec<&'static str> {
        let nopass = self.nopass.then_some("nopass");
        let sanitize =
            if self.skip_sanitize { "skip-sanitize-payload" } else { "sanitize-payload" };
        std::iter::once(if self.on { "on" } else { "off" })
            .chain(nopass)
            .chain(std::iter::once(sanitize))
            .collect()
    }

    /// The passwords' hashes in hexadecimal digits.
    pub fn hashes(&self) -> Vec<String> {
        self.passwords.iter().map(|p| p.iter().map(|b| format!("{b:02x}")).collect()).collect()
    }

    /// All rules that bring it back from a new user: words, of which only those between parentheses
    /// have blanks.
    pub(crate) fn describe(&self) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = self.flags().into_iter().map(Vec::from).collect();
        all.extend(self.hashes().into_iter().map(|h| format!("#{h}").into_bytes()));
        all.extend(self.root.describe());
        all.extend(self.more.iter().map(Selector::describe_group));
        all
    }
}

/// The hash of a password.
pub(crate) fn hash(password: &[u8]) -> Hash {
    sha2::Sha256::digest(password).into()
}

fn parse_hash(text: &[u8]) -> Result<Hash, RuleError> {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Ok(b - b'0'),
        b'a'..=b'f' => Ok(b - b'a' + 10),
        _ => Err(RuleError::BadHash),
    };
    let mut hash = [0; 32];
    if text.len() != 2 * hash.len() {
        return Err(RuleError::BadHash);
    }
    for (byte, pair) in hash.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(hash)
}

/// Joins the words of a selector that came as several arguments: from one that begins with `(` to
/// one that ends with `)`. The error is the word with which an unclosed one begins.
pub(crate) fn merge<'a>(
    words: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Vec<u8>>, &'a [u8]> {
    let mut all = Vec::new();
    let mut open: Option<(&[u8], Vec<u8>)> = None;
    for word in words {
        match &mut open {
            None if word.starts_with(b"(") && !word.ends_with(b")") => {
                open = Some((word, word.to_vec()));
            }
            None => all.push(word.to_vec()),
            Some((_, group)) => {
                group.push(b' ');
                group.extend_from_slice(word);
                if word.ends_with(b")")
                    && let Some((_, group)) = open.take()
                {
                    all.push(group);
                }
            }
        }
    }
    match open {
        Some((first, _)) => Err(first),
        None => Ok(all),
    }
}
