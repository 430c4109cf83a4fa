//! Requests to applications over HTTP, of all threads; and the documents of keys that are fetched so.

use std::sync::Arc;
use std::time::Duration;

use ::live::options::Options;
use ::live::proxy::{Forwards, Outcome};
use ::live::token::jwks;
use engine::{Engine, log};
use live_http::{Asker, Question};

use super::Live;
use super::mail::Mail;

/// Time for a document of keys.
const KEYS_TIMEOUT: Duration = Duration::from_secs(5);

impl Live {
    /// Asks an application; `done` gets its answer, on another thread or at once.
    pub(super) fn ask(&self, question: Question, done: impl FnOnce(Outcome) + Send + 'static) {
        // Without a question there is no thread for answers.
        match self.asker.get_or_init(|| Asker::new().map_err(|e| e.to_string())) {
            Ok(asker) => asker.ask(question, done),
            Err(why) => done(Outcome::Failed(why.clone())),
        }
    }

    /// Fetches the documents of keys that are needed now. The hubs get mail when one has arrived, or has not.
    pub(super) fn fetch_keys(self: &Arc<Self>, engine: &Arc<Engine>) {
        loop {
            // Not a `while let`: its lock would be held through the body.
            let now = engine.clock.wall_ms() as i64;
            let Some(url) = self.jwks.lock().needs_fetch(now) else { return };
            let question = Question {
                url: url.clone(),
                headers: vec![("Accept".into(), "application/json".into())],
                body: None,
                timeout: KEYS_TIMEOUT,
                tls: None,
                answer_max: jwks::DOCUMENT_MAX,
            };
            let (live, engine) = (Arc::clone(self), Arc::clone(engine));
            self.ask(question, move |outcome| {
                let document = match &outcome {
                    Outcome::Answer(document) => Ok(&**document),
                    Outcome::Status(status) => Err(format!("the status is {status}")),
                    other => Err(other.why_none().unwrap_or_default()),
                };
                let now = engine.clock.wall_ms() as i64;
                let failed = live.jwks.lock().update(&url, document, now);
                if let Some(why) = failed {
                    log!(engine.log, Warning, "live: keys from {}: {}", url, why);
                }
                live.post_all(&engine, &Mail::Keys);
            });
        }
    }

    /// The headers of clients that questions need.
    pub(super) fn forwards(&self, options: &Arc<Options>) -> Arc<Forwards> {
        let mut known = self.forwards.lock();
        match &*known {
            Some((of, forwards)) if Arc::ptr_eq(of, options) => Arc::clone(forwards),
            _ => {
                let forwards = Arc::new(Forwards::of(options));
                *known = Some((Arc::clone(options), Arc::clone(&forwards)));
                forwards
            }
        }
    }
}
