//! Content codings, and which one a client wants. RFC 9110, section 12.5.3.

/// How content is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// As it is.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 7932.
    Brotli,
}

impl Coding {
    /// Its name in Content-Encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
        }
    }
}

/// How well a client likes each coding, in thousandths; 0: not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepts {
    /// gzip.
    pub gzip: u16,
    /// brotli.
    pub brotli: u16,
    /// Content as it is. One that is not spoken of is allowed, and comes last.
    pub identity: u16,
}

impl Accepts {
    /// Nothing but content as it is: what a request without the field gets.
    pub const PLAIN: Self = Self { gzip: 0, brotli: 0, identity: 1000 };

    /// What a field Accept-Encoding says. What cannot be read in it counts as a refusal of its coding.
    #[must_use]
    pub fn of(field: Option<&[u8]>) -> Self {
        let Some(field) = field else { return Self::PLAIN };
        let (mut gzip, mut brotli, mut identity, mut any) = (None, None, None, None);
        for item in field.split(|b| *b == b',') {
            let mut parts = item.split(|b| *b == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let is = |own: &[u8]| name.eq_ignore_ascii_case(own);
            let place = if is(b"gzip") || is(b"x-gzip") {
                &mut gzip
            } else if is(b"br") {
                &mut brotli
            } else if is(b"identity") {
                &mut identity
            } else if is(b"*") {
                &mut any
            } else {
                continue;
            };
            let q = parts.find_map(|p| p.strip_prefix(b"q=").or_else(|| p.strip_prefix(b"Q=")));
            *place = Some(q.map_or(1000, quality));
        }
        Self {
            gzip: gzip.or(any).unwrap_or(0),
            brotli: brotli.or(any).unwrap_or(0),
            // Allowed unless it is refused, by `*`, too.
            identity: identity.unwrap_or(if any == Some(0) { 0 } else { 1 }),
        }
    }

    /// The codings that are allowed and liked at least as much as content as it is, the best first. Of two that
    /// are liked alike, brotli is smaller.
    #[must_use]
    pub fn best(self) -> [Option<Coding>; 2] {
        let fits = |q: u16, coding| (q > 0 && q >= self.identity).then_some(coding);
        let (gzip, brotli) = (fits(self.gzip, Coding::Gzip), fits(self.brotli, Coding::Brotli));
        if self.gzip > self.brotli { [gzip, brotli] } else { [brotli, gzip] }
    }

    /// Whether content in this coding may be sent.
    #[must_use]
    pub fn allows(self, coding: Coding) -> bool {
        match coding {
            Coding::Identity => self.identity > 0,
            Coding::Gzip => self.gzip > 0,
            Coding::Brotli => self.brotli > 0,
        }
    }
}

/// A weight: 0 to 1 with three digits at most. What is none is 0.
fn quality(text: &[u8]) -> u16 {
    let text = std::str::from_utf8(text).unwrap_or("");
    let q = text.parse::<f32>().ok().filter(|q| (0.0..=1.0).contains(q));
    q.map_or(0, |q| (q * 1e3) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_tastes() {
        let best = |field: &str| {
            let [first, second] = Accepts::of(Some(field.as_bytes())).best();
            let name = |coding: Option<Coding>| coding.map_or("-", Coding::name);
            (name(first), name(second))
        };
        assert_eq!(best("gzip, deflate, br, zstd"), ("br", "gzip"));
        assert_eq!(best("gzip;q=1.0, br;q=0.5"), ("gzip", "br"));
        assert_eq!(best("GZIP"), ("gzip", "-"));
        assert_eq!(best("*"), ("br", "gzip"));
        assert_eq!(best("*;q=0.1, gzip;q=0"), ("br", "-"));
        assert_eq!(best("identity;q=0.8, gzip;q=0.5, br;q=0.9"), ("br", "-"));
        assert_eq!(best("identity, gzip;q=0.5"), ("-", "-"));
        assert_eq!(best("gzip;q=x, br;q=2"), ("-", "-"));
        assert_eq!(best(""), ("-", "-"));
        assert_eq!(best("gzip ; q=0.5"), ("gzip", "-"));
        let refuses = |field: &str| !Accepts::of(Some(field.as_bytes())).allows(Coding::Identity);
        assert!(refuses("identity;q=0") && refuses("gzip, *;q=0") && refuses("identity;q=0.000"));
        assert!(!refuses("*;q=0, identity;q=0.1") && !refuses("gzip") && !refuses(""));
        assert_eq!(Accepts::of(None), Accepts::PLAIN);
        assert_eq!(Accepts::PLAIN.best(), [None, None]);
    }
}
