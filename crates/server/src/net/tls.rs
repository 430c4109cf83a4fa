//! Handshakes of TLS on a worker's event loop, and what follows from them.
//!
//! A step of a handshake takes up to milliseconds, so only a few are computed in one turn of the loop
//! (`max-new-tls-connections-per-cycle`), in the order in which clients have sent what they need. All other
//! connections are served between them.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::{Id, TlsAuthClientsUser};
use engine::acl;
use engine::{Client, Endpoint, Engine, Session, log};

use super::Stream;

/// A handshake that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    /// When the client must be done with it, in nanoseconds of the monotonic clock.
    pub(crate) until: u64,
    /// It is in the worker's list: its next step is this side's.
    pub(crate) queued: bool,
}

/// What a client on another machine gets while nobody needs a password.
pub(super) const PROTECTED: &str = "-DENIED Apus is running in protected mode: it has no password and this \
client is on another machine. Connect from the machine itself, set a password (CONFIG SET \
requirepass), or switch protected mode off (CONFIG SET protected-mode no) if only trusted machines \
can reach this port.\r\n";

/// The first byte of what a client says that speaks TLS.
pub(super) const HANDSHAKE: u8 = 0x16;

/// Whether input that begins with [`HANDSHAKE`] is that of a client that speaks TLS where it should not.
#[cold]
pub(super) fn is_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [HANDSHAKE, 3, 0..=4, ..])
}

/// Says so.
#[cold]
pub(super) fn note_hello(engine: &Engine, client: &Client) {
    let peer = &client.endpoint.peer;
    log!(
        engine.log,
        Warning,
        "Closing client that speaks TLS to a port without TLS (tls-port has it): addr={}",
        peer
    );
}

/// The clock of a new connection's handshake begins.
pub(super) fn begin(engine: &Engine, client: &Client) -> Handshake {
    let limit = engine.config.int(Id::TlsHandshakeTimeout).max(1) as u64 * 1_000_000_000;
    let until = engine.clock.monotonic_ns().saturating_add(limit);
    client.tls.store(true, Relaxed);
    Handshake { until, queued: false }
}

/// Queues a handshake that can go on.
pub(super) fn queue(handshake: &mut Handshake, client: &Client, all: &mut VecDeque<u64>) {
    if !handshake.queued {
        handshake.queued = true;
        all.push_back(client.id);
    }
}

/// Says that a client has not come to the end of its handshake in time.
pub(super) fn note_late(engine: &Engine, client: &Client) {
    log!(
        engine.log,
        Verbose,
        "Error accepting a client connection: TLS handshake takes longer than tls-handshake-timeout (addr={})",
        client.endpoint.peer
    );
}

/// A client whose handshake is done comes in, as the user that its certificate names, if that is wanted. Returns
/// false when it may not.
pub(super) fn enter(engine: &Engine, stream: &Stream, session: &mut Session) -> bool {
    let endpoint = &session.client.endpoint;
    let about = stream.with_session(transport::Session::describe).unwrap_or_default();
    log!(engine.log, Debug, "TLS connection from {}: {}", endpoint.peer, about);
    let user = engine.config.chosen(Id::TlsAuthClientsUser);
    if matches!(user, TlsAuthClientsUser::CommonName) {
        enter_by_name(engine, stream, session);
    }
    let refused = is_refused(engine, &session.client.endpoint);
    if refused {
        // The connection is closed whether that reaches the client or not.
        let _ = stream.write_whole(PROTECTED.as_bytes());
    }
    !refused
}

/// Whether protected mode keeps a client of this machine or of another out.
pub(super) fn is_refused(engine: &Engine, endpoint: &Endpoint) -> bool {
    !endpoint.loopback && engine.config.flag(Id::ProtectedMode) && engine.acl.takes_any_password()
}

/// Makes the client the user whose name its certificate has.
fn enter_by_name(engine: &Engine, stream: &Stream, session: &mut Session) {
    let names = stream.with_session(|tls| {
        tls.peer_certificate().and_then(|shown| transport::names_of(shown).ok())
    });
    let Some(Some(names)) = names else { return };
    // With several names it would be open to doubt which is meant.
    let [name] = names.common.as_slice() else { return };
    let user = engine.acl.user(name.as_bytes()).filter(|user| user.rules().on);
    match user {
        Some(user) => {
            session.set_user(Arc::clone(&user));
            session.set_authenticated(true);
            // The user may have been deleted meanwhile, by a command that looked for its connections too early.
            if !engine.acl.user(name.as_bytes()).is_some_and(|now| Arc::ptr_eq(&now, &user)) {
                session.closing = true;
            }
        }
        None => {
            let client = &session.client;
            log!(
                engine.log,
                Verbose,
                "TLS: there is no user '{}' that is on, as the certificate of addr={} names",
                name.escape_debug(),
                client.endpoint.peer
            );
            acl::note_login(engine, name.as_bytes(), client, acl::Origin::TopLevel, b"tls-cert");
        }
    }
}

/// Says why a handshake has failed.
pub(super) fn note_failure(shared: &crate::Shared, client: &Client, e: &io::Error) {
    let engine = &shared.engine;
    let peer = &client.endpoint.peer;
    let of_tls = e.get_ref().and_then(|e| e.downcast_ref::<transport::Error>());
    let text = match of_tls {
        Some(transport::Error::NoTls) => "it does not speak TLS".to_owned(),
        Some(e) => e.to_string(),
        None if e.kind() == io::ErrorKind::UnexpectedEof => {
            // Probes of load balancers connect and go.
            log!(engine.log, Verbose, "TLS client has gone amid its handshake: addr={}", peer);
            return;
        }
        None => e.to_string(),
    };
    // As often as anybody likes: only one per second is a warning.
    if shared.complain() {
        log!(engine.log, Warning, "Error accepting a client connection: {} (addr={})", text, peer);
    } else {
        log!(engine.log, Verbose, "Error accepting a client connection: {} (addr={})", text, peer);
    }
}
