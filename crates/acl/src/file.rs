//! Users as text: the ACL file, and `user` lines of the configuration file.
//!
//! Both hold a line per user: `user`, the name, and the rules that make the user from nothing. The
//! words of an ACL file are parted by blanks and nothing else; a line of the configuration file
//! follows that file's quoting.

use std::collections::BTreeMap;

use stdx::repr::quoted;
use stdx::split::split_args;

use crate::error::RuleError;
use crate::rules::{Ground, Rules, merge};
use crate::{DEFAULT, User, has_blank};

/// The users of an ACL file called `name`, with this text.
///
/// # Errors
/// All its errors, in one line.
pub fn parse(ground: Ground<'_>, name: &str, text: &[u8]) -> Result<Vec<(Vec<u8>, Rules)>, String> {
    let mut users: BTreeMap<Vec<u8>, Rules> = BTreeMap::new();
    let mut errors = String::new();
    for (number, line) in (1..).zip(text.split(|b| *b == b'\n')) {
        let line = line.trim_ascii();
        if !line.is_empty()
            && let Err(e) = parse_line(ground, (name, number), line, &mut users)
        {
            errors.push_str(&e);
        }
    }
    if errors.is_empty() {
        return Ok(users.into_iter().collect());
    }
    errors.push_str(
        "WARNING: ACL errors detected, no change to the previously active ACL rules was performed",
    );
    Err(errors)
}

fn parse_line(
    ground: Ground<'_>,
    (name, number): (&str, usize),
    line: &[u8],
    users: &mut BTreeMap<Vec<u8>, Rules>,
) -> Result<(), String> {
    let mut words = line.split(|b| *b == b' ');
    let (Some(b"user"), Some(user)) = (words.next(), words.next()) else {
        return Err(format!(
            "{name}:{number} should start with user keyword followed by the username. "
        ));
    };
    let shown = String::from_utf8_lossy(user);
    if has_blank(user) {
        return Err(format!("'{name}:{number}: username '{shown}' contains invalid characters. "));
    }
    if users.contains_key(user) {
        return Err(format!("WARNING: Duplicate user '{shown}' found on line {number}. "));
    }
    let mut rules = Rules::new(ground);
    let merged = merge(words)
        .map_err(|_| format!("{name}:{number}: Unmatched parenthesis in selector definition. "))?;
    let (mut errors, mut other) = (String::new(), false);
    for word in merged {
        let word = word.trim_ascii();
        match rules.apply(ground, word) {
            Ok(()) => {}
            // A command's name is no secret.
            Err(e @ RuleError::Unknown) => {
                let word = String::from_utf8_lossy(word);
                errors.push_str(&format!(
                    "{name}:{number}: Error in applying operation '{word}': {}. ",
                    e.text()
                ));
            }
            // Errors that follow from the first one add nothing.
            Err(e) if !other => {
                other = true;
                errors.push_str(&format!("{name}:{number}: {}. ", e.text()));
            }
            Err(_) => {}
        }
    }
    users.insert(user.to_vec(), rules);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The text of an ACL file with these users.
pub fn text<'u>(users: impl Iterator<Item = &'u User>) -> Vec<u8> {
    let mut text = Vec::new();
    for user in users {
        text.extend_from_slice(&line(user));
        text.push(b'\n');
    }
    text
}

/// A user's line, as ACL LIST shows it.
pub fn line(user: &User) -> Vec<u8> {
    let mut words = vec![b"user".to_vec(), user.name().to_vec()];
    words.extend(user.rules().describe());
    words.join(&b' ')
}

/// A user's line of the configuration file.
pub fn config_line(user: &User) -> String {
    let word = |w: &[u8]| {
        let plain = |b: &u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'\\');
        match std::str::from_utf8(w) {
            Ok(text) if !w.is_empty() && w.iter().all(plain) => text.to_owned(),
            _ => quoted(w),
        }
    };
    line(user).split(|b| *b == b' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The users of a configuration file.
#[derive(Debug)]
pub struct Configured {
    /// Names and rules.
    pub users: Vec<(Vec<u8>, Rules)>,
    /// Names of users whose line does not turn them on.
    pub disabled: Vec<String>,
}

/// The users that the `user` lines of a configuration file make. Without a line of its own, the default
/// user stays as `default` is.
///
/// # Errors
/// The first error.
pub fn configured<L: AsRef<[u8]>>(
    ground: Ground<'_>,
    lines: &[L],
    default: &User,
) -> Result<Configured, String> {
    let mut users: BTreeMap<Vec<u8>, Rules> = BTreeMap::new();
    let mut disabled = Vec::new();
    for line in lines {
        let words = split_args(line.as_ref()).unwrap_or_default();
        let [_, name, words @ ..] = words.as_slice() else {
            return Err("a `user` line needs a name".into());
        };
        let shown = String::from_utf8_lossy(name);
        if has_blank(name) {
            return Err(format!("user '{shown}': Spaces not allowed in ACL usernames"));
        }
        if users.contains_key(name) {
            return Err(format!(
                "user '{shown}': Duplicate user found. A user can only be defined once in config \
                 files"
            ));
        }
        let mut rules = Rules::new(ground);
        let merged = merge(words.iter().map(Vec::as_slice))
            .map_err(|_| format!("user '{shown}': Unmatched parenthesis in selector definition"))?;
        for word in merged {
            // A rule may be a password.
            let shown_word = match word.first() {
                Some(b'>' | b'<') => "a password".into(),
                _ => format!("'{}'", String::from_utf8_lossy(&word)),
            };
            rules
                .apply(ground, &word)
                .map_err(|e| format!("user '{shown}': {shown_word}: {}", e.text()))?;
        }
        if !rules.on {
            disabled.push(shown.into_owned());
        }
        users.insert(name.clone(), rules);
    }
    // Users declared without the default one leave that one as `requirepass` has made it.
    users.entry(DEFAULT.to_vec()).or_insert_with(|| Rules::clone(&default.rules()));
    Ok(Configured { users: users.into_iter().collect(), disabled })
}
