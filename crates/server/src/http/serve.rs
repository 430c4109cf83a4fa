//! Connections: how many, how long, and how they end.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::exchange::State;
use super::intake::{BUFFER, Counted, Progress};
use super::route;
use crate::net::Wire;
use crate::tls::HttpPort;

/// Time that a connection may be idle.
const HEAD: Duration = Duration::from_secs(75);
/// Time for the handshake of TLS.
const GREETING: Duration = Duration::from_secs(10);
/// Time in which a client must take some of the bytes sent to it.
#[cfg(target_os = "linux")]
const STUCK: Duration = Duration::from_secs(120);

/// Places for connections.
pub(super) struct Places {
    free: Arc<Semaphore>,
    count: u32,
}

impl Places {
    pub(super) fn new(count: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(count));
        Arc::new(Self { free, count: u32::try_from(count).unwrap_or(u32::MAX) })
    }

    /// Waits until there are no connections, for at most so long.
    pub(super) async fn all_free(&self, within: Duration) {
        let _ = tokio::time::timeout(within, self.free.acquire_many(self.count)).await;
    }
}

/// Takes connections in until the end.
pub(super) async fn accept(
    listener: std::net::TcpListener,
    state: Arc<State>,
    places: Arc<Places>,
) {
    // Listeners are nonblocking already; it fails only when the process is out of everything.
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let here = listener.local_addr().ok();
    loop {
        // A connection without a permit waits in the kernel's queue.
        let Ok(place) = Arc::clone(&places.free).acquire_owned().await else { return };
        let mut stopped = state.stopped.clone();
        let accepted = {
            let mut stopped = pin!(stopped.wait_for(|s| *s));
            let mut accept = pin!(listener.accept());
            poll_fn(|cx| match stopped.as_mut().poll(cx) {
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => accept.as_mut().poll(cx).map(Some),
            })
            .await
        };
        match accepted {
            None => return,
            Some(Ok((stream, peer))) => {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    let engine = Arc::clone(&state.engine);
                    engine.topics.http_connections.fetch_add(1, Relaxed);
                    connection(stream, [here, Some(peer)], state).await;
                    engine.topics.http_connections.fetch_sub(1, Relaxed);
                    drop(place);
                });
            }
            // Out of descriptors: they come back.
            Some(Err(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn connection(stream: TcpStream, ends: [Option<SocketAddr>; 2], state: Arc<State>) {
    // Answers are written whole; waiting for more would only delay them.
    let _ = stream.set_nodelay(true);
    // A client that takes nothing must not keep its answer here for ever.
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(STUCK));
    let mut stopped = state.stopped.clone();
    let tls = state.tls.http(HttpPort::Topics);
    let Ok(stream) = Wire::open(stream, tls, GREETING).await else { return };
    let progress = Arc::new(Progress::default());
    let stream = Counted::new(stream, Arc::clone(&state.intake), Arc::clone(&progress));
    let service = service_fn(move |mut request: Request<Incoming>| {
        let state = Arc::clone(&state);
        let serving = progress.head();
        request.extensions_mut().insert(Arc::clone(&progress));
        async move {
            let answer = route::answer(request, ends, state).await;
            Ok::<_, Infallible>(answer.map(|reply| reply.of(serving)))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut stopped = pin!(stopped.wait_for(|s| *s));
    let mut told = false;
    poll_fn(|cx| {
        if !told && stopped.as_mut().poll(cx).is_ready() {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        // Whatever went wrong with a client, it has got an answer or has disconnected.
        connection.as_mut().poll(cx).map(|_| ())
    })
    .await;
}
