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
use engine::{Engine, log};

use super::acceptor::PROTECTED;
use super::conn::{Conn, Handshake};
use super::worker::Worker;

/// The first byte of what a client says that speaks TLS.
pub(super) const HANDSHAKE: u8 = 0x16;

/// Whether input that begins with [`HANDSHAKE`] is that of a client that speaks TLS where it should not.
#[cold]
pub(super) fn is_hello(c: &Conn, bytes: &[u8]) -> bool {
    !c.parser.is_active() && matches!(bytes, [HANDSHAKE, 3, 0..=4, ..])
}

/// Says so.
#[cold]
pub(super) fn note_hello(engine: &Engine, c: &Conn) {
    let peer = &c.session.client.endpoint.peer;
    log!(
        engine.log,
        Warning,
        "Closing client that speaks TLS to a port without TLS (tls-port has it): addr={}",
        peer
    );
}

/// The clock of a new connection's handshake begins.
pub(super) fn begin(engine: &Engine, c: &mut Conn) {
    let limit = engine.config.int(Id::TlsHandshakeTimeout).max(1) as u64 * 1_000_000_000;
    let until = engine.clock.monotonic_ns().saturating_add(limit);
    c.handshake = Some(Handshake { until, queued: false });
    c.session.client.tls.store(true, Relaxed);
}

/// Whether a connection with something new can be read from. One that cannot is queued for its handshake.
pub(super) fn is_open(c: &mut Conn, handshakes: &mut VecDeque<u64>) -> bool {
    match &mut c.handshake {
        None => {
            c.readable |= c.stream.has_more();
            true
        }
        Some(handshake) => {
            if !handshake.queued {
                handshake.queued = true;
                handshakes.push_back(c.session.client.id);
            }
            false
        }
    }
}

/// Says that a client has not come to the end of its handshake in time.
pub(super) fn note_late(engine: &Engine, c: &Conn) {
    log!(
        engine.log,
        Verbose,
        "Error accepting a client connection: TLS handshake takes longer than tls-handshake-timeout (addr={})",
        c.session.client.endpoint.peer
    );
}

impl Worker {
    /// The handshakes' part of a turn.
    pub(super) fn shake_hands(&mut self) {
        if self.handshakes.is_empty() {
            return;
        }
        let most = self.shared.engine.config.int(Id::MaxNewTlsConnectionsPerCycle).max(1);
        for _ in 0..most {
            let Some(id) = self.handshakes.pop_front() else { break };
            if let Some(&i) = self.places.get(&id) {
                self.shake(i);
            }
        }
    }

    fn shake(&mut self, i: usize) {
        let shared = Arc::clone(&self.shared);
        let c = &mut *self.conns[i];
        let Some(handshake) = &mut c.handshake else { return };
        handshake.queued = false;
        match c.stream.handshake() {
            Ok(false) if c.stream.has_more() => {
                is_open(c, &mut self.handshakes);
            }
            Ok(false) => {}
            Ok(true) => {
                c.handshake = None;
                if enter(&shared.engine, c) {
                    c.readable = true;
                    self.serve(i, false);
                } else {
                    let stats = &self.inbox.worker.stats;
                    stats.rejected_connections.fetch_add(1, Relaxed);
                    self.close(i);
                }
            }
            Err(e) => {
                note_failure(&shared, c, &e);
                self.close(i);
            }
        }
    }
}

/// A client whose handshake is done comes in, as the user that its certificate names, if that is wanted. Returns
/// false when it may not.
fn enter(engine: &Engine, c: &mut Conn) -> bool {
    let endpoint = &c.session.client.endpoint;
    let about = c.stream.with_session(transport::Session::describe).unwrap_or_default();
    log!(engine.log, Debug, "TLS connection from {}: {}", endpoint.peer, about);
    let user = engine.config.chosen(Id::TlsAuthClientsUser);
    if matches!(user, TlsAuthClientsUser::CommonName) {
        enter_by_name(engine, c);
    }
    let endpoint = &c.session.client.endpoint;
    let refused = !endpoint.loopback
        && engine.config.flag(Id::ProtectedMode)
        && engine.acl.takes_any_password();
    if refused {
        // The connection is closed whether that reaches the client or not.
        let _ = c.stream.write_whole(PROTECTED.as_bytes());
    }
    !refused
}

/// Makes the client the user whose name its certificate has.
fn enter_by_name(engine: &Engine, c: &mut Conn) {
    let names = c.stream.with_session(|session| {
        session.peer_certificate().and_then(|shown| transport::names_of(shown).ok())
    });
    let Some(Some(names)) = names else { return };
    // With several names it would be open to doubt which is meant.
    let [name] = names.common.as_slice() else { return };
    let user = engine.acl.user(name.as_bytes()).filter(|user| user.rules().on);
    match user {
        Some(user) => {
            c.session.set_user(Arc::clone(&user));
            c.session.set_authenticated(true);
            // The user may have been deleted meanwhile, by a command that looked for its connections too early.
            if !engine.acl.user(name.as_bytes()).is_some_and(|now| Arc::ptr_eq(&now, &user)) {
                c.session.closing = true;
            }
        }
        None => {
            let client = &c.session.client;
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
fn note_failure(shared: &crate::Shared, c: &Conn, e: &io::Error) {
    let engine = &shared.engine;
    let peer = &c.session.client.endpoint.peer;
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
