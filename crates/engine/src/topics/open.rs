//! Opening the topics of an engine: at once, or in the background while a bucket takes its time.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use ::log::{Broker, Error, Options};
use config::Id;

use super::{Topics, place};
use crate::engine::Engine;
use crate::log;

/// When the log first says that a bucket has not answered; the next pauses are twice as long each.
const TELL: Duration = Duration::from_secs(5);
/// The longest pause between two such messages.
const TELL_MAX: Duration = Duration::from_secs(60);
/// Time between two tries to open a bucket.
const AGAIN: Duration = Duration::from_secs(5);

impl Topics {
    /// The log, which is opened if it is not.
    ///
    /// # Errors
    /// The storage cannot be opened.
    pub fn open(&self, engine: &Engine) -> Result<&Broker, Error> {
        if let Some(b) = self.broker.get() {
            return Ok(b);
        }
        if let Some(what) = &*self.waits.lock() {
            return Err(Error::NotYet(what.clone()));
        }
        self.open_now(engine)
    }

    fn open_now(&self, engine: &Engine) -> Result<&Broker, Error> {
        let _opening = self.opening.lock();
        if let Some(b) = self.broker.get() {
            return Ok(b);
        }
        let config = &engine.config;
        let log = engine.log.clone();
        let tell = Arc::new(move |text: &str| log!(log, Warning, "{}", text));
        let descriptors = self.descriptors.load(Relaxed);
        let storage = place::open(config, descriptors, Arc::clone(&tell) as _)?;
        let memory = usize::try_from(config.bytes(Id::TopicMemory)).unwrap_or(usize::MAX);
        let options = Options {
            auto_create: config.flag(Id::TopicAutoCreate),
            read_only: config.flag(Id::TopicReadOnly),
            pending_max: memory / 2,
            // Where objects are fetched for readers, they have the other half of it.
            kept_max: memory / if storage.shared() { 8 } else { 4 },
            answers_max: memory / 4,
            ..Options::default()
        };
        let clock = engine.clock.clone();
        let tell = Box::new(move |text: &str| tell(text));
        let broker = Broker::new(storage, options, tell, Box::new(move || clock.wall_us()));
        Ok(self.broker.get_or_init(|| broker))
    }

    /// Opens it if there are topics from before, or if an option says where they are, so that their retention goes on,
    /// and so that an error in them shows at the start. A bucket may take its time to answer: a thread of its own opens
    /// it, and until then requests get that answer.
    ///
    /// # Errors
    /// The storage cannot be opened, or the description of the bucket is not enough.
    pub fn wake(engine: &Arc<Engine>) -> Result<(), Error> {
        if !place::is_used(&engine.config) {
            return Ok(());
        }
        let Some(url) = place::bucket(&engine.config) else {
            return engine.topics.open(engine).map(|_| ());
        };
        for hint in place::hints(&url)? {
            log!(engine.log, Warning, "{}", hint);
        }
        let what = format!("topics are not open yet: waiting for {url}");
        log!(engine.log, Notice, "Looking for topics in {}", url);
        *engine.topics.waits.lock() = Some(what);
        let engine = Arc::clone(engine);
        let wait = move || wait_for(&engine, &url);
        let thread = std::thread::Builder::new().name("apus-log-open".to_owned()).spawn(wait);
        thread.map(|_| ()).map_err(|e| Error::Storage(format!("a thread cannot be started: {e}")))
    }
}

/// Opens the topics in a bucket, however long that takes, and reports meanwhile the reason that it waits.
fn wait_for(engine: &Arc<Engine>, url: &str) {
    let begin = Instant::now();
    let mut tell = TELL;
    loop {
        let (done, is_done) = mpsc::channel();
        let opener = Arc::clone(engine);
        let open = move || {
            // The receiver may have ended.
            let _ = done.send(opener.topics.open_now(&opener).map(|_| ()));
        };
        let thread = std::thread::Builder::new().name("apus-log-open".to_owned()).spawn(open);
        let result = loop {
            match is_done.recv_timeout(tell) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Timeout) => {
                    let s = begin.elapsed().as_secs();
                    log!(
                        engine.log,
                        Warning,
                        "Still waiting for topics in {}: no answer for {} s. All else is served.",
                        url,
                        s
                    );
                    tell = (tell * 2).min(TELL_MAX);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let e = thread.err().map_or_else(|| "it ended".to_owned(), |e| e.to_string());
                    break Err(Error::Storage(format!("the thread that opens them: {e}")));
                }
            }
        };
        let topics = &engine.topics;
        match result {
            Ok(()) => {
                *topics.waits.lock() = None;
                log!(engine.log, Notice, "Topics in {} are open", url);
                return;
            }
            Err(e) => {
                log!(engine.log, Warning, "Topics in {}: {}. Trying again.", url, e);
                *topics.waits.lock() = Some(format!("topics are not open yet: {e}"));
            }
        }
        let again = Instant::now() + AGAIN;
        while Instant::now() < again {
            if topics.closed.load(Relaxed) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
