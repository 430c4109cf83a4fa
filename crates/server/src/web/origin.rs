//! Where a request comes from: the client's address, and the scheme and host that it has used, which a proxy in
//! between tells of.
//!
//! Only a peer in `web-trusted-proxies` is believed, and only in the one kind of field that
//! `web-forwarded-header` names: a proxy that sets one kind passes the other on as the client has sent it. Of a
//! list of addresses the last one that is no trusted proxy is the client: everything before it may be invented.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use config::{ForwardedHeader, Networks};
use http1::Head;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) ip: IpAddr,
    /// It speaks TLS.
    pub(crate) tls: bool,
}

impl Peer {
    /// Nobody.
    pub(crate) const NONE: Self = Self { ip: IpAddr::V4(Ipv4Addr::UNSPECIFIED), tls: false };
}

/// See the module's text.
pub(super) struct Origin<'b> {
    pub(super) ip: IpAddr,
    /// `http` or `https`.
    pub(super) scheme: &'static str,
    pub(super) host: Cow<'b, str>,
}

impl<'b> Origin<'b> {
    /// What the connection itself tells.
    pub(super) fn of_peer(peer: Peer, host: &'b str) -> Self {
        let scheme = if peer.tls { "https" } else { "http" };
        Self { ip: peer.ip.to_canonical(), scheme, host: Cow::Borrowed(host) }
    }

    /// What is to be believed.
    pub(super) fn of(
        head: &Head<'b>,
        peer: Peer,
        trusted: &Networks,
        header: ForwardedHeader,
    ) -> Self {
        let mut origin = Self::of_peer(peer, head.host);
        if trusted.is_empty() || !trusted.contain(origin.ip) {
            return origin;
        }
        let told = match header {
            ForwardedHeader::XForwarded => x_forwarded(head, &mut origin.ip, trusted),
            ForwardedHeader::Forwarded => forwarded(head, &mut origin.ip, trusted),
        };
        match told.scheme {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => origin.scheme = "https",
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => origin.scheme = "http",
            _ => {}
        }
        if let Some(host) = told.host.filter(|host| is_host(host)) {
            origin.host = Cow::Owned(host.to_owned());
        }
        origin
    }
}

/// What a proxy tells besides the address.
#[derive(Default)]
struct Told<'b> {
    scheme: Option<&'b str>,
    host: Option<&'b str>,
}

/// The items of all fields with this name, in their order.
fn items<'b>(head: &Head<'b>, name: &str) -> Vec<&'b str> {
    let fields = head.fields().filter(|(n, _)| n.eq_ignore_ascii_case(name));
    let texts = fields.map(|(_, value)| std::str::from_utf8(value).unwrap_or(""));
    texts.flat_map(|text| split(text, ',')).map(str::trim).collect()
}

/// Splits outside of quoted strings.
fn split(text: &str, at: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |c| {
        let ends = c == at && !quoted;
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        ends
    })
}

/// Goes from proxy to proxy, from the last item to the first. Returns how many items from the end the client's is.
fn walk(
    items: &[&str],
    ip: &mut IpAddr,
    trusted: &Networks,
    address: impl Fn(&str) -> Option<IpAddr>,
) -> usize {
    let mut hops = 0;
    for item in items.iter().rev() {
        // One that cannot be read ends what is known.
        let Some(found) = address(item) else { break };
        *ip = found.to_canonical();
        if !trusted.contain(*ip) {
            break;
        }
        hops += 1;
    }
    hops.min(items.len().saturating_sub(1))
}

fn x_forwarded<'b>(head: &Head<'b>, ip: &mut IpAddr, trusted: &Networks) -> Told<'b> {
    let hops = walk(&items(head, "x-forwarded-for"), ip, trusted, node);
    // Proxies that append have as many of these as addresses; others set one.
    let told = |name: &str| {
        let items = items(head, name);
        let at = items.len().checked_sub(1)?.saturating_sub(hops);
        items.get(at).copied()
    };
    Told { scheme: told("x-forwarded-proto"), host: told("x-forwarded-host") }
}

/// RFC 7239.
fn forwarded<'b>(head: &Head<'b>, ip: &mut IpAddr, trusted: &Networks) -> Told<'b> {
    let items = items(head, "forwarded");
    let hops = walk(&items, ip, trusted, |item| node(pair(item, "for")?));
    let Some(item) = items.iter().rev().nth(hops) else { return Told::default() };
    Told { scheme: pair(item, "proto"), host: pair(item, "host") }
}

/// The value of `name=value` or `name="value"` among the pairs of an item.
fn pair<'b>(item: &'b str, name: &str) -> Option<&'b str> {
    split(item, ';').find_map(|pair| {
        let (n, value) = pair.split_once('=')?;
        let value = value.trim();
        let bare = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        n.trim().eq_ignore_ascii_case(name).then_some(bare.unwrap_or(value))
    })
}

/// An address, with or without a port and brackets.
fn node(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|at| at.ip()))
}

fn is_host(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]%~".contains(&b);
    !text.is_empty() && text.len() <= 255 && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http1::{Limits, head};

    fn origin(peer: &str, fields: &str, header: ForwardedHeader) -> String {
        let text = format!("GET / HTTP/1.1\r\nHost: own\r\n{fields}\r\n");
        let head = head::parse(text.as_bytes(), &Limits::default()).expect("good").expect("whole");
        let peer = Peer { ip: peer.parse().expect("an address"), tls: false };
        let trusted = Networks::parse("10.0.0.0/8, ::1").expect("networks");
        let Origin { ip, scheme, host } = Origin::of(&head, peer, &trusted, header);
        format!("{scheme}://{host} {ip}")
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let of = |peer: &str, fields: &str| origin(peer, fields, ForwardedHeader::XForwarded);
        let fields = "X-Forwarded-For: 9.9.9.9, 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop\r\n";
        assert_eq!(of("192.0.2.7", fields), "http://own 192.0.2.7");
        assert_eq!(of("10.1.1.1", fields), "https://shop 192.0.2.1");
        assert_eq!(of("::ffff:10.1.1.1", fields), "https://shop 192.0.2.1");
        assert_eq!(of("10.1.1.1", ""), "http://own 10.1.1.1");
        // Behind two proxies; fields may be repeated.
        let two = "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 192.0.2.1:81,10.2.2.2\r\nX-Forwarded-Proto: gopher, https, http\r\n";
        assert_eq!(of("10.1.1.1", two), "https://own 192.0.2.1");
        assert_eq!(of("::1", "X-Forwarded-For: [2001:db8::1]:80\r\n"), "http://own 2001:db8::1");
        assert_eq!(of("10.1.1.1", "X-Forwarded-For: 10.3.3.3\r\n"), "http://own 10.3.3.3");
        assert_eq!(of("10.1.1.1", "X-Forwarded-For: 192.0.2.1, x\r\n"), "http://own 10.1.1.1");
        assert_eq!(
            of("10.1.1.1", "X-Forwarded-Host: a/b\r\nX-Forwarded-Proto: ftp\r\n"),
            "http://own 10.1.1.1"
        );
        // The other kind is the client's own invention.
        assert_eq!(of("10.1.1.1", "Forwarded: for=9.9.9.9;host=evil\r\n"), "http://own 10.1.1.1");
    }

    #[test]
    fn forwarded_is_read() {
        let of = |fields: &str| origin("10.1.1.1", fields, ForwardedHeader::Forwarded);
        let text = "Forwarded: for=9.9.9.9, For=\"[2001:db8::1]:4711\";proto=https;host=\"shop:81\", for=10.9.9.9;proto=http\r\n";
        assert_eq!(of(text), "https://shop:81 2001:db8::1");
        assert_eq!(of("Forwarded: for=unknown;proto=https\r\n"), "https://own 10.1.1.1");
        assert_eq!(of("Forwarded: for=\"192.0.2.1, for=9.9.9.9\r\n"), "http://own 10.1.1.1");
        assert_eq!(of("X-Forwarded-For: 9.9.9.9\r\n"), "http://own 10.1.1.1");
        assert_eq!(of("Forwarded: \"\\\"=;,;;=\r\nForwarded: \r\n"), "http://own 10.1.1.1");
    }
}
