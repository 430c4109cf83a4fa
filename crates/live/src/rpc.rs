//! Calls of clients: which proxy a method belongs to.

use crate::code::Error;
use crate::options::{Options, Proxy};
use std::sync::Arc;

/// What a call comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// The method that measures latency: the reply is empty, at once.
    Ping,
    /// The proxy is asked.
    Proxy(Arc<Proxy>),
}

/// Decides on an rpc command.
///
/// # Errors
/// [`Error::METHOD_NOT_FOUND`]: no proxy is configured for any method, or there is no such namespace;
/// [`Error::NOT_AVAILABLE`]: the namespace has no proxy.
pub fn call(options: &Options, method: &str) -> Result<Call, Error> {
    let rpc = &options.rpc;
    if rpc.ping_method.as_deref() == Some(method) {
        return Ok(Call::Ping);
    }
    let has_proxies = rpc.without_namespace.proxy.is_some()
        || rpc.namespaces.values().any(|one| one.proxy.is_some());
    if !has_proxies {
        return Err(Error::METHOD_NOT_FOUND);
    }
    let boundary = rpc.namespace_boundary.as_str();
    let namespace = if boundary.is_empty() { None } else { method.split_once(boundary) };
    let namespace = match namespace {
        None | Some(("", _)) => &rpc.without_namespace,
        Some((name, _)) => rpc.namespaces.get(name).ok_or(Error::METHOD_NOT_FOUND)?,
    };
    namespace.proxy.clone().map(Call::Proxy).ok_or(Error::NOT_AVAILABLE)
}
