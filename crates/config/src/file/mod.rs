//! Loading: configuration file, standard input, command line, in this order.
//!
//! The rules are redis-server's. All three are lines of words, the command line
//! too: `--port 6380` is the line `port "6380"`. A later line wins, except for
//! `save`, whose points add up once the first has replaced the defaults.
//!
//! A line that Apus knows and has no use for does not stop the start: it is
//! noted in [`Loaded::ignored`]. An unknown line or a wrong value does: a
//! misspelt option that silently does nothing is worse. So does an option
//! without which the server would do harm ([`State::Refused`]).

use std::ffi::OsStr;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use stdx::repr::quoted;
use stdx::split::split_args;

use crate::kind::{MULTI, OptionKind, SENSITIVE, State};
use crate::parse::{self, Value};
use crate::{Config, Id, help, include, lookup, os_text, path_of};

/// Includes within includes; more is a file that includes itself.
const DEPTH_MAX: usize = 16;

/// The results of loading besides values of options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The configuration file, absolute, if one was named.
    pub file: Option<PathBuf>,
    /// Names with the reason why they have no effect, each once, in order. An
    /// option that does nothing but has its default is not reported.
    pub ignored: Vec<String>,
    /// The `user` lines as they stand in the file.
    pub users: Vec<Vec<u8>>,
    /// Pairs of `rename-command`: a command and its new name, empty to remove it.
    pub renames: Vec<(String, String)>,
}

/// Why loading failed. `Display` is one line: place, line and reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// File and line number, or `command line`.
    pub place: String,
    /// The line, without a value that is secret; empty if no line is at fault.
    pub line: String,
    /// The fault.
    pub reason: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.line.is_empty() {
            write!(f, "'{}': ", self.line)?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for LoadError {}

/// Lines of servers that Apus cannot replace; they are refused, as Redis refuses a module that it cannot load.
const REFUSED: [(&str, &str); 2] = [
    (
        "loadmodule",
        "Apus loads no modules, and the commands, data types and checks of this one would be missing; \
         start it without this line if nothing depends on them",
    ),
    ("sentinel", "Apus is not a sentinel; use redis-sentinel for that"),
];

const UNBALANCED: &str = "Unbalanced quotes in configuration line";

/// Options of other versions of Redis, which never did anything in 7.4.
const RETIRED: [&str; 6] = [
    "gopher-enabled",
    "hash-max-zipmap-entries",
    "hash-max-zipmap-value",
    "list-max-ziplist-entries",
    "list-max-ziplist-value",
    "lua-replicate-commands",
];

/// Loads from the command line: `args` are the arguments without the
/// program's name. The first is a configuration file unless it starts with a
/// dash; `-` at either end reads `stdin`; the rest are `--name value …`.
///
/// After an error `config` holds what had been read up to it.
pub fn load<A: AsRef<OsStr>>(
    config: &Config,
    args: &[A],
    stdin: &mut dyn Read,
) -> Result<Loaded, LoadError> {
    let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_ref().as_encoded_bytes()).collect();
    let mut loader = Loader::new(config);
    let mut options = args.as_slice();
    if let Some((first, rest)) = args.split_first()
        && !first.starts_with(b"-")
    {
        let path = std::path::absolute(path_of(first))
            .map_err(|error| unreadable(path_of(first), &error))?;
        loader.loaded.file = Some(path.clone());
        loader.file(&path, 0).map_err(|mut error| {
            // `port 7000` as a file has it.
            if let Some(id) = lookup(first).filter(|_| !path.exists()) {
                error.reason.push_str(&format!("; did you mean --{}?", id.name()));
            }
            error
        })?;
        options = rest;
    }
    let (lines, from_stdin) = option_lines(options, options.len() == args.len());
    if from_stdin {
        let mut text = Vec::new();
        stdin.read_to_end(&mut text).map_err(|error| unreadable(Path::new("stdin"), &error))?;
        loader.text("stdin", &text, 0)?;
    }
    for line in lines {
        loader.place = "command line".to_owned();
        let loaded = loader.line(&line, 0);
        loaded.map_err(|fault| one_dash(&line, fault).at(loader.place.clone(), &line))?;
    }
    loader.finish()
}

/// Loads configuration text; `name` stands for it in errors.
pub fn load_text(config: &Config, name: &str, text: &[u8]) -> Result<Loaded, LoadError> {
    let mut loader = Loader::new(config);
    loader.text(name, text, 0)?;
    loader.finish()
}

fn unreadable(path: &Path, error: &std::io::Error) -> LoadError {
    LoadError {
        place: path.display().to_string(),
        line: String::new(),
        reason: format!("can't read the configuration file: {}", os_text(error)),
    }
}

/// Turns arguments into lines, and says whether `-` asks for standard input.
/// `from_start` tells that `args` begins with the very first argument.
fn option_lines(args: &[&[u8]], from_start: bool) -> (Vec<Vec<u8>>, bool) {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut from_stdin = false;
    // A name wants at least one value, and that may look like a name.
    let mut has_value = true;
    for (place, arg) in args.iter().enumerate() {
        let last = place + 1 == args.len();
        if *arg == b"-" && ((place == 0 && from_start) || last) {
            from_stdin = true;
        } else if has_value && arg.starts_with(b"--") {
            let mut line = arg[2..].to_vec();
            // `"--port 6380"` brings its value along.
            has_value = !split_args(arg).is_ok_and(|words| words.len() == 1);
            if let Some((name, value)) = with_equals(&line) {
                line = [name, b" ", quoted(value).as_bytes()].concat();
                has_value = true;
            }
            let before_name = args.get(place + 1).is_none_or(|next| next.starts_with(b"--"));
            if !has_value && before_name {
                if arg.eq_ignore_ascii_case(b"--save") {
                    // A script with an empty list of save points writes this.
                    line.extend_from_slice(b" \"\"");
                    has_value = true;
                } else if arg.eq_ignore_ascii_case(b"--sentinel") {
                    has_value = true;
                }
            }
            lines.push(line);
        } else {
            if lines.is_empty() {
                lines.push(Vec::new());
            }
            let line = lines.last_mut().expect("just made sure of");
            if !line.is_empty() {
                line.push(b' ');
            }
            line.extend_from_slice(quoted(arg).as_bytes());
            has_value = true;
        }
    }
    (lines, from_stdin)
}

/// The name and the value of `name=value`.
fn with_equals(arg: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = arg.iter().position(|b| *b == b'=')?;
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
    (end > 0 && arg[..end].iter().all(is_name)).then(|| (&arg[..end], &arg[end + 1..]))
}

/// The fault, or rather that an option has one dash, as redis-cli's have, and was taken for a value.
fn one_dash(line: &[u8], fault: Fault) -> Fault {
    let Fault::Line(reason, secret) = fault else { return fault };
    let words = split_args(line).unwrap_or_default();
    let is_option = |w: &&Vec<u8>| w.len() > 1 && w[0] == b'-' && w[1].is_ascii_alphabetic();
    // The word behind a name is its value, whatever it looks like.
    let Some(word) =
        words.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, w)| w).find(is_option)
    else {
        return Fault::Line(reason, secret);
    };
    let word = String::from_utf8_lossy(word);
    let like = match &*word {
        "-p" => " (the port is --port)",
        "-a" => " (the password is --requirepass)",
        "-s" => " (the Unix socket is --unixsocket)",
        "-t" => " (the number of threads is --threads)",
        "-c" => " (a configuration file comes first, without a name)",
        _ => "",
    };
    Fault::Line(format!("'{word}' is not an option: options begin with two dashes{like}"), secret)
}

/// The fault of a line, before the line's position is known.
enum Fault {
    /// The line itself is wrong; whether it holds a secret.
    Line(String, bool),
    /// A line of an included file is.
    Included(LoadError),
}

impl Fault {
    fn at(self, place: String, line: &[u8]) -> LoadError {
        match self {
            Fault::Included(error) => error,
            Fault::Line(reason, secret) => {
                let line = String::from_utf8_lossy(line);
                let name = line.split_ascii_whitespace().next().unwrap_or_default();
                let line = if secret { format!("{name} …") } else { line.into_owned() };
                LoadError { place, line, reason }
            }
        }
    }
}

impl From<&str> for Fault {
    fn from(reason: &str) -> Self {
        Fault::Line(reason.to_owned(), false)
    }
}

struct Loader<'a> {
    config: &'a Config,
    loaded: Loaded,
    save_seen: bool,
    /// Where the present line stands.
    place: String,
    /// Options that the server must not start with, and the last line that set each.
    refused: Vec<(Id, LoadError)>,
    /// Inert options that were set, in order.
    inert: Vec<Id>,
}

impl<'a> Loader<'a> {
    fn new(config: &'a Config) -> Self {
        Loader {
            config,
            loaded: Loaded::default(),
            save_seen: false,
            place: String::new(),
            refused: Vec::new(),
            inert: Vec::new(),
        }
    }

    fn finish(mut self) -> Result<Loaded, LoadError> {
        // An option that a later line has taken back does no harm.
        let refused = self.refused.into_iter().find(|(id, _)| !self.config.is_default(*id));
        if let Some((_, why)) = refused {
            return Err(why);
        }
        for id in self.inert {
            if let State::Accepted(why) = id.row().state
                && !self.config.is_default(id)
            {
                self.loaded.ignored.push(format!("{} ({why})", id.name()));
            }
        }
        self.config.changed();
        Ok(self.loaded)
    }

    fn file(&mut self, path: &Path, depth: usize) -> Result<(), LoadError> {
        let text = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
        self.text(&path.display().to_string(), &text, depth)
    }

    fn text(&mut self, name: &str, text: &[u8], depth: usize) -> Result<(), LoadError> {
        for (place, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            let place = format!("{name}:{}", place + 1);
            self.place.clone_from(&place);
            self.line(line, depth).map_err(|fault| fault.at(place, line))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], depth: usize) -> Result<(), Fault> {
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        let words = split_args(line).map_err(|_| UNBALANCED)?;
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let Some((name, args)) = words.split_first() else {
            return Ok(());
        };
        match lookup(name) {
            Some(id) => {
                self.option(id, args)?;
                if let State::Refused(why) = id.row().state {
                    let error = Fault::from(why).at(self.place.clone(), line);
                    self.refused.retain(|(other, _)| *other != id);
                    self.refused.push((id, error));
                }
                Ok(())
            }
            None => self.directive(line, &name.to_ascii_lowercase(), args, depth),
        }
    }

    fn option(&mut self, id: Id, args: &[&[u8]]) -> Result<(), Fault> {
        let row = id.row();
        let fault = |reason: String| Fault::Line(reason, row.has(SENSITIVE));
        let value = match args {
            // One word may hold all the values of an option of several.
            [one] if row.has(MULTI) && !one.is_empty() => {
                let inner = split_args(one).map_err(|_| UNBALANCED)?;
                let inner: Vec<&[u8]> = inner.iter().map(Vec::as_slice).collect();
                parse::parse(row, &inner, self.config)
            }
            [_] => parse::parse(row, args, self.config),
            _ if row.has(MULTI) => parse::parse(row, args, self.config),
            _ => Err("wrong number of arguments".to_owned()),
        };
        let value = match (value, row.kind) {
            // A file written for another server must load: leave the switch off and say so.
            (Err(why), OptionKind::Off(reason)) if why == reason => {
                self.ignore(row.name, reason);
                return Ok(());
            }
            (value, _) => value.map_err(fault)?,
        };
        let value = match value {
            Value::Text(points) if id == Id::Save => Value::Text(self.add_save(points)),
            value => value,
        };
        self.config.store(id, &value);
        if matches!(row.state, State::Accepted(_)) && !self.inert.contains(&id) {
            self.inert.push(id);
        }
        Ok(())
    }

    /// Save points add up; the first line replaces the defaults, an empty one all.
    fn add_save(&mut self, points: Vec<u8>) -> Vec<u8> {
        if !self.save_seen || points.is_empty() {
            self.save_seen = true;
            return points;
        }
        let mut all = self.config.with_bytes(Id::Save, <[u8]>::to_vec);
        if !all.is_empty() {
            all.push(b' ');
        }
        all.extend_from_slice(&points);
        all
    }

    /// A line that is not an option.
    fn directive(
        &mut self,
        line: &[u8],
        name: &[u8],
        args: &[&[u8]],
        depth: usize,
    ) -> Result<(), Fault> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match (name, args) {
            (b"include", [path]) => return self.include(path, depth),
            (b"user", [_, ..]) => self.loaded.users.push(line.to_vec()),
            (b"rename-command", [from, to]) => self.loaded.renames.push((text(from), text(to))),
            _ => {
                let name = text(name);
                if let Some((_, why)) = REFUSED.iter().find(|(known, _)| *known == name) {
                    return Err((*why).into());
                } else if RETIRED.contains(&name.as_str()) {
                    self.ignore(&name, "an option of another version of Redis");
                } else if name.contains('.') && !args.is_empty() {
                    self.ignore(&name, "Apus loads no modules");
                } else {
                    return Err(unknown(&name));
                }
            }
        }
        Ok(())
    }

    fn ignore(&mut self, name: &str, why: &str) {
        let note = format!("{name} ({why})");
        if !self.loaded.ignored.contains(&note) {
            self.loaded.ignored.push(note);
        }
    }

    /// Relative paths start at `dir`, which a line before this one may have set.
    fn include(&mut self, path: &[u8], depth: usize) -> Result<(), Fault> {
        if depth == DEPTH_MAX {
            return Err("includes are nested too deeply; does a file include itself?".into());
        }
        let path = self.config.with_bytes(Id::Dir, |dir| path_of(dir).join(path_of(path)));
        let paths =
            include::expand(&path).map_err(|error| Fault::Included(unreadable(&path, &error)))?;
        paths.iter().try_for_each(|path| self.file(path, depth + 1)).map_err(Fault::Included)
    }
}

fn unknown(name: &str) -> Fault {
    let what = match help::nearest(name) {
        // `include` and its like are known by name, so their words are at fault.
        Some(near) if near == name => format!("'{name}' wants other arguments"),
        Some(near) => format!("there is no option '{name}', did you mean '{near}'?"),
        None => format!("there is no option '{name}'"),
    };
    Fault::Line(format!("Bad directive or wrong number of arguments: {what}"), false)
}

#[cfg(test)]
mod tests;
