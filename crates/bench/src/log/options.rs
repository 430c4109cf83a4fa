//! The command line of `apus bench log`.

use crate::kv::tls::{Tls, TlsOptions};
use crate::words::{Word, Words};

pub(super) const HELP: &str = "\
Appends batches to a topic, or reads them, and measures.

Usage: apus bench log [OPTIONS]

  --url HOST:PORT            the server; 127.0.0.1:8080, or 127.0.0.1:6379 with --api resp
  --api v1|seb|resp          /v1 of Apus, Seb's API (of Apus or of Seb), TOPIC.* over RESP; v1
  --api-key KEY              key of the HTTP interface
  --tls                      speaks TLS (as an --url with https:// does); with
  --cacert FILE, --cacertdir DIR  authorities of the server's certificate, or --insecure: it is not checked
  --cert FILE, --key FILE    shows a certificate
  --sni NAME                 the name that the server is called by
  --tls-ciphers LIST, --tls-ciphersuites LIST  by OpenSSL's names
  -w, --workers N            connections that append at once; 16
  --batches N                batches to append; 4096
  -b, --records-per-batch N  1024
  --record-size BYTES        1024
  --batcher-block-time MS    linger_ms of the topic (not with --api seb); as the server likes
  --batcher-max-bytes BYTES  group_bytes of the topic (not with --api seb); 10 MiB
  --no-sync                  the topic acknowledges before the disk has the records (not with --api seb)
  --read                     appends, reads, and then measures reading ranges of the same size again
  -r, --runs N               1
  --topic NAME               first part of the topics' names; bench
  --keep                     does not delete the topics
  --server-pid PID           measures the processor time of this process
  --json FILE                writes the figures there
";

/// Which door is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    V1,
    Seb,
    Resp,
}

impl Api {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::Seb => "seb",
            Self::Resp => "resp",
        }
    }
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) url: String,
    pub(super) api: Api,
    pub(super) key: String,
    pub(super) workers: usize,
    pub(super) batches: u64,
    pub(super) records: usize,
    pub(super) size: usize,
    pub(super) linger_ms: Option<u64>,
    pub(super) group_bytes: u64,
    pub(super) sync: bool,
    pub(super) read: bool,
    pub(super) runs: usize,
    pub(super) topic: String,
    pub(super) keep: bool,
    pub(super) pid: Option<u32>,
    pub(super) json: Option<String>,
    pub(super) tls: Option<Tls>,
}

impl Options {
    /// Options from the arguments; none if help is wanted.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>, String> {
        let mut o = Self {
            url: String::new(),
            api: Api::V1,
            key: String::new(),
            workers: 16,
            batches: 4096,
            records: 1024,
            size: 1024,
            linger_ms: None,
            group_bytes: 10 << 20,
            sync: true,
            read: false,
            runs: 1,
            topic: "bench".to_owned(),
            keep: false,
            pid: None,
            json: None,
            tls: None,
        };
        let (mut words, mut tls) = (Words::new(args), TlsOptions::default());
        while let Some(word) = words.next()? {
            let (Word::Option(name) | Word::Text(name)) = word;
            match name.as_str() {
                "--help" | "-h" => return Ok(None),
                "--no-sync" => o.sync = false,
                "--read" => o.read = true,
                "--keep" => o.keep = true,
                _ if tls.take(&name, &mut || words.value(&name))? => {}
                _ => {
                    let value = words.value(&name).map_err(crate::or_no_option)?;
                    if name == "--url" && value.starts_with("https://") {
                        tls.switch_on();
                    }
                    o.set(&name, &value)?;
                }
            }
        }
        o.tls = tls.finish()?;
        if o.url.is_empty() {
            let port = if o.api == Api::Resp { 6379 } else { 8080 };
            o.url = format!("127.0.0.1:{port}");
        }
        let bytes = (o.records as u64).saturating_mul(o.size as u64);
        if bytes > 30 << 20 || o.records > 32_768 {
            return Err("a batch has at most 30 MiB and 32768 records".to_owned());
        }
        if o.read && o.api != Api::V1 {
            return Err("--read goes with --api v1".to_owned());
        }
        Ok(Some(o))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let n = |max: u64| crate::number(name, value, 1, max);
        match name {
            "--url" => {
                let host = value.trim_start_matches("http://").trim_start_matches("https://");
                host.trim_end_matches('/').clone_into(&mut self.url);
            }
            "--api" => {
                self.api = [Api::V1, Api::Seb, Api::Resp]
                    .into_iter()
                    .find(|a| a.name() == value)
                    .ok_or_else(|| format!("--api is v1, seb or resp, not '{value}'"))?;
            }
            "--api-key" => value.clone_into(&mut self.key),
            "-w" | "--workers" => self.workers = n(10_000)? as usize,
            "--batches" => self.batches = n(1 << 40)?,
            "-b" | "--records-per-batch" => self.records = n(32_768)? as usize,
            "--record-size" => self.size = n(30 << 20)? as usize,
            "--batcher-block-time" => self.linger_ms = Some(n(60_000)?),
            "--batcher-max-bytes" => self.group_bytes = n(30 << 20)?,
            "-r" | "--runs" => self.runs = n(1000)? as usize,
            "--topic" => value.clone_into(&mut self.topic),
            "--server-pid" => self.pid = Some(n(u64::from(u32::MAX))? as u32),
            "--json" => self.json = Some(value.to_owned()),
            _ => return Err(format!("there is no option '{name}'; --help lists the options")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Options>, String> {
        Options::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines() {
        let o = parse("-w 3 -b 7 --api=seb --url=http://h:1/ --no-sync --json f").expect("sound");
        let o = o.expect("no help");
        assert_eq!((o.workers, o.records, o.api, &o.url[..]), (3, 7, Api::Seb, "h:1"));
        assert!(!o.sync && o.json.as_deref() == Some("f"));
        assert_eq!(parse("--api resp").expect("sound").expect("no help").url, "127.0.0.1:6379");
        assert!(parse("--help").expect("sound").is_none());
        let o = parse("--url https://h:1/ --insecure").expect("sound").expect("no help");
        assert!(o.tls.is_some() && o.url == "h:1");
        for wrong in [
            "-w",
            "-w 0",
            "-w x",
            "--nosuch 1",
            "-b 32768 --record-size 1025",
            "--api resp --read",
            "--tls",
            "--tls --insecure --cert f",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
