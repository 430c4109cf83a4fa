//! `apus log`: topics on disk, for people: create, append, tail, verify, repair, stats.
//!
//! It opens the directory itself, so no server may be running on it; a running one is asked over HTTP
//! or RESP. An object store it may share with servers.

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::log::storage::disk::Disk;
use ::log::storage::{Storage, Want};
use ::log::{Broker, Error, Input, Options};
use bench::words::{Word, Words};

/// The output of `apus log --help`.
const HELP: &str = "\
Maintains topics on disk while no server runs on them, or in an object store.

Usage: apus log COMMAND [--dir DIR | --storage URL] [ARGUMENTS]

  create TOPIC [SETTING=VALUE ...]   creates a topic; settings as in docs/topics.md
  append TOPIC                       appends every line of standard input as a record
  tail TOPIC [-n N]                  prints the last N records, a line each; 10
  verify [TOPIC]                     reads everything, and checks checksums and that no offset is missing
  repair TOPIC                       makes a topic usable again whose settings are damaged (with settings
                                     that keep all records), whose last segment is missing, or whose last
                                     object does not say which offset comes next
  stats [TOPIC]                      prints what topics have

  --dir DIR       the server's `dir`; the current directory
  --storage URL   the server's `topic-storage`, an object store, instead; servers may be using it
";

/// Bytes of lines that are appended together.
const TOGETHER: usize = 1 << 20;
/// Bytes of a bucket's objects in memory that are read.
const FETCH_MAX: usize = 64 << 20;

struct Asked {
    command: String,
    dir: PathBuf,
    storage: Option<String>,
    last: usize,
    words: Vec<String>,
}

fn parse(args: &[String]) -> Result<Asked, String> {
    let mut asked = Asked {
        command: String::new(),
        dir: PathBuf::from("."),
        storage: None,
        last: 10,
        words: Vec::new(),
    };
    let mut words = Words::new(args);
    while let Some(word) = words.next()? {
        let option = match word {
            Word::Option(option) => option,
            Word::Text(word) if asked.command.is_empty() => {
                asked.command = word;
                continue;
            }
            Word::Text(word) => {
                asked.words.push(word);
                continue;
            }
        };
        let mut value = || words.value(&option);
        match option.as_str() {
            "--dir" => asked.dir = PathBuf::from(value()?),
            "--storage" => asked.storage = Some(value()?),
            "-n" => {
                let text = value()?;
                asked.last =
                    text.parse().map_err(|_| format!("-n must be a number, not {text}"))?;
            }
            _ => return Err(format!("there is no option {option}")),
        }
    }
    if asked.command == "mend" {
        // Another name of the same command.
        asked.command = "repair".to_owned();
    }
    let words = asked.words.len();
    let (fits, usage) = match asked.command.as_str() {
        "" => return Err("which command?".to_owned()),
        "create" => (words >= 1, "TOPIC [SETTING=VALUE ...]"),
        "append" | "repair" => (words == 1, "TOPIC"),
        "tail" => (words == 1, "TOPIC [-n N]"),
        "verify" | "stats" => (words <= 1, "[TOPIC]"),
        other => {
            let names = ["create", "append", "tail", "verify", "repair", "stats"];
            let near = config::help::nearest_of(other, names);
            let meant = near.map_or_else(String::new, |near| format!(", did you mean '{near}'?"));
            return Err(format!("there is no command '{other}'{meant}"));
        }
    };
    if fits { Ok(asked) } else { Err(format!("it is 'apus log {} {usage}'", asked.command)) }
}

/// Runs `apus log` with the arguments that follow these words: 0, 1 if it failed or found damage, 2
/// for a wrong command line.
pub fn main(args: &[String]) -> ExitCode {
    if args.is_empty() || args.iter().any(|a| a == "--help" || a == "-h") {
        return done(print(HELP).map(|()| true));
    }
    match parse(args) {
        Ok(asked) => done(run(&asked)),
        Err(e) => {
            eprintln!("apus log: {e}; 'apus log --help' lists the commands");
            ExitCode::from(2)
        }
    }
}

fn done(result: Result<bool, Error>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            match &e {
                // Over HTTP the text is Seb's, which leaves the name out.
                Error::NoTopic(name) => eprintln!("apus log: there is no topic '{name}'"),
                _ => eprintln!("apus log: {e}"),
            }
            ExitCode::FAILURE
        }
    }
}

/// Writes to standard output; a reader that has seen enough (`| head`) is not an error.
fn print(text: &str) -> Result<(), Error> {
    write(text.as_bytes())
}

fn write(bytes: &[u8]) -> Result<(), Error> {
    match io::stdout().write_all(bytes) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Storage(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

fn storage(asked: &Asked) -> Result<Arc<dyn Storage>, Error> {
    let writes = matches!(asked.command.as_str(), "create" | "append" | "repair");
    if let Some(url) = &asked.storage {
        let tell = Arc::new(|text: &str| eprintln!("{text}"));
        return engine::topics::objects(url, None, (FETCH_MAX, 0), !writes, tell);
    }
    let topics = asked.dir.join("topics");
    if !writes && !topics.is_dir() {
        return Err(Error::Storage(format!("there are no topics in {}", asked.dir.display())));
    }
    Ok(Arc::new(Disk::open(&topics)?))
}

fn run(asked: &Asked) -> Result<bool, Error> {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64);
    let tell = Box::new(|text: &str| eprintln!("{text}"));
    let storage = storage(asked)?;
    let broker = Broker::new(storage, Options::default(), tell, Box::new(clock));
    let named = asked.words.first().map_or("", String::as_str);
    let all = || if named.is_empty() { broker.topics() } else { Ok(vec![named.to_owned()]) };
    let good = match asked.command.as_str() {
        "create" => create(&broker, named, &asked.words[1..]),
        "append" => append(&broker, named, &mut io::stdin().lock()),
        "tail" => tail(&broker, named, asked.last as u64),
        "repair" => repair(&broker, named),
        "verify" => all()?.iter().try_fold(true, |good, t| Ok(verify(&broker, t)? && good)),
        _ => all()?.iter().try_fold(true, |good, t| stats(&broker, t).map(|()| good)),
    };
    broker.close(Duration::from_secs(10));
    good
}

fn create(broker: &Broker, topic: &str, settings: &[String]) -> Result<bool, Error> {
    let mut object = serde_json::Map::new();
    for pair in settings {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| Error::Bad(format!("'{pair}' is not SETTING=VALUE")))?;
        // Anything except a number, true, false or null is a text.
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        object.insert(name.to_owned(), value);
    }
    let json = serde_json::Value::Object(object).to_string();
    let settings = broker.options().settings.clone().with_json(json.as_bytes())?;
    broker.create(topic, &settings).map(|()| true)
}

fn append(broker: &Broker, topic: &str, input: &mut impl BufRead) -> Result<bool, Error> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    let (mut first, mut count) = (None, 0);
    let mut store = |lines: &mut Vec<Vec<u8>>| -> Result<(), Error> {
        if !lines.is_empty() {
            let records = Input::from_records(lines.iter().map(Vec::as_slice))?;
            let a = broker.append_wait(topic, records)?;
            first.get_or_insert(a.first_offset);
            count += lines.len();
            lines.clear();
        }
        Ok(())
    };
    loop {
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|e| Error::Storage(format!("standard input: {e}")))? == 0 {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if bytes + line.len() > TOGETHER {
            // A very long line fits alone, and perhaps not with others.
            store(&mut lines)?;
            bytes = 0;
        }
        bytes += line.len();
        lines.push(line);
        if bytes >= TOGETHER || lines.len() == ::log::batch::RECORDS_MAX {
            store(&mut lines)?;
            bytes = 0;
        }
    }
    store(&mut lines)?;
    match first {
        Some(first) => print(&format!("{count} records from offset {first}\n"))?,
        None => print("no records\n")?,
    }
    Ok(true)
}

fn tail(broker: &Broker, topic: &str, last: u64) -> Result<bool, Error> {
    let extent = broker.describe(topic)?.extent;
    let mut offset = extent.next.saturating_sub(last).max(extent.first);
    while offset < extent.next {
        let want = Want::from(offset, last, 1 << 20);
        for b in broker.read(topic, &want)?.batches {
            let skip = offset.saturating_sub(b.header.first_offset) as usize;
            for record in b.records()?.iter().skip(skip) {
                write(&record)?;
                write(b"\n")?;
            }
            offset = b.header.next_offset();
        }
    }
    Ok(true)
}

fn repair(broker: &Broker, topic: &str) -> Result<bool, Error> {
    let (done, next) = broker.repair(topic)?;
    for what in &done {
        print(&format!("{topic}: {what}\n"))?;
    }
    match next {
        Some(next) => print(&format!("{topic}: the next record gets offset {next}\n"))?,
        None if !done.is_empty() => {}
        None => print(&format!("{topic}: there is nothing that keeps from appending\n"))?,
    }
    Ok(true)
}

fn verify(broker: &Broker, topic: &str) -> Result<bool, Error> {
    /// Between two looks at the clock and the terminal.
    const EVERY: Duration = Duration::from_millis(200);
    let total = match broker.describe(topic) {
        Ok(d) => d.extent.bytes.max(1),
        // The damage that hides the end is among the findings.
        Err(Error::Damaged(_)) => 1,
        Err(e) => return Err(e),
    };
    let (mut batches, mut records, mut bytes) = (0u64, 0u64, 0u64);
    let shown = io::stderr().is_terminal();
    let mut last = Instant::now();
    let damage = broker.verify(topic, &mut |h| {
        batches += 1;
        records += u64::from(h.records);
        bytes += h.len() as u64;
        if shown && last.elapsed() > EVERY {
            last = Instant::now();
            let done = (bytes * 30 / total).min(30) as usize;
            eprint!("\r{topic} [{:30}] {}%", "#".repeat(done), (bytes * 100 / total).min(100));
        }
    })?;
    if shown {
        eprint!("\r\x1b[K");
    }
    for d in &damage {
        print(&format!("{d}\n"))?;
    }
    let verdict =
        if damage.is_empty() { "sound".to_owned() } else { format!("{} damaged", damage.len()) };
    print(&format!("{topic}: {records} records in {batches} batches, {bytes} bytes, {verdict}\n"))?;
    Ok(damage.is_empty())
}

fn stats(broker: &Broker, topic: &str) -> Result<(), Error> {
    let d = broker.describe(topic)?;
    let e = d.extent;
    print(&format!(
        "{topic}: offsets {} to {}, {} bytes in {} files, settings {}\n",
        e.first,
        e.next,
        e.bytes,
        e.objects,
        d.settings.to_json()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let words = |text: &str| parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let asked = words("tail t --dir d -n 3").expect("sound");
        assert_eq!((&asked.command[..], asked.last, &asked.words[0][..]), ("tail", 3, "t"));
        for wrong in ["nosuch", "tail", "tail a b", "tail t -n x", "verify --nosuch", "stats a b"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }
}
