//! Keys that sign tokens, and the algorithms that each may be used with.

use crate::json::{Object, unbase64};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p521::ecdsa::signature::Verifier as _;
use ring::signature::{self, UnparsedPublicKey};
use spki::SubjectPublicKeyInfoOwned;
use spki::der::asn1::{AnyRef, ObjectIdentifier, UintRef};
use spki::der::{Decode as _, Encode as _, Reader as _, Result as DerResult, SliceReader};

/// An algorithm that a token may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are those of RFC 7518 and RFC 8037")]
pub enum Algorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Es256,
    Es384,
    Es512,
    EdDsa,
}

const ALGORITHMS: [(&str, Algorithm); 10] = [
    ("HS256", Algorithm::Hs256),
    ("HS384", Algorithm::Hs384),
    ("HS512", Algorithm::Hs512),
    ("RS256", Algorithm::Rs256),
    ("RS384", Algorithm::Rs384),
    ("RS512", Algorithm::Rs512),
    ("ES256", Algorithm::Es256),
    ("ES384", Algorithm::Es384),
    ("ES512", Algorithm::Es512),
    ("EdDSA", Algorithm::EdDsa),
];

impl Algorithm {
    /// The algorithm of this name; `None` for `none`, for RSA-PSS, and for what is unknown.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }
}

/// Smallest modulus of an RSA key, in bits: below, signatures can be forged with effort.
const RSA_BITS_MIN: usize = 2048;
/// Largest modulus, in bits: above, a signature costs too much to check.
const RSA_BITS_MAX: usize = 8192;

/// A key: an HMAC secret or a public key.
#[derive(Clone)]
pub enum Key {
    /// A secret, made ready for each HMAC.
    Hmac(Box<[ring::hmac::Key; 3]>),
    /// An RSA key: modulus and exponent, big-endian without leading zeros.
    Rsa {
        /// The modulus.
        n: Vec<u8>,
        /// The exponent.
        e: Vec<u8>,
    },
    /// A point on P-256, uncompressed.
    P256(Vec<u8>),
    /// A point on P-384, uncompressed.
    P384(Vec<u8>),
    /// A point on P-521.
    P521(Box<p521::ecdsa::VerifyingKey>),
    /// An Ed25519 key.
    Ed25519(Vec<u8>),
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind())
    }
}

impl Key {
    /// An HMAC secret.
    #[must_use]
    pub fn hmac(secret: &[u8]) -> Self {
        let algorithms =
            [ring::hmac::HMAC_SHA256, ring::hmac::HMAC_SHA384, ring::hmac::HMAC_SHA512];
        Self::Hmac(Box::new(algorithms.map(|algorithm| ring::hmac::Key::new(algorithm, secret))))
    }

    /// A public key in PEM: `PUBLIC KEY`, or a certificate.
    ///
    /// # Errors
    /// A text: why it is no key, or none that is supported.
    pub fn from_pem(text: &str) -> Result<Self, String> {
        let der = pem(text).ok_or("it is not PEM")?;
        let info = SubjectPublicKeyInfoOwned::from_der(&der)
            .or_else(|error| key_of_certificate(&der).map_err(|_| error))
            .map_err(|error| format!("it is neither a public key nor a certificate: {error}"))?;
        Self::from_info(&info)
    }

    fn from_info(info: &SubjectPublicKeyInfoOwned) -> Result<Self, String> {
        const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
        const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
        const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
        const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
        const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
        const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
        let bytes = info.subject_public_key.as_bytes().ok_or("its bits are no bytes")?;
        match info.algorithm.oid {
            RSA => {
                let (n, e) =
                    rsa_numbers(bytes).map_err(|error| format!("it is no RSA key: {error}"))?;
                Self::rsa(&n, &e)
            }
            EC => {
                let curve = info.algorithm.parameters.as_ref().map(|any| any.to_der());
                let curve = curve
                    .and_then(Result::ok)
                    .and_then(|der| ObjectIdentifier::from_der(&der).ok());
                match curve {
                    Some(P256) => Self::point("P-256", bytes),
                    Some(P384) => Self::point("P-384", bytes),
                    Some(P521) => Self::point("P-521", bytes),
                    _ => Err("its curve is not P-256, P-384 or P-521".into()),
                }
            }
            ED25519 => Self::ed25519(bytes),
            other => Err(format!("its algorithm {other} is not supported")),
        }
    }

    /// A key of a JWKS document.
    ///
    /// # Errors
    /// A text: why it is no key, or none that is supported.
    pub(crate) fn from_jwk(jwk: &Object<'_>) -> Result<Self, String> {
        let bytes = |name: &str| {
            let text = jwk.string(name)?;
            URL_SAFE_NO_PAD.decode(&text).map_err(|_| format!("its `{name}` is not base64url"))
        };
        match jwk.string("kty")?.as_str() {
            "RSA" => Self::rsa(&bytes("n")?, &bytes("e")?),
            "EC" => {
                let curve = jwk.string("crv")?;
                let point = [&[4][..], &bytes("x")?, &bytes("y")?].concat();
                Self::point(&curve, &point)
            }
            "OKP" if jwk.string("crv")? == "Ed25519" => Self::ed25519(&bytes("x")?),
            other => Err(format!("keys of type {other:?} are not supported")),
        }
    }

    fn rsa(n: &[u8], e: &[u8]) -> Result<Self, String> {
        let trim =
            |bytes: &[u8]| bytes.iter().copied().skip_while(|byte| *byte == 0).collect::<Vec<u8>>();
        let (n, e) = (trim(n), trim(e));
        let bits = n.first().map_or(0, |first| n.len() * 8 - first.leading_zeros() as usize);
        if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) {
            return Err(format!(
                "an RSA key has {RSA_BITS_MIN} to {RSA_BITS_MAX} bits, and this one {bits}"
            ));
        }
        if e.is_empty() || e.len() > 4 {
            return Err("its exponent is not supported".into());
        }
        Ok(Self::Rsa { n, e })
    }

    fn point(curve: &str, point: &[u8]) -> Result<Self, String> {
        let (length, wrong) = (point.len(), || format!("it is no point on {curve}"));
        match (curve, point.first()) {
            ("P-256", Some(4)) if length == 65 => Ok(Self::P256(point.to_vec())),
            ("P-384", Some(4)) if length == 97 => Ok(Self::P384(point.to_vec())),
            ("P-521", Some(4)) => {
                let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point).map_err(|_| wrong())?;
                Ok(Self::P521(Box::new(key)))
            }
            ("P-256" | "P-384", _) => Err(wrong()),
            (other, _) => Err(format!("the curve {other:?} is not supported")),
        }
    }

    fn ed25519(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() == 32 {
            Ok(Self::Ed25519(bytes.to_vec()))
        } else {
            Err("an Ed25519 key has 32 bytes".into())
        }
    }

    /// The kind of key, for logs and errors.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Hmac(_) => "HMAC",
            Self::Rsa { .. } => "RSA",
            Self::P256(_) => "P-256",
            Self::P384(_) => "P-384",
            Self::P521(_) => "P-521",
            Self::Ed25519(_) => "Ed25519",
        }
    }

    /// Whether the signature of a message holds, by an algorithm that belongs to this key.
    #[must_use]
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let ring = |algorithm: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
        };
        let rsa = |parameters: &signature::RsaParameters, n: &[u8], e: &[u8]| {
            signature::RsaPublicKeyComponents { n, e }
                .verify(parameters, message, signature)
                .is_ok()
        };
        match (self, algorithm) {
            (Self::Hmac(keys), Algorithm::Hs256) => {
                ring::hmac::verify(&keys[0], message, signature).is_ok()
            }
            (Self::Hmac(keys), Algorithm::Hs384) => {
                ring::hmac::verify(&keys[1], message, signature).is_ok()
            }
            (Self::Hmac(keys), Algorithm::Hs512) => {
                ring::hmac::verify(&keys[2], message, signature).is_ok()
            }
            (Self::Rsa { n, e }, Algorithm::Rs256) => {
                rsa(&signature::RSA_PKCS1_2048_8192_SHA256, n, e)
            }
            (Self::Rsa { n, e }, Algorithm::Rs384) => {
                rsa(&signature::RSA_PKCS1_2048_8192_SHA384, n, e)
            }
            (Self::Rsa { n, e }, Algorithm::Rs512) => {
                rsa(&signature::RSA_PKCS1_2048_8192_SHA512, n, e)
            }
            (Self::P256(point), Algorithm::Es256) => {
                ring(&signature::ECDSA_P256_SHA256_FIXED, point)
            }
            (Self::P384(point), Algorithm::Es384) => {
                ring(&signature::ECDSA_P384_SHA384_FIXED, point)
            }
            (Self::P521(key), Algorithm::Es512) => p521::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            (Self::Ed25519(bytes), Algorithm::EdDsa) => ring(&signature::ED25519, bytes),
            _ => false,
        }
    }

    /// Whether an algorithm belongs to this key.
    #[must_use]
    pub const fn may(&self, algorithm: Algorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::Hmac(_), Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512)
                | (Self::Rsa { .. }, Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512)
                | (Self::P256(_), Algorithm::Es256)
                | (Self::P384(_), Algorithm::Es384)
                | (Self::P521(_), Algorithm::Es512)
                | (Self::Ed25519(_), Algorithm::EdDsa)
        )
    }
}

/// The public key in a certificate (RFC 5280, 4.1). The fields around it are only passed over.
fn key_of_certificate(der: &[u8]) -> DerResult<SubjectPublicKeyInfoOwned> {
    AnyRef::from_der(der)?.sequence(|certificate| {
        let info = certificate.sequence(|fields| {
            if fields.peek_tag()?.is_context_specific() {
                AnyRef::decode(fields)?; // the version
            }
            for _ in
                ["serial number", "algorithm of the signature", "issuer", "validity", "subject"]
            {
                AnyRef::decode(fields)?;
            }
            let info = SubjectPublicKeyInfoOwned::decode(fields)?;
            while !fields.is_finished() {
                AnyRef::decode(fields)?;
            }
            Ok(info)
        })?;
        for _ in ["algorithm of the signature", "signature"] {
            AnyRef::decode(certificate)?;
        }
        Ok(info)
    })
}

/// Modulus and exponent of PKCS #1's `RSAPublicKey` (RFC 8017, A.1.1).
fn rsa_numbers(der: &[u8]) -> DerResult<(Vec<u8>, Vec<u8>)> {
    let mut reader = SliceReader::new(der)?;
    reader.sequence(|reader| {
        let n = UintRef::decode(reader)?.as_bytes().to_vec();
        Ok((n, UintRef::decode(reader)?.as_bytes().to_vec()))
    })
}

/// The bytes of the first block of PEM in a text.
fn pem(text: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once("-----BEGIN ")?;
    let (label, rest) = rest.split_once("-----")?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    unbase64(&body.split_ascii_whitespace().collect::<String>())
}
