//! The functions of a site's directory (`functions/*.lua`): libraries that are loaded when the server starts, and
//! when a file of them changes, as FUNCTION LOAD REPLACE does it.
//!
//! They are loaded by the server itself, since who writes the directory configures it. A replica has the
//! functions of its primary, and loads those of its own directory when it becomes one. A library whose file is
//! gone stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use engine::{Job, Message, Session, log};
use pages::site::{Source, is_library};
use parking_lot::Mutex;

use crate::Shared;
use crate::reply::Reply;

/// The libraries of the directory, and which have been loaded.
#[derive(Default)]
pub(super) struct Functions {
    wanted: Mutex<Arc<[Source]>>,
    /// What the wanted ones are, as a number; 0: there are none.
    number: AtomicU64,
    loaded: AtomicU64,
    /// A thread has been asked to load them.
    begun: AtomicBool,
}

impl Functions {
    /// Takes the libraries among the files of the directory.
    pub(super) fn take(&self, files: &[Source]) {
        let libraries = files.iter().filter(|source| is_library(&source.path));
        let libraries: Arc<[Source]> = libraries.cloned().collect();
        let number = libraries.iter().fold(0, |number, source| {
            let path = stdx::hash::hash64(source.path.as_bytes());
            stdx::hash::hash64(
                &[number, path, stdx::hash::hash64(&source.bytes)].map(u64::to_le_bytes).concat(),
            ) | 1
        });
        let mut wanted = self.wanted.lock();
        *wanted = libraries;
        self.number.store(number, SeqCst);
    }
}

/// Has a worker load the libraries if others are wanted than were loaded last.
pub(super) fn follow(shared: &Arc<Shared>) {
    let of = &shared.web.functions;
    if of.number.load(SeqCst) == of.loaded.load(SeqCst)
        || shared.engine.is_replica()
        || of.begun.swap(true, SeqCst)
    {
        return;
    }
    let Some(worker) = shared.engine.workers().first().cloned() else { return };
    let weak = Arc::downgrade(shared);
    worker.mailbox.post(Message::Run(Job::new(move |engine, thread| {
        let Some(shared) = weak.upgrade() else { return };
        let of = &shared.web.functions;
        let (libraries, number) = {
            let wanted = of.wanted.lock();
            (Arc::clone(&wanted), of.number.load(SeqCst))
        };
        let user = Arc::clone(engine.acl.server());
        let mut session = Session::of_page(engine, thread.index, user);
        let mut is_done = true;
        for library in &*libraries {
            let text = library.bytes.to_vec();
            let mut words = vec![b"function".to_vec(), b"load".to_vec(), b"replace".to_vec(), text];
            let reply = thread.call_for_page(engine, &mut session, &mut words);
            match Reply::read(&mut &*reply) {
                Ok(Reply::Error(why)) if is_passing(&why) => is_done = false,
                Ok(Reply::Error(why)) => {
                    log!(engine.log, Warning, "site: {}: {}", library.path, why)
                }
                // An empty reply: commands have to wait.
                Err(_) => is_done = false,
                Ok(_) => log!(engine.log, Notice, "Functions of {} loaded", library.path),
            }
        }
        if is_done {
            of.loaded.store(number, SeqCst);
        }
        of.begun.store(false, SeqCst);
    })));
}

/// Whether a command may succeed later.
fn is_passing(why: &str) -> bool {
    ["LOADING", "READONLY", "BUSY", "MISCONF", "NOREPLICAS", "OOM"]
        .iter()
        .any(|code| why.starts_with(code))
}
