//! What a link has reported since it was last looked at, and the file of the copy that arrives.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use engine::{Engine, log};
use replication::ReplId;
use replication::link::{Channel, Event, Level};

use super::proving::Proving;
use crate::failover;
use crate::whole::Scan;

/// A copy that arrives.
pub(super) struct Copied {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) proving: Proving,
}

impl Copied {
    fn begin(engine: &Engine) -> io::Result<Self> {
        let path = PathBuf::from(format!("temp-{}.link.rdb", std::process::id()));
        let file = File::create(&path)?;
        let proving = Proving::begin(engine, &path)?;
        Ok(Self { path, file, proving })
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.proving.arrived(bytes.len());
        Ok(())
    }
}

/// What the link has reported since it was last looked at.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) full: Option<(ReplId, i64)>,
    pub(super) copy: Option<Copied>,
    pub(super) trouble: Option<String>,
    pub(super) whole: bool,
    pub(super) goes_on: Option<Option<ReplId>>,
    /// What has arrived of the stream and is not executed, and how far that was looked at.
    pub(super) stream: Vec<u8>,
    pub(super) scan: Scan,
    /// The log says that no more of the stream is held.
    pub(super) told_limit: bool,
    /// The copy comes on a second connection.
    pub(super) beside: Option<Channel>,
    /// The number of that second connection, which this one is.
    pub(super) number: Option<u64>,
    pub(super) failed: bool,
}

impl Reports {
    pub(super) fn take(&mut self, engine: &Engine, event: Event<'_>) {
        match event {
            Event::Log(Level::Notice, line) => log!(engine.log, Notice, "{}", line),
            Event::Log(Level::Warning, line) => log!(engine.log, Warning, "{}", line),
            Event::FullResync { id, offset } => {
                failover::succeeded(engine);
                self.full = Some((id, offset));
            }
            Event::Beside(channel) => {
                failover::succeeded(engine);
                self.beside = Some(channel);
            }
            Event::EndOffset { number } => self.number = Some(number),
            Event::RdbBegin { .. } => match Copied::begin(engine) {
                Ok(copy) => self.copy = Some(copy),
                Err(e) => self.trouble = Some(format!("no file for the copy: {e}")),
            },
            Event::Rdb(bytes) => {
                if let Some(copy) = &mut self.copy
                    && let Err(e) = copy.add(bytes)
                {
                    self.trouble = Some(format!("the copy cannot be written: {e}"));
                }
            }
            Event::RdbEnd => self.whole = true,
            Event::Continue { id } => {
                failover::succeeded(engine);
                self.goes_on = Some(id);
            }
            Event::Refused => failover::refused(engine),
            Event::Stream(bytes) => self.stream.extend_from_slice(bytes),
            Event::Failed(line) => {
                log!(engine.log, Warning, "{}", line);
                self.failed = true;
            }
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        if let Some(copy) = &self.copy {
            // The next copy has a file of its own.
            let _ = std::fs::remove_file(&copy.path);
        }
    }
}
