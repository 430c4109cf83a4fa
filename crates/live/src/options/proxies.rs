//! Proxies of a configuration, by name.

use super::tree::{Findings, Tree};
use super::types::{ClientTls, Endpoint, Proxy, StatusTransform};
use crate::code::{Disconnect, Error, Refusal};
use std::collections::HashMap;
use std::sync::Arc;

/// The proxy that options refer to unless they name another: the one beside them.
pub(super) const DEFAULT: &str = "default";

/// The proxies of `proxies[]`.
pub(super) fn named(root: &Tree, findings: &mut Findings) -> HashMap<String, Arc<Proxy>> {
    let mut proxies: HashMap<String, Arc<Proxy>> = HashMap::new();
    for item in root.list("proxies") {
        let name = item.text("name");
        let wrong = if !is_name(&name) {
            Some("must have at least two characters of A-Z, a-z, 0-9, `-`, `_`, `.`".to_owned())
        } else if name == DEFAULT {
            Some(format!("must not be `{DEFAULT}`"))
        } else if proxies.contains_key(&name) {
            Some(format!("is {name:?}, which another proxy is, too"))
        } else {
            None
        };
        if let Some(why) = wrong {
            findings.problems.push(format!("`{}` {why}", item.at("name")));
            continue;
        }
        let made = proxy(item, &name, findings);
        proxies.extend(made.map(|proxy| (name, Arc::new(proxy))));
    }
    proxies
}

/// A name of a namespace or proxy, as Centrifugo wants it.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.len() >= 2 && name.bytes().all(is_part)
}

/// The proxy that a namespace refers to with `SERVICE_proxy_name`; `beside` is the one of the name `default`.
pub(super) fn referred(
    namespace: &Tree,
    option: &str,
    beside: &Tree,
    named: &HashMap<String, Arc<Proxy>>,
    findings: &mut Findings,
) -> Option<Arc<Proxy>> {
    let is_enabled = namespace.bool(&format!("{option}_enabled"));
    let name_option = format!("{option}_name");
    let name = namespace.text(&name_option);
    if name != DEFAULT && !named.contains_key(&name) {
        findings
            .problems
            .push(format!("`{}`: there is no proxy {name:?}", namespace.at(&name_option)));
        return None;
    }
    if !is_enabled {
        return None;
    }
    if name == DEFAULT {
        proxy(beside, DEFAULT, findings).map(Arc::new)
    } else {
        named.get(&name).cloned()
    }
}

/// Reads a proxy.
pub(super) fn proxy(tree: &Tree, name: &str, findings: &mut Findings) -> Option<Proxy> {
    let text = tree.text("endpoint");
    let endpoint = match text.split_once(':') {
        Some(("http" | "https", rest)) if rest.len() > 2 && rest.starts_with("//") => {
            Endpoint::Http(text.clone())
        }
        Some(("function", function)) if !function.is_empty() => {
            Endpoint::Function(function.to_owned())
        }
        _ if text.is_empty() => {
            findings.problems.push(format!("`{}` is missing", tree.at("endpoint")));
            return None;
        }
        _ => {
            findings.problems.push(format!(
                "`{}` must begin with http://, https:// or function: (gRPC is not supported, and nobody would decide \
                 in its place)",
                tree.at("endpoint")
            ));
            return None;
        }
    };
    let Some(timeout) = tree.duration("timeout") else {
        findings.problems.push(format!("`{}` must be above zero", tree.at("timeout")));
        return None;
    };
    let lower = |names: Vec<String>| names.iter().map(|name| name.to_lowercase()).collect();
    let http = tree.group("http");
    let static_headers = http.map("static_headers");
    for (header, value) in &static_headers {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if header.is_empty()
            || !header.bytes().all(is_token)
            || value.bytes().any(|byte| byte < b' ' && byte != b'\t')
        {
            findings.problems.push(format!(
                "`{}` has a header that is none: {header:?}",
                http.at("static_headers")
            ));
        }
    }
    Some(Proxy {
        name: name.to_owned(),
        endpoint,
        timeout,
        http_headers: lower(tree.texts("http_headers")),
        emulated_headers: lower(tree.texts("emulated_headers")),
        static_headers,
        binary_encoding: tree.bool("binary_encoding"),
        include_connection_meta: tree.bool("include_connection_meta"),
        status_transforms: transforms(http, findings),
        tls: tls(http.group("tls"), findings),
    })
}

fn transforms(http: &Tree, findings: &mut Findings) -> Vec<StatusTransform> {
    let mut transforms = Vec::new();
    for item in http.list("status_to_code_transforms") {
        let (error, disconnect) = (item.group("to_error"), item.group("to_disconnect"));
        let code = |tree: &Tree| u32::try_from(tree.int("code")).unwrap_or_default();
        let to = match (code(error), code(disconnect)) {
            (0, 0) => Err("needs the code of an error or of a disconnect"),
            (code, 0) => {
                let (message, temporary) = (error.text("message"), error.bool("temporary"));
                Ok((
                    Refusal::Error(Error { code, message: message.clone().into(), temporary }),
                    message,
                ))
            }
            (0, code) => {
                let reason = disconnect.text("reason");
                Ok((
                    Refusal::Disconnect(Disconnect { code, reason: reason.clone().into() }),
                    reason,
                ))
            }
            _ => Err("must not have both an error and a disconnect"),
        };
        let status = u16::try_from(item.int("status_code")).unwrap_or_default();
        match to {
            Err(why) => findings.problems.push(format!("`{}` {why}", item.path)),
            Ok(_) if status == 0 => {
                findings.problems.push(format!("`{}` is missing", item.at("status_code")))
            }
            // What the close frame of a WebSocket can carry.
            Ok((_, text)) if !text.is_ascii() || text.len() > 123 => {
                findings.problems.push(format!(
                    "`{}` has a text that is no ASCII, or longer than 123 bytes",
                    item.path
                ));
            }
            Ok((to, _)) => transforms.push(StatusTransform { status, to }),
        }
    }
    transforms
}

fn tls(tree: &Tree, findings: &mut Findings) -> Option<ClientTls> {
    if !tree.bool("enabled") {
        return None;
    }
    let tls = ClientTls {
        cert: tree.text("cert_pem"),
        key: tree.text("key_pem"),
        server_ca: tree.text("server_ca_pem"),
        server_name: tree.text("server_name"),
        insecure_skip_verify: tree.bool("insecure_skip_verify"),
    };
    if tls.cert.is_empty() != tls.key.is_empty() {
        findings
            .problems
            .push(format!("`{}` needs both `cert_pem` and `key_pem`, or neither", tree.path));
    }
    Some(tls)
}
