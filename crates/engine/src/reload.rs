//! SIGHUP changes options whose lines in the configuration file have changed, and the users of the ACL file.
//! Each of the two is taken over as a whole, or does not change.

use config::{Caller, Id};

use crate::attention::Attention;
use crate::engine::Engine;
use crate::log;
use crate::mailbox::{Job, Message};
use crate::{acl, change::change};

impl Engine {
    /// Sets options, as CONFIG SET does, and reads the ACL file again, on a worker thread. `done` is called
    /// there with whether the options were set; the log lists the changes.
    pub fn reload(
        &self,
        options: Vec<(&'static str, Vec<u8>)>,
        done: impl FnOnce(bool) + Send + 'static,
    ) {
        let job = Job::new(move |engine, thread| {
            let pairs: Vec<(&[u8], &[u8])> =
                options.iter().map(|(name, value)| (name.as_bytes(), value.as_slice())).collect();
            let loading = engine.attention.get() & Attention::LOADING != 0;
            // A user that may write the file may also start a server with it.
            let caller = Caller { local: true, loading, owner: true };
            let outcome = if pairs.is_empty() {
                Ok(Vec::new())
            } else {
                change(engine, thread, &pairs, caller)
            };
            match &outcome {
                Ok(_) if options.is_empty() => {
                    log!(engine.log, Notice, "Reloaded: the configuration has not changed");
                }
                Ok(_) => {
                    // The log does not show the values: some are passwords.
                    let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
                    log!(engine.log, Notice, "Reloaded: {}", names.join(", "));
                }
                Err(e) => log!(
                    engine.log,
                    Warning,
                    "Not reloaded, the configuration stays as it is: {}",
                    e
                ),
            }
            done(outcome.is_ok());
            // A certificate may be new in a file whose name is the same. Why it cannot be used has been logged.
            if let Some(follow) = &*engine.hooks.config.read()
                && follow(Id::TlsCertFile, &engine.config).is_err()
            {
                log!(engine.log, Warning, "Not reloaded, the certificates stay as they are");
            }
            if engine.config.string(Id::Aclfile).is_empty() {
                return;
            }
            match acl::reload(engine) {
                Ok(()) => log!(engine.log, Notice, "Reloaded: the users of the ACL file"),
                Err(e) => {
                    log!(engine.log, Warning, "Not reloaded, the users stay as they are: {}", e)
                }
            }
        });
        self.post(0, Message::Run(job));
    }
}
