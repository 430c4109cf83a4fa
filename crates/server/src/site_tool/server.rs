//! The server that a site is pushed into and pulled from: one connection, one command at a time.

use std::io::{BufReader, Write};

use pages::site::Source;

use super::link::{Link, ServerAddress};
use crate::reply::Reply;

/// Bytes of files that are sent with one command.
const TOGETHER: usize = 1 << 20;

/// Where a server is, and how to be let in.
pub(super) struct Target {
    pub(super) place: ServerAddress,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
}

/// A connection.
pub(super) struct Server {
    stream: BufReader<Link>,
    /// Its name in errors.
    name: String,
}

impl Server {
    /// Connects and logs in.
    ///
    /// # Errors
    /// A text that names the server.
    pub(super) fn connect(target: &Target) -> Result<Self, String> {
        let name = target.place.name();
        let stream = Link::open(&target.place);
        let stream = stream.map_err(|e| format!("{name}: {}", config::os_text(&e)))?;
        let mut server = Self { stream: BufReader::new(stream), name };
        if let Some(password) = &target.password {
            let user = target.user.as_deref().unwrap_or("default");
            server.call(&[b"AUTH", user.as_bytes(), password.as_bytes()])?;
        }
        Ok(server)
    }

    /// The key that the server serves.
    ///
    /// # Errors
    /// A text: it says none, or has none.
    pub(super) fn key(&mut self) -> Result<String, String> {
        let name = &self.name.clone();
        let reply = self.call(&[b"CONFIG", b"GET", b"web-key"]);
        let reply = reply.map_err(|e| format!("{e}; name the key with --key"))?;
        let key = reply.list().into_iter().nth(1).map(Reply::text).unwrap_or_default();
        if key.is_empty() {
            return Err(format!(
                "{name} serves no site in a key: start it with --web-key KEY, or name one with --key"
            ));
        }
        String::from_utf8(key).map_err(|_| format!("{name}: its web-key is not UTF-8"))
    }

    /// Replaces the site in a key, in one transaction. Returns the bytes of its files.
    ///
    /// # Errors
    /// A text; nothing has changed, unless the connection ended before the last reply came.
    pub(super) fn push(&mut self, key: &str, sources: &[Source]) -> Result<usize, String> {
        let key = key.as_bytes();
        self.call(&[b"MULTI"])?;
        self.call(&[b"DEL", key])?;
        let (mut words, mut together): (Vec<&[u8]>, usize) = (vec![b"HSET", key], 0);
        for source in sources {
            words.push(source.path.as_bytes());
            words.push(&source.bytes);
            together += source.path.len() + source.bytes.len();
            if together >= TOGETHER {
                self.call(&words)?;
                words.truncate(2);
                together = 0;
            }
        }
        if words.len() > 2 {
            self.call(&words)?;
        }
        for source in sources {
            if pages::site::is_library(&source.path) {
                self.call(&[b"FUNCTION", b"LOAD", b"REPLACE", &source.bytes])?;
            }
        }
        let replies = self.call(&[b"EXEC"])?.list();
        if let Some(Reply::Error(e)) = replies.iter().find(|r| matches!(r, Reply::Error(_))) {
            return Err(format!("{}: {e}", self.name));
        }
        if replies.len() < 2 {
            return Err(format!("{}: the transaction was not executed", self.name));
        }
        Ok(sources.iter().map(|source| source.bytes.len()).sum())
    }

    /// The files of the site in a key.
    ///
    /// # Errors
    /// A text.
    pub(super) fn pull(&mut self, key: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut items = self.call(&[b"HGETALL", key.as_bytes()])?.list().into_iter();
        let mut files = Vec::new();
        while let (Some(path), Some(bytes)) = (items.next(), items.next()) {
            let path = String::from_utf8(path.text());
            let path = path.map_err(|_| format!("{key}: the name of a field is not UTF-8"))?;
            files.push((path, bytes.text()));
        }
        files.sort_unstable();
        Ok(files)
    }

    fn call(&mut self, words: &[&[u8]]) -> Result<Reply, String> {
        let mut text = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            text.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            text.extend_from_slice(word);
            text.extend_from_slice(b"\r\n");
        }
        let stream = self.stream.get_mut();
        let sent = stream.write_all(&text).and_then(|()| stream.flush());
        let reply = sent.and_then(|()| Reply::read(&mut self.stream));
        match reply {
            Ok(Reply::Error(e)) => Err(format!("{}: {e}", self.name)),
            Ok(reply) => Ok(reply),
            Err(e) => Err(format!("{}: {}", self.name, config::os_text(&e))),
        }
    }
}
