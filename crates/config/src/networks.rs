//! Networks by their addresses and prefixes: `10.0.0.0/8`, `fd00::/8`, `127.0.0.1`.

use std::net::{IpAddr, Ipv6Addr};

/// Networks at most in one list.
const NETWORKS_MAX: usize = 1000;

/// A list of networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<(u128, u32)>);

/// An address of any kind as one of version 6: one of version 4 as `::ffff:a.b.c.d`.
fn wide(ip: IpAddr) -> u128 {
    let wide: Ipv6Addr = match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    u128::from(wide)
}

fn mask(prefix: u32) -> u128 {
    u128::MAX.checked_shl(128 - prefix).unwrap_or(0)
}

impl Networks {
    /// Networks with commas or blanks between them; none: the text is something else. Bits behind the prefix
    /// do not count.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        let all: Vec<_> = words.take(NETWORKS_MAX + 1).map(network).collect::<Option<_>>()?;
        (all.len() <= NETWORKS_MAX).then_some(Self(all))
    }

    /// Whether an address is in one of them.
    #[must_use]
    pub fn contain(&self, ip: IpAddr) -> bool {
        let ip = wide(ip);
        self.0.iter().any(|(network, prefix)| ip & mask(*prefix) == *network)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn network(word: &str) -> Option<(u128, u32)> {
    let (ip, prefix) = match word.split_once('/') {
        Some((ip, prefix)) => {
            let digits = prefix.len() <= 3 && prefix.bytes().all(|b| b.is_ascii_digit());
            (ip, Some(prefix.parse::<u32>().ok().filter(|_| digits)?))
        }
        None => (word, None),
    };
    let ip: IpAddr = ip.parse().ok()?;
    let own = if ip.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.unwrap_or(own);
    if prefix > own {
        return None;
    }
    let prefix = prefix + 128 - own;
    Some((wide(ip) & mask(prefix), prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_their_networks() {
        let all = Networks::parse("10.1.2.3/8, 127.0.0.1 fd00::/8,2001:db8::1").expect("networks");
        for (ip, wanted) in [
            ("10.255.0.1", true),
            ("11.0.0.1", false),
            ("127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("127.0.0.2", false),
            ("fdff::1", true),
            ("fe00::1", false),
            ("2001:db8::1", true),
            ("2001:db8::2", false),
        ] {
            assert_eq!(all.contain(ip.parse().expect("an address")), wanted, "{ip}");
        }
        let any = Networks::parse("0.0.0.0/0").expect("a network");
        assert!(any.contain("1.2.3.4".parse().expect("an address")));
        assert!(!any.contain("::1".parse().expect("an address")));
        assert!(Networks::parse("::/0").expect("all").contain("::1".parse().expect("an address")));
        assert!(Networks::parse("").expect("none").is_empty());
        for bad in ["x", "10.0.0.0/33", "::/129", "1.2.3", "1.2.3.4/", "1.2.3.4/-1", "1.2.3.4/+8"] {
            assert_eq!(Networks::parse(bad), None, "{bad}");
        }
    }
}
