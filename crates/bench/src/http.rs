//! `apus bench http`: drives servers of HTTP/1.1 with the loops, pacing and reports of `apus bench kv`.
//!
//! Only the command line is its own: it makes requests, as bytes, and hands them over.

use std::process::ExitCode;

use crate::kv::client::{Address, Login, Target};
use crate::kv::options::{Options, Value, number};
use crate::kv::reel::Template;
use crate::kv::tests::Test;
use crate::kv::tls::TlsOptions;
use crate::words::{Word, Words};

const HELP: &str = "\
Usage: apus bench http [OPTIONS] [PATH...]

Asks for pages and measures their rate, how long each took, what client and server spent.

Where
  -h HOST, -p PORT, -s SOCKET   the server (127.0.0.1:8000)
  --target NAME=HOST:PORT|unix:PATH   compare servers, interleaved (repeat)
  --tls, --cacert FILE, --insecure    speaks TLS, as apus bench kv
What
  PATH...                       each is a run of GET (/)
  --request '[WEIGHT@]METHOD PATH'   any request; several are a mix
  --body TEXT                   the body of all requests
  -H 'NAME: VALUE'              a further field of all requests (repeat)
                                {key} and {rand} in paths, bodies and fields are numbers of 12 digits
  -r, --keys N                  from so many (without it always 0)
Load
  -c, --connections N           connections, which are kept (50)
  --threads N                   threads of the client (half the cores)
  -P, --pipeline N[,N...]       requests per pipeline (1); a list runs each
  -n, --count N                 requests (100000)
  --duration SECONDS            time instead of a count; with both, what ends first
  --rate R                      open loop: R requests per second, latency from when each was due
  --seed N                      repeats the same choices (1)
Report
  -q, --quiet                   one line per test
  --csv                         with the columns of apus bench kv
  --json FILE, --timeline FILE, --plot FILE
  --reps N                      repetitions; medians are reported (1)
  --server-pid [NAME=]PID       whose CPU time is read, of each target (repeat)
Answers of 400 and more are errors. Exit codes: 1 for errors or a server that cannot be driven, 2 for a
wrong command line.
";

/// Runs `apus bench http` with the arguments that follow these words. The exit code is 0, 1 when a
/// server could not be driven or answered with errors, 2 for a wrong command line.
pub fn main(args: &[String]) -> ExitCode {
    let failed = |e: String, code| {
        eprintln!("apus bench http: {e}");
        ExitCode::from(code)
    };
    match parse(args) {
        Err(e) => failed(e, 2),
        Ok(o) if o.help => crate::print(HELP),
        Ok(o) => crate::kv::bench(&o).unwrap_or_else(|e| failed(e, 1)),
    }
}

/// Requests of a pipeline at most.
const DEPTH_MAX: usize = 10_000;

/// What requests are made of.
#[derive(Default)]
struct Asked {
    /// Method and path, and their share.
    mix: Vec<(u64, String)>,
    paths: Vec<String>,
    fields: Vec<String>,
    body: String,
}

/// Where a server is, in several words.
struct Place {
    host: String,
    port: u16,
    socket: Option<String>,
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut o = Options { http: true, ..Options::new() };
    let mut place = Place { host: "127.0.0.1".into(), port: 8000, socket: None };
    let (mut asked, mut tls) = (Asked::default(), TlsOptions::default());
    let mut words = Words::new(args);
    while let Some(word) = words.next()? {
        let flag = match word {
            Word::Text(path) if path.starts_with('/') => {
                asked.paths.push(path);
                continue;
            }
            Word::Option(flag) | Word::Text(flag) => flag,
        };
        let mut value = || words.value(&flag);
        if !(tls.take(&flag, &mut value)?
            || what(&flag, &mut value, &mut asked)?
            || o.load(&flag, &mut value)?
            || o.report(&flag, &mut value)?
            || place_of(&flag, &mut value, &mut place, &mut o)?)
        {
            return Err(format!("there is no option {flag}; see apus bench http --help"));
        }
    }
    if o.targets.is_empty() {
        let address = match place.socket {
            Some(path) => Address::Unix(path.into()),
            None => Address::Tcp(place.host, place.port),
        };
        let login = Login::default();
        o.targets.push(Target { name: String::new(), address, login, tls: None });
    }
    let tls = tls.finish()?;
    o.targets.iter_mut().for_each(|target| target.tls = tls.clone());
    if let Some((name, _)) = o.pids.iter().find(|(n, _)| o.targets.iter().all(|t| t.name != *n)) {
        return Err(format!("--server-pid: there is no target '{name}'"));
    }
    if let Some(depth) = o.depths.iter().find(|depth| **depth > DEPTH_MAX) {
        return Err(format!("-P {depth} is not a number from 1 to {DEPTH_MAX}"));
    }
    o.random = o.keys > 0;
    o.keys = o.keys.max(1);
    o.threads = o.threads.min(o.connections);
    o.tests = tests(&asked)?;
    Ok(o)
}

/// Options of what is asked for; whether it was one.
fn what(flag: &str, value: Value<'_>, asked: &mut Asked) -> Result<bool, String> {
    match flag {
        "--request" => {
            let text = value()?;
            let (weight, request) = match text.split_once('@') {
                Some((weight, request)) if weight.parse::<u32>().is_ok_and(|w| w > 0) => {
                    (weight.parse().unwrap_or(1), request.to_owned())
                }
                _ => (1, text),
            };
            asked.mix.push((weight, request));
        }
        "--body" => asked.body = value()?,
        "-H" | "--header" => {
            let text = value()?;
            if !text.contains(':') || text.contains(['\r', '\n']) {
                return Err(format!("{flag} {text} is not NAME: VALUE"));
            }
            asked.fields.push(text);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Options of where servers are; whether it was one.
fn place_of(
    flag: &str,
    value: Value<'_>,
    place: &mut Place,
    o: &mut Options,
) -> Result<bool, String> {
    match flag {
        "-h" | "--host" => place.host = value()?,
        "-p" | "--port" => place.port = number(flag, &value()?, 1, 65535)? as u16,
        "-s" | "--socket" => place.socket = Some(value()?),
        "--target" => {
            let text = value()?;
            let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
            let (name, at) = parts.ok_or(format!("--target {text} is not NAME=HOST:PORT"))?;
            if o.targets.iter().any(|t| t.name == name) {
                return Err(format!("there are two targets '{name}'"));
            }
            let address = Address::parse(at)?;
            let login = Login::default();
            o.targets.push(Target { name: name.to_owned(), address, login, tls: None });
        }
        "--server-pid" => {
            let text = value()?;
            let (name, pid) = text.split_once('=').unwrap_or(("", &text));
            let pid = number(flag, pid, 1, u32::MAX.into())? as u32;
            if crate::kv::sys::process_cpu(pid).is_empty() {
                return Err(format!("--server-pid {pid}: there is no such process to read"));
            }
            o.pids.push((name.to_owned(), pid));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A test for each path, and one of the mix.
fn tests(asked: &Asked) -> Result<Vec<Test>, String> {
    let mut tests = Vec::new();
    for path in &asked.paths {
        tests.push(Test::custom(vec![request(1, &format!("GET {path}"), asked)?]));
    }
    if !asked.mix.is_empty() {
        let heads = asked.mix.iter().filter(|(_, request)| request.starts_with("HEAD ")).count();
        if heads > 0 && heads < asked.mix.len() {
            return Err("HEAD cannot be mixed with other methods".into());
        }
        let mix = asked.mix.iter().map(|(weight, line)| request(*weight, line, asked));
        tests.push(Test::custom(mix.collect::<Result<_, String>>()?));
    }
    if tests.is_empty() {
        tests.push(Test::custom(vec![request(1, "GET /", asked)?]));
    }
    Ok(tests)
}

/// A request with its fields and body.
fn request(weight: u64, line: &str, asked: &Asked) -> Result<Template, String> {
    let plain = |b: u8| b.is_ascii_graphic();
    let parts = line.split_once(' ').filter(|(method, path)| {
        let sound = method.bytes().all(|b| b.is_ascii_uppercase()) && !method.is_empty();
        sound && path.starts_with('/') && path.bytes().all(plain) && !path.contains("{value}")
    });
    if parts.is_none() {
        return Err(format!("'{line}' is not METHOD /PATH"));
    }
    if asked.fields.iter().chain([&asked.body]).any(|t| t.contains("{value}")) {
        return Err("{value} is for apus bench kv".into());
    }
    let mut text = format!("{line} HTTP/1.1\r\n");
    let has = |name: &str| {
        let own = |field: &String| field.split(':').next().map(|n| n.eq_ignore_ascii_case(name));
        asked.fields.iter().any(|field| own(field) == Some(true))
    };
    if !has("Host") {
        text.push_str("Host: bench\r\n");
    }
    for field in &asked.fields {
        text.push_str(&format!("{field}\r\n"));
    }
    if !asked.body.is_empty() {
        // Placeholders become as long as this.
        let body = ["{key}", "{rand}"].iter().fold(asked.body.clone(), |t, p| t.replace(p, ZEROS));
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str(&format!("\r\n{}", asked.body));
    Ok(Template { weight, args: vec![text.into_bytes()], raw: true })
}

/// As many bytes as a placeholder becomes.
const ZEROS: &str = "000000000000";

#[cfg(test)]
mod checks {
    use super::*;

    fn options(line: &str) -> Result<Options, String> {
        parse(&line.split('|').map(str::to_owned).collect::<Vec<_>>())
    }

    fn text(test: &Test) -> String {
        String::from_utf8(test.templates[0].args[0].clone()).unwrap()
    }

    #[test]
    fn requests_are_as_servers_want_them() {
        let o = options("-p|81|/|/a?b={key}|-H|X: y").unwrap();
        assert_eq!(text(&o.tests[0]), "GET / HTTP/1.1\r\nHost: bench\r\nX: y\r\n\r\n");
        assert_eq!(o.tests[1].title, "GET /a?b={key}");
        assert_eq!(o.targets[0].address, Address::Tcp("127.0.0.1".into(), 81));
        let o = options("--request|3@POST /l|--body|x={key}|-H|host: me|--request=PUT /").unwrap();
        let expected = "POST /l HTTP/1.1\r\nhost: me\r\nContent-Length: 14\r\n\r\nx={key}";
        assert_eq!((text(&o.tests[0]), o.tests[0].templates[0].weight), (expected.to_owned(), 3));
        assert_eq!((o.tests[0].templates.len(), o.tests.len()), (2, 1));
        assert!(options("--help").unwrap().help);
    }

    #[test]
    fn wrong_lines_are_told_of() {
        for bad in [
            "--request|GET",
            "--request|GET x",
            "--request|get /",
            "/a b",
            "-H|x",
            "-P|0",
            "--request|HEAD /|--request|GET /",
            "--target|a=h:1|--target|a=h:2",
            "--server-pid|x=1",
            "--nothing",
            "/|--body|{value}",
            "-c",
        ] {
            assert!(options(bad).is_err(), "{bad}");
        }
    }
}
