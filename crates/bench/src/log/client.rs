//! A connection that sends one request at a time, and requests that are made beforehand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use ::log::Input;

use super::options::{Api, Options};

/// A request as bytes.
pub(super) struct Prepared {
    bytes: Vec<u8>,
}

/// A connected socket, with TLS or without.
trait Socket: Read + Write + Send {}

impl<T: Read + Write + Send> Socket for T {}

/// A connection.
pub(super) struct Client {
    stream: BufReader<Box<dyn Socket>>,
    resp: bool,
    sink: Vec<u8>,
}

fn http(o: &Options, method: &str, target: &str, kind: &str, body: &[u8]) -> Prepared {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\nAccept: */*\r\n", o.url);
    if !o.key.is_empty() {
        head += &format!("Authorization: Bearer {}\r\n", o.key);
    } else if o.api == Api::Seb {
        // Seb's own default: it always wants one.
        head += "Authorization: Bearer api-key\r\n";
    }
    if !kind.is_empty() {
        head += &format!("Content-Type: {kind}\r\n");
    }
    head += &format!("Content-Length: {}\r\n\r\n", body.len());
    Prepared { bytes: [head.as_bytes(), body].concat() }
}

fn resp(args: &[&[u8]]) -> Prepared {
    let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
    for a in args {
        bytes.extend_from_slice(format!("${}\r\n", a.len()).as_bytes());
        bytes.extend_from_slice(a);
        bytes.extend_from_slice(b"\r\n");
    }
    Prepared { bytes }
}

impl Prepared {
    /// The append of one batch, of bytes that do not compress.
    pub(super) fn append(o: &Options, topic: &str) -> Result<Self, String> {
        let mut block = vec![0; o.records * o.size];
        stdx::rng::Rng::from_seed(1).fill(&mut block);
        let records = || block.chunks(o.size);
        Ok(match o.api {
            Api::V1 => {
                let batch = Input::from_records(records()).map_err(|e| e.to_string())?.encode();
                let target = format!("/v1/topics/{topic}/batches");
                http(o, "POST", &target, "application/vnd.apus.batch", &batch)
            }
            Api::Seb => {
                let part = |name: &str| {
                    let disposition = "Content-Disposition: form-data; name=";
                    format!("--apus-bench\r\n{disposition}\"{name}\"\r\n\r\n").into_bytes()
                };
                let sizes: Vec<String> = records().map(|r| r.len().to_string()).collect();
                let sizes = format!("[{}]\r\n", sizes.join(","));
                let end = b"\r\n--apus-bench--\r\n";
                let form =
                    [&part("sizes")[..], sizes.as_bytes(), &part("records"), &block, end].concat();
                let target = format!("/records?topic-name={topic}");
                http(o, "POST", &target, "multipart/form-data; boundary=apus-bench", &form)
            }
            Api::Resp => {
                let head: [&[u8]; 3] = [b"TOPIC.APPEND", topic.as_bytes(), b"RECORDS"];
                resp(&head.into_iter().chain(records()).collect::<Vec<_>>())
            }
        })
    }

    /// The read of one range.
    pub(super) fn read(o: &Options, topic: &str, offset: u64) -> Self {
        let records = o.records;
        let bytes = records * (o.size + 4) + 80;
        let target = format!(
            "/v1/topics/{topic}/batches?offset={offset}&max-records={records}&max-bytes={bytes}"
        );
        http(o, "GET", &target, "", b"")
    }
}

impl Client {
    pub(super) fn connect(o: &Options) -> Result<Self, String> {
        let stream = TcpStream::connect(&o.url).map_err(|e| format!("{}: {e}", o.url))?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        let stream: Box<dyn Socket> = match &o.tls {
            None => Box::new(stream),
            Some(tls) => {
                let host = o.url.rsplit_once(':').map_or(&o.url[..], |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']');
                Box::new(tls.secure(stream, host).map_err(|e| format!("{}: {e}", o.url))?)
            }
        };
        let resp = o.api == Api::Resp;
        Ok(Self { stream: BufReader::with_capacity(64 << 10, stream), resp, sink: Vec::new() })
    }

    /// Creates a topic with the settings of the options.
    pub(super) fn create(&mut self, o: &Options, topic: &str) -> Result<(), String> {
        let linger = o.linger_ms.map_or_else(|| "null".to_owned(), |ms| ms.to_string());
        let request = if self.resp {
            let bytes = o.group_bytes.to_string();
            resp(&[
                b"TOPIC.CREATE",
                topic.as_bytes(),
                b"linger_ms",
                linger.as_bytes(),
                b"group_bytes",
                bytes.as_bytes(),
                b"sync",
                if o.sync { b"yes" } else { b"no" },
            ])
        } else {
            let settings = format!(
                "{{\"linger_ms\":{linger},\"group_bytes\":{},\"sync\":{}}}",
                o.group_bytes, o.sync
            );
            let target = format!("/v1/topics/{topic}");
            http(o, "PUT", &target, "application/json", settings.as_bytes())
        };
        self.call(&request).map(|_| ())
    }

    /// Deletes a topic.
    pub(super) fn delete(&mut self, topic: &str) -> Result<(), String> {
        let request = if self.resp {
            resp(&[b"TOPIC.DELETE", topic.as_bytes()])
        } else {
            let head = format!("DELETE /v1/topics/{topic} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            Prepared { bytes: head.into_bytes() }
        };
        self.call(&request).map(|_| ())
    }

    /// Sends a request and reads its answer; the bytes of it.
    pub(super) fn call(&mut self, request: &Prepared) -> Result<usize, String> {
        let sent = self.stream.get_mut().write_all(&request.bytes);
        sent.map_err(|e| format!("sending: {e}"))?;
        if self.resp { self.reply() } else { self.response() }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => Err("the server has closed the connection".to_owned()),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(e) => Err(format!("receiving: {e}")),
        }
    }

    fn reply(&mut self) -> Result<usize, String> {
        let line = self.line()?;
        if line.starts_with([':', '+']) { Ok(line.len()) } else { Err(format!("answered {line}")) }
    }

    fn response(&mut self) -> Result<usize, String> {
        let status = self.line()?;
        let mut length = 0;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(|_| format!("answered {line}"))?;
            }
        }
        self.sink.resize(length, 0);
        self.stream.read_exact(&mut self.sink).map_err(|e| format!("receiving: {e}"))?;
        if status.split(' ').nth(1).is_some_and(|s| s.starts_with('2')) {
            return Ok(length);
        }
        Err(format!("answered {status}: {}", String::from_utf8_lossy(&self.sink)))
    }
}
