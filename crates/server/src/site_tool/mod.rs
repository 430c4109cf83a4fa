//! `apus site`: a new site, a look at one for mistakes, and the way of one into a running server and back.
//!
//! In a server a site is a hash whose fields are paths (`web-key`). It is pushed in one
//! transaction, so that no request sees half of it, and a replica gets all of it or nothing.

mod link;
mod server;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::words::{Word, Words};
use link::ServerAddress;
use pages::Site;
use pages::site::{Source, is_path, read_dir};
use server::{Server, Target};

/// The output of `apus site --help`.
const HELP: &str = "\
A site for the web port.

Usage: apus site COMMAND [OPTIONS]

  new DIR      makes a directory with a small blog: routes, templates, a style sheet
  check DIR    reads a site as the server does, and says what is wrong with it
  push DIR     checks a site and writes it into a running server, all at once; what was there before goes
  pull DIR     writes the site of a running server into a directory that is new or empty

  -h HOST      the server's host; 127.0.0.1
  -p PORT      its port; 6379
  -s PATH      its Unix socket, instead of both
  -u USER      the user to log in as; default
  -a PASSWORD  the password; without it that in the environment's REDISCLI_AUTH, if any
  --key KEY    the hash with the site; without it the server is asked for its web-key

  --tls        speaks TLS, with
  --cacert FILE, --cacertdir DIR  authorities of the server's certificate, or --insecure: it is not checked
  --cert FILE, --key-file FILE    a certificate of one's own, and its private key
  --sni NAME                      the name that is asked for, if it is another one than HOST
";

/// Files of a new site, by their paths.
const BLOG: [(&str, &str); 7] = [
    ("routes", include_str!("blog/routes")),
    ("templates/base.html", include_str!("blog/templates/base.html")),
    ("templates/index.html", include_str!("blog/templates/index.html")),
    ("templates/post.html", include_str!("blog/templates/post.html")),
    ("templates/404.html", include_str!("blog/templates/404.html")),
    ("templates/feed.xml", include_str!("blog/templates/feed.xml")),
    ("public/style.css", include_str!("blog/public/style.css")),
];

struct Asked {
    command: String,
    dir: PathBuf,
    target: Target,
    key: Option<String>,
}

fn parse(args: &[String]) -> Result<Asked, String> {
    let mut target = Target {
        place: ServerAddress {
            host: "127.0.0.1".to_owned(),
            port: 6379,
            ..ServerAddress::default()
        },
        user: None,
        password: std::env::var("REDISCLI_AUTH").ok(),
    };
    let (mut texts, mut key) = (Vec::new(), None);
    let mut words = Words::new(args);
    while let Some(word) = words.next()? {
        let option = match word {
            Word::Option(option) => option,
            Word::Text(text) => {
                texts.push(text);
                continue;
            }
        };
        let mut value = || words.value(&option);
        match option.as_str() {
            _ if target.place.tls.take(&option, &mut value)? => {}
            "-h" | "--host" => target.place.host = value()?,
            "-s" | "--socket" => target.place.socket = Some(value()?.into()),
            "-p" | "--port" => {
                let text = value()?;
                target.place.port = text.parse().map_err(|_| format!("'{text}' is no port"))?;
            }
            "-u" | "--user" => target.user = Some(value()?),
            "-a" | "--pass" => target.password = Some(value()?),
            "--key" => key = Some(value()?).filter(|key| !key.is_empty()),
            _ => return Err(format!("there is no option {option}")),
        }
    }
    if target.user.is_some() && target.password.is_none() {
        return Err("a user needs a password: -a, or REDISCLI_AUTH".to_owned());
    }
    target.place.tls.check(target.place.socket.is_some())?;
    let mut texts = texts.into_iter();
    let command = texts.next().ok_or("which command?")?;
    let names = ["new", "check", "push", "pull"];
    if !names.contains(&command.as_str()) {
        let near = config::help::nearest_of(&command, names);
        let meant = near.map_or_else(String::new, |near| format!(", did you mean '{near}'?"));
        return Err(format!("there is no command '{command}'{meant}"));
    }
    match (texts.next(), texts.next()) {
        (Some(dir), None) => Ok(Asked { command, dir: dir.into(), target, key }),
        _ => Err(format!("it is 'apus site {command} DIR'")),
    }
}

/// Runs `apus site` with the arguments that follow these words: 0, 1 if it failed or the site has mistakes, 2 for
/// a wrong command line.
pub fn main(args: &[String]) -> ExitCode {
    // -h with a value is the host, as redis-cli takes it.
    if args.is_empty() || args == ["-h"] || args.iter().any(|a| a == "--help") {
        return done(print(HELP));
    }
    match parse(args) {
        Ok(asked) => done(run(&asked)),
        Err(e) => {
            eprintln!("apus site: {e}; 'apus site --help' lists the commands");
            ExitCode::from(2)
        }
    }
}

fn done(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("apus site: {e}");
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e.to_string()),
        _ => Ok(()),
    }
}

fn run(asked: &Asked) -> Result<(), String> {
    let dir = &asked.dir;
    match asked.command.as_str() {
        "new" => {
            let files = BLOG.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
            write(dir, &files)?;
            print(&format!(
                "{0}: a blog. Look at it: apus serve --web-port 8000 --web-root {0}\n",
                dir.display()
            ))
        }
        "check" => {
            let sources = check(dir)?;
            print(&format!("{}: {} files, no mistakes\n", dir.display(), sources.len()))
        }
        "push" => {
            let sources = check(dir)?;
            let (mut server, key) = connect(asked)?;
            let bytes = server.push(&key, &sources)?;
            print(&format!("{key}: {} files, {bytes} bytes\n", sources.len()))
        }
        _ => {
            let (mut server, key) = connect(asked)?;
            let files = server.pull(&key)?;
            if files.is_empty() {
                return Err(format!("there is no site in the key '{key}'"));
            }
            write(dir, &files)?;
            print(&format!("{}: {} files\n", dir.display(), files.len()))
        }
    }
}

fn connect(asked: &Asked) -> Result<(Server, String), String> {
    let mut server = Server::connect(&asked.target)?;
    let key = match &asked.key {
        Some(key) => key.clone(),
        None => server.key()?,
    };
    Ok((server, key))
}

/// Reads a site, and looks for mistakes as the server does.
fn check(dir: &Path) -> Result<Vec<Source>, String> {
    let sources = read_dir(dir).map_err(|e| e.to_string())?;
    let commands = engine::Table::new(session_commands::ALL, &[]).reading_commands();
    let (site, mut errors) = Site::new(sources.clone(), &commands, None);
    errors.extend(site.missing());
    let names = sources.iter().map(|source| &source.path);
    let strange = names.filter(|path| !is_path(path));
    errors.extend(strange.map(|path| format!("{path}: a key cannot have this path")));
    if sources.is_empty() {
        errors.push("there are no files".to_owned());
    }
    if errors.is_empty() {
        Ok(sources)
    } else {
        Err(format!("{}:\n  {}", dir.display(), errors.join("\n  ")))
    }
}

/// Writes files below a directory, which is made, and must be empty if it is there.
fn write(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<(), String> {
    let named = |path: &Path, e: &io::Error| format!("{}: {}", path.display(), config::os_text(e));
    fs::create_dir_all(dir).map_err(|e| named(dir, &e))?;
    if fs::read_dir(dir).map_err(|e| named(dir, &e))?.next().is_some() {
        return Err(format!("{}: it is not empty", dir.display()));
    }
    for (name, bytes) in files {
        // The server's word is not believed: nothing is written outside.
        if !is_path(name) {
            return Err(format!("'{}' is no path of a site", name.escape_debug()));
        }
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| named(parent, &e))?;
        }
        fs::write(&path, bytes).map_err(|e| named(&path, &e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_site_has_no_mistakes_and_is_written_once() {
        let dir = testing::TempDir::new();
        let path = dir.path().join("blog");
        let words = ["new".to_owned(), path.display().to_string()];
        assert!(run(&parse(&words).expect("it fits")).is_ok());
        assert_eq!(check(&path).expect("no mistakes").len(), BLOG.len());
        assert!(
            run(&parse(&words).expect("it fits")).is_err_and(|e| e.ends_with("it is not empty"))
        );
        fs::write(path.join("templates/post.html"), "{{ get( }}").expect("written");
        fs::remove_file(path.join("templates/feed.xml")).expect("removed");
        let errors = check(&path).expect_err("mistakes");
        assert!(errors.contains("templates/post.html: post.html:1:"), "{errors}");
        assert!(
            errors.contains("routes: GET /feed.xml: there is no template 'feed.xml'"),
            "{errors}"
        );
        let outside = [("../x".to_owned(), Vec::new())];
        assert!(write(&dir.path().join("new"), &outside).is_err());
    }

    #[test]
    fn command_lines() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let asked = parse(&words("push d -h x -p 7 -a y --key=k")).expect("it fits");
        assert_eq!((asked.target.place.host.as_str(), asked.target.place.port), ("x", 7));
        assert_eq!(asked.key.as_deref(), Some("k"));
        let asked = parse(&words("pull d --tls --cacert a --cert b --key-file c --sni d --key k"));
        assert_eq!(asked.expect("it fits").key.as_deref(), Some("k"));
        let asked = parse(&words("pull d -s /x")).expect("it fits");
        assert_eq!(asked.target.place.name(), "/x");
        for bad in [
            "push",
            "push a b",
            "psh a",
            "push a -p x",
            "push a --what",
            "push a --tls",
            "push a --sni x",
            "push a --tls --insecure --cert x",
            "push a --tls --insecure -s x",
        ] {
            assert!(parse(&words(bad)).is_err(), "{bad}");
        }
    }
}
