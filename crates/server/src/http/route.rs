//! Which route answers a request, and what all of them share before that: the caller, and pages of other
//! origins.

use std::net::SocketAddr;
use std::sync::Arc;

use engine::acl::Caller;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    HeaderValue, ORIGIN, VARY, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, StatusCode};

use super::exchange::{Response, State, empty, json, not_allowed, pieces, text, with};
use super::{seb, v1};
use crate::access::{self, HttpPort, Refusal};

/// Answers a request.
pub(super) async fn answer(
    request: Request<Incoming>,
    [here, peer]: [Option<SocketAddr>; 2],
    state: Arc<State>,
) -> Response {
    let engine = Arc::clone(&state.engine);
    // Pages of allowed origins may also read the answer (CORS).
    let origin = request.headers().get(ORIGIN).cloned();
    let origin = origin.filter(|o| o.to_str().is_ok_and(|o| access::allows(&engine.config, o)));
    let r = if access::is_preflight(request.method(), request.headers()) {
        match &origin {
            Some(_) => preflight(),
            None => {
                text(StatusCode::FORBIDDEN, "http-allowed-origins does not name this origin.\n")
            }
        }
    } else {
        let is_v1 = request.uri().path().starts_with("/v1/");
        let port =
            HttpPort { name: "topic-http-port", engine: &engine, key: &state.key, peer, here };
        match port.caller(request.headers()) {
            Ok(caller) => route(request, caller, state).await,
            Err(refusal) => refused(&refusal, is_v1),
        }
    };
    match origin {
        Some(origin) => readable_by(r, origin),
        None => r,
    }
}

async fn route(mut request: Request<Incoming>, caller: Caller, state: Arc<State>) -> Response {
    if request.method() == Method::HEAD {
        // The same without the body, which hyper leaves out.
        *request.method_mut() = Method::GET;
    }
    let path = request.uri().path().to_owned();
    match (path.as_str(), request.method()) {
        ("/records", &Method::POST) => seb::add_records(request, &caller, state).await,
        ("/records", &Method::GET) => seb::get_records(&request, &caller, state).await,
        ("/records", _) => not_allowed("GET, HEAD, POST"),
        ("/record", &Method::GET) => seb::get_record(&request, &caller, state).await,
        ("/topic", &Method::GET) => seb::get_topic(&request, &caller, state).await,
        ("/record" | "/topic", _) => not_allowed("GET, HEAD"),
        ("/", &Method::GET) => index(&request),
        (p, _) if p.starts_with("/v1/") => v1::answer(request, caller, state).await,
        _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
}

/// `GET /`: the paths there are, as text or as HTML with links.
fn index(request: &Request<Incoming>) -> Response {
    const PATHS: [(&str, &str); 4] = [
        ("/v1/topics", "the topics"),
        ("/v1/topics/NAME/records", "records of a topic: GET reads, POST appends"),
        ("/v1/topics/NAME/tail", "records as they come"),
        ("/v1/openapi.json", "all of the interface"),
    ];
    let accept = request.headers().get(ACCEPT).and_then(|a| a.to_str().ok());
    let html = accept.is_some_and(|a| a.contains("text/html"));
    let mut page = String::from(if html {
        "<!doctype html><title>Apus</title><h1>Apus: topics over HTTP</h1><ul>\n"
    } else {
        "Apus: topics over HTTP\n\n"
    });
    for (path, what) in PATHS {
        page.push_str(&match (html, path.contains("NAME")) {
            (false, _) => format!("{path:<26} {what}\n"),
            (true, true) => format!("<li>{path}: {what}\n"),
            (true, false) => format!("<li><a href=\"{path}\">{path}</a>: {what}\n"),
        });
    }
    if html {
        page.push_str("</ul>\n");
        return pieces(StatusCode::OK, "text/html; charset=utf-8", [Bytes::from(page)]);
    }
    text(StatusCode::OK, page)
}

/// A refusal before routing, in the form of the API that was asked for.
fn refused(refusal: &Refusal, is_v1: bool) -> Response {
    let r = if is_v1 {
        json(refusal.status, &serde_json::json!({"error": refusal.text}))
    } else {
        text(refusal.status, format!("{}\n", refusal.text))
    };
    match refusal.status {
        StatusCode::UNAUTHORIZED => {
            with(r, WWW_AUTHENTICATE, HeaderValue::from_static(access::CHALLENGE))
        }
        _ => r,
    }
}

/// The answer to a browser that asks whether a page may send a request.
fn preflight() -> Response {
    let of = HeaderValue::from_static;
    let r = empty(StatusCode::NO_CONTENT);
    let r = with(r, ACCESS_CONTROL_ALLOW_METHODS, of("GET, HEAD, POST, PUT, PATCH, DELETE"));
    let r = with(r, ACCESS_CONTROL_ALLOW_HEADERS, of("Authorization, Content-Type, Last-Event-ID"));
    with(r, ACCESS_CONTROL_MAX_AGE, of("600"))
}

/// A response that a page of this origin may read.
fn readable_by(r: Response, origin: HeaderValue) -> Response {
    let exposed = "apus-first-offset, apus-next-offset, apus-end-offset, Retry-After";
    let r = with(r, ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let r = with(r, ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
    with(r, VARY, HeaderValue::from_static("Origin"))
}
