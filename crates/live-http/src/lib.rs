//! Requests of live channels to applications over HTTP: what proxies are asked, and documents of keys.
//!
//! ```text
//!  event loop ── ask(question, done) ──► a place at the endpoint's gate ──► pool of connections ──► application
//!       ▲                                  │ none left: Failed                │ timeout: Failed
//!       └─────────── done(outcome), once, on another thread ◄─────────────────┴──────────────────────┘
//! ```
//!
//! Event loops never wait here: [`Asker::ask`] returns at once, and `done` is called exactly once, with the response or
//! with the reason why there is none. Connections are kept alive and used again. Redirects are not followed: an
//! application that answers with one is an application that answers with another status than 200.

mod gate;
mod tls;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use live::options::ClientTls;
use live::proxy::Outcome;
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use self::gate::Gate;

/// Most connections to an endpoint at one time.
const CONNECTIONS_MAX: usize = 512;
/// Most requests to an endpoint that have no response yet.
const PENDING_MAX: usize = 16 * 1024;
/// Idle connections that are kept, by host.
const IDLE_MAX: usize = 255;
/// How long an idle connection is kept.
const IDLE_TIME: Duration = Duration::from_secs(90);

type Pool = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// What is asked of whom.
#[derive(Clone, Debug)]
pub struct Question {
    /// `http` or `https`. A name and password in it are sent as those of basic authentication.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// What is posted; `None`: the document is got.
    pub body: Option<Vec<u8>>,
    /// Time for the whole response, from now on; above 0.
    pub timeout: Duration,
    /// TLS beyond what the scheme `https` brings.
    pub tls: Option<ClientTls>,
    /// Most bytes of the response.
    pub answer_max: usize,
}

/// See the crate's text.
pub struct Asker {
    /// Only without one at the end.
    runtime: Option<Runtime>,
    pools: Mutex<Vec<(Option<ClientTls>, Pool)>>,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
}

impl Asker {
    /// Starts the thread that waits for responses.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn new() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            // They resolve names.
            .max_blocking_threads(16)
            .enable_io()
            .enable_time()
            .thread_name("apus-live-http")
            .build()?;
        Ok(Self { runtime: Some(runtime), pools: Mutex::default(), gates: Mutex::default() })
    }

    /// Asks. `done` gets the outcome, perhaps before this returns.
    pub fn ask(&self, question: Question, done: impl FnOnce(Outcome) + Send + 'static) {
        let Some(runtime) = &self.runtime else {
            return done(Outcome::Failed("the server stops".into()));
        };
        let gate = Arc::clone(
            self.gates
                .lock()
                .entry(question.url.clone())
                .or_insert_with(|| Arc::new(Gate::new(CONNECTIONS_MAX, PENDING_MAX))),
        );
        let Some(place) = gate.enter() else {
            return done(Outcome::Failed("too many requests wait for the application".into()));
        };
        let made =
            self.pool(question.tls.as_ref()).and_then(|pool| Ok((pool, request(&question)?)));
        let (pool, request) = match made {
            Ok(made) => made,
            Err(why) => return done(Outcome::Failed(why)),
        };
        // The place is left when the future ends, and so it is when the runtime drops it.
        runtime.spawn(async move {
            let (timeout, answer_max) = (question.timeout, question.answer_max);
            let answer = async {
                let _turn = place.turn().await;
                exchange(&pool, request, answer_max).await
            };
            let outcome = match tokio::time::timeout(timeout, answer).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(why)) => Outcome::Failed(why),
                Err(_) => Outcome::TimedOut(timeout),
            };
            drop(place);
            done(outcome);
        });
    }

    /// The connections with some options of TLS.
    fn pool(&self, options: Option<&ClientTls>) -> Result<Pool, String> {
        let mut pools = self.pools.lock();
        if let Some((_, pool)) = pools.iter().find(|(known, _)| known.as_ref() == options) {
            return Ok(pool.clone());
        }
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        let connector = tls::connector(http, options)?;
        let pool = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIME)
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_timer(TokioTimer::new())
            .build(connector);
        pools.push((options.cloned(), Pool::clone(&pool)));
        Ok(pool)
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        // The last handle may be dropped on a thread of the runtime, which must not wait for itself.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn request(question: &Question) -> Result<Request<Full<Bytes>>, String> {
    let uri: Uri = question.url.parse().map_err(|e| format!("{}: {e}", question.url))?;
    let method = if question.body.is_some() { Method::POST } else { Method::GET };
    let body = Full::new(Bytes::from(question.body.clone().unwrap_or_default()));
    let authorization = authorization(&uri);
    let mut request =
        Request::builder().method(method).uri(uri).body(body).map_err(|e| e.to_string())?;
    let headers = request.headers_mut();
    let own = concat!("apus/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(own));
    if let Some(value) = authorization {
        headers.insert(AUTHORIZATION, value);
    }
    for (name, value) in &question.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value)
            && !is_of_connection(&name)
        {
            headers.insert(name, value);
        }
    }
    Ok(request)
}

/// Fields that are about this connection, not about the request: with those of another they would frame it wrongly.
fn is_of_connection(name: &HeaderName) -> bool {
    let names = [
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    names.contains(&name.as_str())
}

/// Name and password of a URL.
fn authorization(uri: &Uri) -> Option<HeaderValue> {
    let (login, _) = uri.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let plain = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
    let login = [plain(user), plain(password)].join(&b':');
    HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(login))).ok()
}

async fn exchange(
    pool: &Pool,
    request: Request<Full<Bytes>>,
    max: usize,
) -> Result<Outcome, String> {
    let response = pool.request(request).await.map_err(|e| because(&e))?;
    let status = response.status();
    if status != StatusCode::OK {
        return Ok(Outcome::Status(status.as_u16()));
    }
    let body = Limited::new(response.into_body(), max).collect().await;
    let body = body.map_err(|e| because(&*e))?;
    Ok(Outcome::Answer(body.to_bytes().to_vec()))
}

/// An error, and what it comes from.
fn because(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
