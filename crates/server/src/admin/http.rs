//! Connections of the admin port, and the answer of each path.
//!
//! Every connection is one request: the tools ask every few seconds, and a connection that cannot
//! be kept open needs no rules for idleness. A client may take the time [`HEAD`] for its request,
//! [`REST`] for the whole of it besides the length of a profile, and one of [`CONNECTIONS`]
//! permits.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use super::answer::{Deadline, Response, text};
use super::{heap, metrics, profile, topkeys};
use crate::Shared;
use crate::access::{CHALLENGE, HttpPort, Refusal};
use crate::net::Wire;
use crate::tls::HttpPort as Secured;

/// Connections at once; one more is closed.
pub(super) const CONNECTIONS: usize = 32;
/// Time to send a request's head.
const HEAD: Duration = Duration::from_secs(5);
/// Time for a whole connection, without the length of a profile.
const REST: Duration = Duration::from_secs(20);
/// Bytes of a request's head: hyper's least, and plenty.
const HEAD_BYTES: usize = 8192;

/// Paths and their answers, for `/` and for unknown paths.
const PATHS: &[(&str, &str)] = &[
    ("/healthz", "200 while the process lives"),
    ("/readyz", "200 when it serves clients, 503 while it loads or shuts down"),
    ("/metrics", "for Prometheus, with the names of redis_exporter"),
    ("/debug/profile?seconds=10&format=pprof", "CPU profile for `go tool pprof`"),
    ("/debug/profile?seconds=10&format=svg", "CPU profile as a flame graph"),
    ("/debug/heap", "where the memory is, as JSON"),
    ("/debug/topkeys?by=hits&count=10", "the busiest keys by hits, bytes or cpu, as JSON"),
    ("/debug/web", "requests to the web port by route, as JSON"),
];

/// Takes connections in for ever.
pub(super) async fn accept(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    places: Arc<AtomicUsize>,
) {
    // Listeners are nonblocking already; it fails only when the process is out of everything.
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let here = listener.local_addr().ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if places.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_err() {
                    // Closed unanswered: writing to it could be made to take time, too.
                    continue;
                }
                let (shared, places) = (Arc::clone(&shared), Arc::clone(&places));
                tokio::spawn(async move {
                    connection(stream, [here, Some(peer)], shared).await;
                    places.fetch_add(1, Relaxed);
                });
            }
            // Out of descriptors: they come back.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn connection(stream: TcpStream, ends: [Option<SocketAddr>; 2], shared: Arc<Shared>) {
    let deadline = Arc::new(Deadline(parking_lot::Mutex::new(Instant::now() + REST)));
    let extended = Arc::clone(&deadline);
    let tls = shared.tls.http(Secured::Admin);
    let Ok(stream) = Wire::open(stream, tls, HEAD).await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let (shared, deadline) = (Arc::clone(&shared), Arc::clone(&extended));
        async move { Ok::<_, Infallible>(answer(&request, ends, &shared, &deadline).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    loop {
        let until = *deadline.0.lock();
        match tokio::time::timeout_at(until, connection.as_mut()).await {
            // Whatever went wrong with a client, it has got an answer or has disconnected.
            Ok(_) => return,
            Err(_) if *deadline.0.lock() > until => {}
            Err(_) => return,
        }
    }
}

fn index() -> String {
    let mut text = String::from("Apus\n\n");
    for (path, what) in PATHS {
        text.push_str(&format!("{path:<42} {what}\n"));
    }
    text
}

async fn answer(
    request: &Request<Incoming>,
    [here, peer]: [Option<SocketAddr>; 2],
    shared: &Arc<Shared>,
    deadline: &Deadline,
) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut r = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        r.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return r;
    }
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or(""));
    match path {
        // Probes have no password, and these paths say nothing about data or load.
        "/healthz" => return text(StatusCode::OK, "ok\n"),
        "/readyz" => return ready(shared),
        _ => {}
    }
    let engine = &*shared.engine;
    let caller = match (HttpPort { name: "admin-port", engine, key: b"", peer, here })
        .caller(request.headers())
    {
        Ok(caller) => caller,
        Err(refusal) => return refused(&refusal),
    };
    // The command of RESP that needs the same permission.
    let command: &[&[u8]] = match path {
        "/metrics" | "/debug/heap" | "/debug/web" => &[b"info"],
        "/debug/topkeys" => &[b"apus.topkeys"],
        "/debug/profile" => &[b"latency|doctor"],
        "/" => return text(StatusCode::OK, index()),
        _ => return text(StatusCode::NOT_FOUND, format!("Not found. There is:\n\n{}", index())),
    };
    if let Err(why) = caller.may(engine, command) {
        return text(StatusCode::FORBIDDEN, format!("{why}\n"));
    }
    match path {
        "/metrics" => metrics::answer(shared).await,
        "/debug/profile" => profile::answer(query, shared, deadline).await,
        "/debug/heap" => heap::answer(shared).await,
        "/debug/web" => super::answer::json(&shared.web.json()),
        _ => topkeys::answer(query, shared),
    }
}

fn refused(refusal: &Refusal) -> Response {
    let mut r = text(refusal.status, format!("{}\n", refusal.text));
    if refusal.status == StatusCode::UNAUTHORIZED {
        r.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE));
    }
    r
}

fn ready(shared: &Shared) -> Response {
    let attention = shared.engine.attention.get();
    let not = |why: &str| text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"));
    // From the signal or SHUTDOWN on: the final save comes first, and may take long.
    if shared.stopping() || shared.engine.ends.is_requested() {
        not("shutting down")
    } else if attention & engine::Attention::LOADING != 0 {
        not("loading")
    } else {
        text(StatusCode::OK, "ready\n")
    }
}
