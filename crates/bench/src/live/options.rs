//! The command line of `apus bench live`.

use std::time::Duration;

use crate::words::{Word, Words};

pub(super) const HELP: &str = "\
Subscribes to live channels over WebSocket (Centrifugo's JSON protocol), publishes, and measures deliveries: their
rate, how long each took, gaps and duplicates, what the server spent.

Usage: apus bench live [OPTIONS]

Where
  --url URL                     the server (ws://127.0.0.1:8000/connection/websocket)
  --target NAME=URL             compare servers, Apus or Centrifugo, in turn (repeat)
  --token JWT                   of all connections
  --api-key KEY                 for --publish http
Load
  --subscribers N               connections that subscribe, to one channel each (1000)
  --channels N                  channels, which subscribers and messages share evenly (1)
  --channel NAME                its name; several are NAME_0, NAME_1, ... (plain:bench)
  --burst N                     connections that are let in at a time (200)
  --publish websocket|http|none how messages are published (websocket)
  --publishers N                connections that publish (1)
  -d, --size BYTES              of a message's data, at least 48 (100)
  --rate R                      open loop: R messages per second in all, delays measured from when each was due; what has
                                arrived is looked at every 250 us
  -P, --in-flight N             without --rate: so many messages that not all subscribers have (64)
  --duration SECONDS            (5); with --publish none the connections stay so long
  --warm-up SECONDS             before that, not measured (1)
  --storm N                     afterwards all connections drop, N messages are published to each channel, and all
                                come back at once and recover (the channel needs history)
  --reps N                      repetitions; medians are reported (1)
Report
  --json FILE                   the figures
  --server-pid [NAME=]PID       whose CPU time and memory are read, of each target (repeat)
Gaps, duplicates, lost messages and connections that the server ended are errors: exit code 1; 2 for a wrong command
line.
";

/// How messages are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Publish {
    Websocket,
    Http,
    None,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its name in reports.
    pub(super) name: String,
    pub(super) host: String,
    pub(super) port: u16,
    /// Of the WebSocket.
    pub(super) path: String,
    pub(super) pid: Option<u32>,
}

impl Place {
    /// `[ws://|http://]HOST:PORT[/PATH]`
    fn parse(name: &str, url: &str) -> Result<Self, String> {
        let bare = ["ws://", "http://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        let bare = bare.unwrap_or(url);
        let (at, path) = bare.split_once('/').unwrap_or((bare, ""));
        let wrong = || format!("'{url}' is not ws://HOST:PORT/PATH");
        let (host, port) = at.rsplit_once(':').ok_or_else(wrong)?;
        let path = if path.is_empty() { "connection/websocket" } else { path };
        Ok(Self {
            name: name.to_owned(),
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: port.parse().map_err(|_| wrong())?,
            path: format!("/{path}"),
            pid: None,
        })
    }
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) places: Vec<Place>,
    pub(super) token: Option<String>,
    pub(super) api_key: String,
    pub(super) subscribers: usize,
    pub(super) channels: usize,
    pub(super) channel: String,
    pub(super) burst: usize,
    pub(super) publish: Publish,
    pub(super) publishers: usize,
    pub(super) size: usize,
    pub(super) rate: Option<u64>,
    pub(super) in_flight: u64,
    pub(super) duration: Duration,
    pub(super) warm_up: Duration,
    pub(super) storm: u64,
    pub(super) reps: usize,
    pub(super) json: Option<String>,
}

impl Options {
    /// Options from the arguments; none if help is wanted.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>, String> {
        let mut o = Self {
            places: Vec::new(),
            token: None,
            api_key: String::new(),
            subscribers: 1000,
            channels: 1,
            channel: "plain:bench".to_owned(),
            burst: 200,
            publish: Publish::Websocket,
            publishers: 1,
            size: 100,
            rate: None,
            in_flight: 64,
            duration: Duration::from_secs(5),
            warm_up: Duration::from_secs(1),
            storm: 0,
            reps: 1,
            json: None,
        };
        let mut pids = Vec::new();
        let mut words = Words::new(args);
        while let Some(word) = words.next()? {
            let (Word::Option(name) | Word::Text(name)) = word;
            if name == "--help" {
                return Ok(None);
            }
            let value = &words.value(&name).map_err(crate::or_no_option)?;
            if name == "--server-pid" {
                let (target, pid) = value.rsplit_once('=').unwrap_or(("", value));
                let pid = crate::number(&name, pid, 1, u64::from(u32::MAX))? as u32;
                pids.push((target.to_owned(), pid));
            } else if !o.place(&name, value)? && !o.load(&name, value)? {
                return Err(format!("there is no option '{name}'; --help lists the options"));
            }
        }
        o.finish(&pids)?;
        Ok(Some(o))
    }

    fn finish(&mut self, pids: &[(String, u32)]) -> Result<(), String> {
        if self.places.is_empty() {
            self.places.push(Place::parse("server", "127.0.0.1:8000")?);
        }
        for (name, pid) in pids {
            let only = name.is_empty() && self.places.len() == 1;
            let named = self.places.iter_mut().find(|p| only || p.name == *name);
            let place =
                named.ok_or_else(|| format!("--server-pid: there is no target '{name}'"))?;
            if crate::kv::sys::process_cpu(*pid).is_empty() {
                return Err(format!("--server-pid {pid}: there is no such process to read"));
            }
            place.pid = Some(*pid);
        }
        if self.channels > self.subscribers {
            return Err("--channels: not more than subscribers".to_owned());
        }
        if self.storm > 0 && self.publish == Publish::None {
            return Err("--storm needs something that is published".to_owned());
        }
        Ok(())
    }

    /// Options of where servers are, and of the login; whether it was one.
    fn place(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "--url" => self.places.push(Place::parse(value, value)?),
            "--target" => {
                let (name, url) = value.split_once('=').ok_or("--target is NAME=URL")?;
                self.places.push(Place::parse(name, url)?);
            }
            "--token" => self.token = Some(value.to_owned()),
            "--api-key" => value.clone_into(&mut self.api_key),
            "--json" => self.json = Some(value.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options of the load; whether it was one.
    fn load(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let number = |least: u64, most: u64| crate::number(name, value, least, most);
        let seconds = |least: f64| {
            let seconds: f64 = value.parse().unwrap_or(f64::NAN);
            match (least..=86_400.0).contains(&seconds) {
                true => Ok(Duration::from_secs_f64(seconds)),
                false => Err(format!("{name} is seconds from {least} on, not '{value}'")),
            }
        };
        match name {
            "--subscribers" => self.subscribers = number(1, 1_000_000)? as usize,
            "--channels" => self.channels = number(1, 1_000_000)? as usize,
            "--channel" => value.clone_into(&mut self.channel),
            "--burst" => self.burst = number(1, 100_000)? as usize,
            "--publish" => {
                self.publish = match value {
                    "websocket" => Publish::Websocket,
                    "http" => Publish::Http,
                    "none" => Publish::None,
                    _ => return Err(format!("{name} is websocket, http or none, not '{value}'")),
                }
            }
            "--publishers" => self.publishers = number(1, 1000)? as usize,
            "-d" | "--size" => self.size = number(48, 1 << 20)? as usize,
            "--rate" => self.rate = Some(number(1, 1 << 30)?),
            "-P" | "--in-flight" => self.in_flight = number(1, 100_000)?,
            "--duration" => self.duration = seconds(0.01)?,
            "--warm-up" => self.warm_up = seconds(0.0)?,
            "--storm" => self.storm = number(1, 1_000_000)?,
            "--reps" => self.reps = number(1, 1000)? as usize,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The name of a channel.
    pub(super) fn channel_name(&self, number: usize) -> String {
        match self.channels {
            1 => self.channel.clone(),
            _ => format!("{}_{number}", self.channel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words).map(|o| o.expect("no help"))
    }

    #[test]
    fn a_command_line_is_read() {
        let own = std::process::id();
        let o = parse(&format!(
            "--target a=ws://h:1/x/y --target b=[::1]:2 --server-pid b={own} --rate 7 --channels 3 --channel c"
        ))
        .expect("good");
        let place = |n: usize| &o.places[n];
        assert_eq!((place(0).host.as_str(), place(0).path.as_str()), ("h", "/x/y"));
        assert_eq!(
            (place(1).host.as_str(), place(1).path.as_str()),
            ("::1", "/connection/websocket")
        );
        assert_eq!((place(0).pid, place(1).pid), (None, Some(own)));
        assert_eq!((o.rate, o.channel_name(2).as_str()), (Some(7), "c_2"));
        assert_eq!(parse("").expect("good").places[0].port, 8000);
    }

    #[test]
    fn mistakes_are_told() {
        for (line, part) in [
            ("--url nowhere", "ws://HOST:PORT"),
            ("--target x", "NAME=URL"),
            ("--server-pid b=1", "no target 'b'"),
            ("--server-pid 4294967295", "no such process"),
            ("--channels 2000", "not more"),
            ("--publish x", "websocket"),
            ("--storm 5 --publish none", "published"),
            ("--size 5", "from 48"),
            ("--duration 0", "seconds"),
            ("--what 1", "no option '--what'"),
            ("--what", "no such option"),
        ] {
            let e = parse(line).expect_err(line);
            assert!(e.contains(part), "{line}: {e}");
        }
    }
}
