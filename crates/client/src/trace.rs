//! Spans of commands, in the words of OpenTelemetry's conventions for Redis (semantic conventions 1.33, "Redis client
//! operations"). Without the feature `tracing` there is none of this; with it, a span without a subscriber costs a load.
//!
//! A span lasts from the call to the reply and is entered whenever its future is polled. Arguments are in no field:
//! they may be secrets. The level is debug, the target `apus_client`.

use crate::command::Command;
use crate::config::Address;
use crate::error::{Error, ErrorKind, Result};
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// Where a command goes, as far as that is known before it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer<'p> {
    pub(crate) address: Option<&'p Address>,
    pub(crate) database: u32,
}

/// The span of a command.
pub(crate) fn command(command: &Command, peer: Peer<'_>) -> Span {
    let span = tracing::debug_span!(
        target: "apus_client",
        "command",
        otel.name = command.name(),
        otel.kind = "client",
        otel.status_code = Empty,
        db.system.name = "redis",
        db.operation.name = command.name(),
        db.namespace = peer.database.to_string(),
        db.response.status_code = Empty,
        error.type = Empty,
        server.address = Empty,
        server.port = Empty,
    );
    if let Some(address) = peer.address {
        record_address(&span, address);
    }
    span
}

/// The span of several commands that belong together; `what` is `PIPELINE` or `MULTI`.
pub(crate) fn batch(what: &str, commands: &[Command], peer: Peer<'_>) -> Span {
    let name = || match commands {
        [first, rest @ ..] if rest.iter().all(|command| command.name() == first.name()) => {
            format!("{what} {}", first.name())
        }
        _ => what.to_owned(),
    };
    let span = tracing::debug_span!(
        target: "apus_client",
        "batch",
        otel.name = name(),
        otel.kind = "client",
        otel.status_code = Empty,
        db.system.name = "redis",
        db.operation.name = name(),
        db.operation.batch.size = commands.len() as u64,
        db.namespace = peer.database.to_string(),
        db.response.status_code = Empty,
        error.type = Empty,
        server.address = Empty,
        server.port = Empty,
    );
    if let Some(address) = peer.address {
        record_address(&span, address);
    }
    span
}

/// The node of a cluster to which the current span's command goes; the last one counts.
pub(crate) fn record_address(span: &Span, address: &Address) {
    if span.is_disabled() {
        return;
    }
    match address {
        Address::Tcp(host, port) => {
            span.record("server.address", host.as_str());
            span.record("server.port", port);
        }
        Address::Unix(path) => {
            span.record("server.address", path.display().to_string());
        }
    }
}

/// Says in the span what went wrong, if something has.
pub(crate) fn end<T>(span: &Span, result: &Result<T>) {
    let Err(error) = result else { return };
    if span.is_disabled() {
        return;
    }
    span.record("otel.status_code", "ERROR");
    if !error.code().is_empty() {
        span.record("db.response.status_code", error.code());
    }
    span.record("error.type", kind(error));
}

/// A word of few, as `error.type` must be.
fn kind(error: &Error) -> &str {
    match error.kind() {
        ErrorKind::Server => error.code(),
        ErrorKind::Connection => "connection",
        ErrorKind::Timeout => "timeout",
        ErrorKind::Protocol => "protocol",
        ErrorKind::Type => "type",
        ErrorKind::Usage => "usage",
        ErrorKind::Closed => "closed",
        ErrorKind::Aborted => "aborted",
    }
}

/// Does something within a span.
pub(crate) async fn within<T>(span: Span, what: impl Future<Output = Result<T>>) -> Result<T> {
    let result = what.instrument(span.clone()).await;
    end(&span, &result);
    result
}
