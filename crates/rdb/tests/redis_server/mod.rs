//! A redis-server to compare with, and a client for it that knows what it needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use testing::TempDir;

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(Vec<u8>),
    Int(i64),
    Nil,
    Error(String),
    List(Vec<Value>),
}

impl Value {
    pub(crate) fn text(&self) -> &[u8] {
        match self {
            Self::Text(t) => t,
            other => panic!("a text, not {other:?}"),
        }
    }
}

/// A redis-server that dies with the value.
pub(crate) struct Redis {
    child: Child,
    stream: BufReader<UnixStream>,
}

impl Redis {
    /// Starts one that loads what is in the directory; none if there is no redis-server here.
    pub(crate) fn start(dir: &Path, options: &[&str]) -> Option<Self> {
        // A socket that no other process can have, where a port that was free a moment ago may be taken.
        let of_socket = TempDir::new();
        let socket = of_socket.join("s");
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--enable-debug-command", "yes"])
            .args(options)
            .arg("--unixsocket")
            .arg(&socket)
            .arg("--dir")
            .arg(dir)
            .stdout(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("LEFT OUT: there is no redis-server to compare with");
            return None;
        };
        while child.try_wait().ok()?.is_none() {
            if let Ok(stream) = UnixStream::connect(&socket) {
                // Connected for good: the name is of no more use.
                let mut redis = Self { child, stream: BufReader::new(stream) };
                while matches!(redis.call(&["PING"]), Value::Error(_)) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                return Some(redis);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("redis-server does not start");
    }

    pub(crate) fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        let mut out = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            let arg = arg.as_ref();
            out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            out.extend_from_slice(arg);
            out.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&out).expect("redis-server takes commands");
    }

    pub(crate) fn reply(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("redis-server replies");
        let (kind, rest) = line.trim_end().split_at(1);
        let n = || rest.parse::<i64>().expect("a number");
        match kind {
            "+" => Value::Text(rest.into()),
            "-" => Value::Error(rest.into()),
            ":" => Value::Int(n()),
            "$" if n() < 0 => Value::Nil,
            "$" => {
                let mut bytes = vec![0; n() as usize + 2];
                self.stream.read_exact(&mut bytes).expect("redis-server replies");
                bytes.truncate(bytes.len() - 2);
                Value::Text(bytes)
            }
            "*" if n() < 0 => Value::Nil,
            "*" => Value::List((0..n()).map(|_| self.reply()).collect()),
            other => panic!("an unknown reply: {other}"),
        }
    }

    pub(crate) fn call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Value {
        self.send(args);
        self.reply()
    }

    /// A command that must not fail.
    pub(crate) fn run<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Value {
        match self.call(args) {
            Value::Error(e) => panic!("{e}"),
            reply => reply,
        }
    }

    pub(crate) fn keys(&mut self) -> Vec<Vec<u8>> {
        let Value::List(keys) = self.run(&["KEYS", "*"]) else { panic!("a list of keys") };
        let mut keys: Vec<_> = keys.iter().map(|k| k.text().to_vec()).collect();
        keys.sort();
        keys
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
