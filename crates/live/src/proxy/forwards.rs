//! Which headers of clients are kept for questions: those that some proxy lists, and no others, for they are kept as
//! long as the connection lives.

use crate::options::{Options, Proxy};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most bytes of headers that are kept of a connection; what does not fit in is left out.
const KEPT_MAX: usize = 16 << 10;

/// Names of headers, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwards {
    /// Of requests, for proxies or because one names the user.
    http: BTreeSet<String>,
    /// Of connect commands.
    emulated: BTreeSet<String>,
}

impl Forwards {
    /// The headers that a configuration lists.
    #[must_use]
    pub fn of(options: &Options) -> Self {
        let mut all = Self::default();
        all.http.extend(options.client.user_id_http_header.clone());
        proxies(options).for_each(|proxy| {
            all.http.extend(proxy.http_headers.iter().cloned());
            all.emulated.extend(proxy.emulated_headers.iter().cloned());
        });
        all
    }

    /// What is kept of the fields of a request. Fields with the same name become one, with commas.
    #[must_use]
    pub fn of_request<'a>(
        &self,
        fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> Vec<(String, String)> {
        if self.http.is_empty() {
            return Vec::new();
        }
        let text =
            |(name, value): (&'a str, &'a [u8])| Some((name, std::str::from_utf8(value).ok()?));
        keep(&self.http, fields.filter_map(text))
    }

    /// What is kept of the headers of a connect command.
    #[must_use]
    pub fn of_command<'a>(
        &self,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Vec<(String, String)> {
        keep(&self.emulated, headers)
    }
}

fn keep<'a>(
    listed: &BTreeSet<String>,
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::new();
    let mut bytes = 0;
    for (name, value) in headers {
        let name = name.to_lowercase();
        if !listed.contains(&name) {
            continue;
        }
        bytes += name.len() + value.len();
        if bytes > KEPT_MAX {
            break;
        }
        match kept.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => {
                known.push_str(if name == "cookie" { "; " } else { ", " });
                known.push_str(value);
            }
            None => kept.push((name, value.to_owned())),
        }
    }
    kept
}

fn proxies(options: &Options) -> impl Iterator<Item = &Arc<Proxy>> {
    let client = &options.client;
    let namespaces =
        options.channel.namespaces.values().chain([&options.channel.without_namespace]);
    let namespaces = namespaces.flat_map(|namespace| {
        [&namespace.subscribe_proxy, &namespace.publish_proxy, &namespace.sub_refresh_proxy]
    });
    let calls = options.rpc.namespaces.values().chain([&options.rpc.without_namespace]);
    [&client.connect_proxy, &client.refresh_proxy]
        .into_iter()
        .chain(namespaces)
        .chain(calls.map(|calls| &calls.proxy))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_headers_are_kept_and_no_others() {
        let text = br#"{"proxies": [
            {"name": "one", "endpoint": "http://one/", "http_headers": ["Cookie", "X-Id"]},
            {"name": "two", "endpoint": "http://two/", "http_headers": ["X-Other"], "emulated_headers": ["X-Own"]},
            {"name": "three", "endpoint": "http://three/", "http_headers": ["X-Unused"]}],
            "channel": {"without_namespace": {"publish_proxy_enabled": true, "publish_proxy_name": "one"}},
            "rpc": {"namespaces": [{"name": "calls", "proxy_enabled": true, "proxy_name": "two"}]}}"#;
        let options = crate::options::load(text, &[]).expect("a configuration").options;
        let forwards = Forwards::of(&options);
        let long = "x".repeat(KEPT_MAX);
        let fields: [(&str, &[u8]); 6] = [
            ("COOKIE", b"a=1"),
            ("Authorization", long.as_bytes()),
            ("cookie", b"b=2"),
            ("x-id", b"\xff"),
            ("X-Other", b"o"),
            ("X-Unused", b"u"),
        ];
        let kept = forwards.of_request(fields.into_iter());
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(kept, [own("cookie", "a=1; b=2"), own("x-other", "o")]);
        let emulated = forwards.of_command([("X-Own", "1"), ("Cookie", "2")].into_iter());
        assert_eq!(emulated, [own("x-own", "1")]);
        assert!(forwards.of_command([("X-Own", &*long)].into_iter()).is_empty());
    }
}
