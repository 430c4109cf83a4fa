//! Which protocols and ciphers are offered, by the names that OpenSSL and redis.conf have for them.

use rustls::crypto::{CryptoProvider, ring};
use rustls::{CipherSuite, SupportedCipherSuite, SupportedProtocolVersion};

use crate::{Error, provider};

/// Protocol versions that are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocols {
    /// TLS 1.2.
    pub v12: bool,
    /// TLS 1.3.
    pub v13: bool,
}

impl Protocols {
    fn versions(self) -> Vec<&'static SupportedProtocolVersion> {
        let v13 = self.v13.then_some(&rustls::version::TLS13);
        v13.into_iter().chain(self.v12.then_some(&rustls::version::TLS12)).collect()
    }
}

/// What is offered, with what was asked for and cannot be.
#[derive(Clone, Debug)]
pub struct Choice {
    pub(crate) provider: CryptoProvider,
    pub(crate) versions: Vec<&'static SupportedProtocolVersion>,
    /// What the options name and the library lacks, one text for each.
    pub lacking: Vec<String>,
}

/// OpenSSL's name and the library's, in the order of preference: the fastest first on processors with AES, as
/// OpenSSL has them.
const V13: [(&str, CipherSuite); 3] = [
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
];
const V12: [(&str, CipherSuite); 6] = [
    ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
];

impl Choice {
    /// What `tls-protocols`, `tls-ciphers` and `tls-ciphersuites` say; an empty text is the default.
    ///
    /// # Errors
    /// A word is unknown, or nothing is left that could be offered.
    pub fn new(protocols: &str, ciphers: &str, suites: &str) -> Result<Self, Error> {
        let mut lacking = Vec::new();
        let protocols = choose_protocols(protocols, &mut lacking)?;
        let v12 = choose_ciphers(ciphers, &mut lacking)?;
        let v13 = choose_suites(suites, &mut lacking)?;
        let named = |name: &CipherSuite| -> Option<SupportedCipherSuite> {
            ring::ALL_CIPHER_SUITES.iter().find(|s| s.suite() == *name).copied()
        };
        let mut provider = provider();
        provider.cipher_suites = v13.iter().chain(&v12).filter_map(named).collect();
        Ok(Self { provider, versions: protocols.versions(), lacking })
    }
}

fn choose_protocols(text: &str, lacking: &mut Vec<String>) -> Result<Protocols, Error> {
    if text.trim().is_empty() {
        return Ok(Protocols { v12: true, v13: true });
    }
    let mut chosen = Protocols { v12: false, v13: false };
    for word in text.split_whitespace() {
        match word.to_ascii_lowercase().as_str() {
            "tlsv1.2" => chosen.v12 = true,
            "tlsv1.3" => chosen.v13 = true,
            "tlsv1" | "tlsv1.1" => lacking.push(format!(
                "tls-protocols: {word} is not offered, it is not safe; TLSv1.2 and TLSv1.3 are"
            )),
            _ => {
                return Err(Error::Setup(format!(
                    "Invalid tls-protocols specified. Use a combination of 'TLSv1.2' and 'TLSv1.3'; '{word}' is none of them"
                )));
            }
        }
    }
    if !chosen.v12 && !chosen.v13 {
        return Err(Error::Setup(format!(
            "tls-protocols '{text}' has no version that is offered: TLSv1.2 and TLSv1.3 are"
        )));
    }
    Ok(chosen)
}

/// The library's ciphers that a word of OpenSSL's language stands for; none when it is unknown here.
fn meant(word: &str) -> Option<Vec<CipherSuite>> {
    let that = |f: &dyn Fn(&str) -> bool| {
        V12.iter().filter(|(name, _)| f(name)).map(|(_, suite)| *suite).collect::<Vec<_>>()
    };
    let upper = word.to_ascii_uppercase();
    let all = that(&|name| match upper.as_str() {
        "ALL" | "DEFAULT" | "HIGH" | "TLSV1.2" | "ECDHE" | "EECDH" | "KECDHE" | "KEECDH"
        | "AEAD" => true,
        "AES" => name.contains("-AES"),
        "AESGCM" => name.contains("-GCM-"),
        "AES128" => name.contains("-AES128"),
        "AES256" => name.contains("-AES256"),
        "CHACHA20" => name.contains("-CHACHA20"),
        "ECDSA" | "AECDSA" => name.contains("-ECDSA-"),
        "RSA" | "ARSA" => name.contains("-RSA-"),
        "SHA256" => name.ends_with("SHA256") || name.ends_with("POLY1305"),
        "SHA384" => name.ends_with("SHA384"),
        _ => false,
    });
    if !all.is_empty() {
        return Some(all);
    }
    let one =
        that(&|name| name.eq_ignore_ascii_case(word) || iana(name).eq_ignore_ascii_case(word));
    (!one.is_empty()).then_some(one)
}

/// The name in the registry of IANA of one of OpenSSL's.
fn iana(name: &str) -> String {
    let with = name.replace("-AES", "_WITH_AES_").replace("-CHACHA20", "_WITH_CHACHA20");
    let whole = if name.ends_with("POLY1305") { format!("{with}_SHA256") } else { with };
    format!("TLS_{}", whole.replace('-', "_"))
}

/// A list in OpenSSL's language: names and groups that are added, in this order, and with `!` or `-` taken away.
fn choose_ciphers(text: &str, lacking: &mut Vec<String>) -> Result<Vec<CipherSuite>, Error> {
    let all: Vec<CipherSuite> = V12.iter().map(|(_, suite)| *suite).collect();
    if text.trim().is_empty() {
        return Ok(all);
    }
    let (mut chosen, mut never) = (Vec::new(), Vec::new());
    for word in text.split([':', ',', ' ', ';']).filter(|w| !w.is_empty()) {
        if word.starts_with('@') || word.starts_with('+') {
            // Orders and levels concern ciphers that are not there.
            continue;
        }
        if let Some(banned) = word.strip_prefix(['!', '-']) {
            let banned = together(banned).unwrap_or_default();
            chosen.retain(|s| !banned.contains(s));
            if word.starts_with('!') {
                never.extend(banned);
            }
            continue;
        }
        match together(word) {
            Some(suites) => {
                for suite in suites {
                    if !chosen.contains(&suite) && !never.contains(&suite) {
                        chosen.push(suite);
                    }
                }
            }
            None => lacking
                .push(format!("tls-ciphers: {word} is not offered by this server's TLS library")),
        }
    }
    if chosen.is_empty() {
        let names: Vec<&str> = V12.iter().map(|(name, _)| *name).collect();
        return Err(Error::Setup(format!(
            "tls-ciphers '{text}' has no cipher that is offered; these are: {}",
            names.join(":")
        )));
    }
    Ok(chosen)
}

/// Groups with `+` between them: ciphers that are in all.
fn together(word: &str) -> Option<Vec<CipherSuite>> {
    let mut all = word.split('+').map(meant);
    let mut left = all.next()??;
    for other in all {
        let other = other?;
        left.retain(|s| other.contains(s));
    }
    Some(left)
}

fn choose_suites(text: &str, lacking: &mut Vec<String>) -> Result<Vec<CipherSuite>, Error> {
    if text.trim().is_empty() {
        return Ok(V13.iter().map(|(_, suite)| *suite).collect());
    }
    let mut chosen = Vec::new();
    for word in text.split([':', ',', ' ']).filter(|w| !w.is_empty()) {
        match V13.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            Some((_, suite)) if !chosen.contains(suite) => chosen.push(*suite),
            Some(_) => {}
            None => lacking.push(format!(
                "tls-ciphersuites: {word} is not offered by this server's TLS library"
            )),
        }
    }
    if chosen.is_empty() {
        let names: Vec<&str> = V13.iter().map(|(name, _)| *name).collect();
        return Err(Error::Setup(format!(
            "tls-ciphersuites '{text}' has no cipher that is offered; these are: {}",
            names.join(":")
        )));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(ciphers: &str, suites: &str) -> Vec<String> {
        let choice = Choice::new("", ciphers, suites).expect("a choice");
        choice.provider.cipher_suites.iter().map(|s| format!("{:?}", s.suite())).collect()
    }

    #[test]
    fn names_and_groups_as_in_openssl() {
        assert_eq!(suites("", "").len(), 9);
        // The example of redis.conf.
        assert_eq!(suites("DEFAULT:!MEDIUM", "").len(), 9);
        let one = suites("ECDHE-RSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256");
        assert_eq!(one, ["TLS13_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
        assert_eq!(suites("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "").len(), 4);
        assert_eq!(suites("HIGH:!AESGCM", "").len(), 3 + 2);
        assert_eq!(suites("ECDHE+AESGCM", "").len(), 3 + 4);
        assert_eq!(suites("CHACHA20:AES128:!RSA", "").len(), 3 + 2);
    }

    #[test]
    fn what_is_lacking_is_named_and_nothing_at_all_is_an_error() {
        let choice = Choice::new(
            "TLSv1.1 TLSv1.2",
            "AES256-SHA:HIGH",
            "TLS_AES_128_CCM_SHA256:TLS_AES_128_GCM_SHA256",
        );
        let choice = choice.expect("a choice");
        assert_eq!(choice.versions.len(), 1);
        assert_eq!(choice.lacking.len(), 3, "{:?}", choice.lacking);
        let fails = |p, c, s| Choice::new(p, c, s).expect_err("nothing is left").to_string();
        assert!(fails("", "AES256-SHA", "").contains("ECDHE-RSA-AES256-GCM-SHA384"));
        assert!(fails("", "", "TLS_AES_128_CCM_SHA256").contains("TLS_AES_256_GCM_SHA384"));
        assert!(fails("TLSv1.1", "", "").contains("TLSv1.2 and TLSv1.3"));
        assert!(fails("SSLv9", "", "").contains("SSLv9"));
    }
}
