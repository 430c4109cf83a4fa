//! Certificates, private keys and authorities from files in PEM, and what certificates say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use spki::ObjectIdentifier;
use spki::der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use spki::der::{DateTime, Decode, Reader, Result as DerResult, SliceReader, Tag, Tagged};

use crate::{Error, provider};

/// A certificate with its key.
#[derive(Clone, Debug)]
pub struct Identity {
    pub(crate) key: Arc<CertifiedKey>,
    file: PathBuf,
}

/// The names in a certificate's subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Common names, as bytes of UTF-8, in their order.
    pub common: Vec<String>,
}

fn setup(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::Setup(format!("{}: {what}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    /// Far above any chain; a mistyped name of a device or a data file must not fill the memory.
    const BYTES_MAX: u64 = 4 << 20;
    let meta = std::fs::metadata(path).map_err(|e| setup(path, e))?;
    if meta.len() > BYTES_MAX {
        return Err(setup(path, "this is too large for a file of certificates or keys"));
    }
    std::fs::read(path).map_err(|e| setup(path, e))
}

impl Identity {
    /// Reads a certificate, with those between it and its authority behind it, and its key. `password` opens a
    /// protected key; an empty one is none.
    ///
    /// # Errors
    /// A file cannot be read or has not what it should, or the two do not belong together.
    pub fn read(certificate: &Path, key: &Path, password: &str) -> Result<Self, Error> {
        let chain = certificates(certificate)?;
        let der = private_key(key, password)?;
        let signing = provider().key_provider.load_private_key(der).map_err(|_| {
            setup(key, "keys of this kind or length are not supported; use ECDSA (P-256, P-384), Ed25519, or RSA of 2048 to 8192 bits")
        })?;
        let pair = CertifiedKey::new(chain, signing);
        match pair.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
            Err(_) => {
                let text = format!("this is not the key of {}", certificate.display());
                return Err(setup(key, text));
            }
        }
        // Its form is checked by the first handshake otherwise.
        names_of(&pair.cert[0]).map_err(|e| setup(certificate, e))?;
        Ok(Self { key: Arc::new(pair), file: certificate.to_owned() })
    }

    /// Checks that the certificate is valid at present.
    ///
    /// # Errors
    /// The certificate has expired, or is not valid yet.
    pub fn check_time(&self) -> Result<(), Error> {
        is_valid_now(&self.key.cert[0], SystemTime::now()).map_err(|e| setup(&self.file, e))
    }
}

/// All certificates of a file, one at least.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = read(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if all.is_empty() => Err(setup(path, "there is no certificate in it (PEM)")),
        Ok(all) => Ok(all),
        Err(e) => Err(setup(path, format!("damaged PEM: {e}"))),
    }
}

fn private_key(path: &Path, password: &str) -> Result<PrivateKeyDer<'static>, Error> {
    let text = read(path)?;
    let utf8 = String::from_utf8_lossy(&text);
    if let Some(at) = utf8.find("-----BEGIN ENCRYPTED PRIVATE KEY-----") {
        return open(path, &utf8[at..], password);
    }
    if utf8.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(setup(
            path,
            "the key is protected in an old way that is not supported; convert it with `openssl pkcs8 -topk8 -v2 aes-256-cbc`",
        ));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|e| match e {
        PemError::NoItemsFound => setup(path, "there is no private key in it (PEM)"),
        e => setup(path, format!("damaged PEM: {e}")),
    })
}

/// Opens a key in PKCS #8 that is protected with a password.
fn open(path: &Path, text: &str, password: &str) -> Result<PrivateKeyDer<'static>, Error> {
    if password.is_empty() {
        return Err(setup(path, "the key is protected with a password, and none is configured"));
    }
    const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
    let end = text.find(END).map_or(text.len(), |at| at + END.len());
    let (_, der) = pkcs8::SecretDocument::from_pem(&text[..end])
        .map_err(|e| setup(path, format!("damaged PEM: {e}")))?;
    let sealed = pkcs8::EncryptedPrivateKeyInfo::try_from(der.as_bytes()).map_err(|e| {
        setup(path, format!("the key is protected in a way that is not supported: {e}"))
    })?;
    let key = sealed.decrypt(password).map_err(|_| {
        setup(path, "the key cannot be opened with this password (PBES2 with AES and PBKDF2 or scrypt is supported)")
    })?;
    Ok(PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec())))
}

/// The authorities in a file and in all files of a directory.
///
/// # Errors
/// A certificate cannot be read, or the file has none.
pub fn authorities(file: Option<&Path>, dir: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    let mut add = |path: &Path, all: Vec<CertificateDer<'static>>| {
        all.into_iter().try_for_each(|c| {
            store.add(c).map_err(|e| setup(path, format!("an authority cannot be used: {e}")))
        })
    };
    if let Some(file) = file {
        add(file, certificates(file)?)?;
    }
    if let Some(dir) = dir {
        let mut names: Vec<PathBuf> = std::fs::read_dir(dir)
            .and_then(|all| all.map(|entry| entry.map(|e| e.path())).collect())
            .map_err(|e| setup(dir, e))?;
        names.sort();
        for path in names.iter().filter(|p| p.is_file()) {
            // Lists of revocation and notes may lie beside them.
            let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
            add(path, all.map_err(|e| setup(path, format!("damaged PEM: {e}")))?)?;
        }
    }
    if store.is_empty() {
        let path = file.or(dir).unwrap_or(Path::new("tls-ca-cert-file"));
        return Err(setup(path, "there is no certificate of an authority"));
    }
    Ok(store)
}

/// What a certificate says of itself (RFC 5280, 4.1).
struct Fields {
    not_before: DateTime,
    not_after: DateTime,
    names: Names,
}

fn parse(certificate: &CertificateDer<'_>) -> Result<Fields, String> {
    fields(certificate).map_err(|e| format!("damaged certificate: {e}"))
}

/// Reads the fields up to the subject; those behind it are only passed over.
fn fields(certificate: &[u8]) -> DerResult<Fields> {
    AnyRef::from_der(certificate)?.sequence(|certificate| {
        let fields = certificate.sequence(|fields| {
            if fields.peek_tag()?.is_context_specific() {
                AnyRef::decode(fields)?; // the version
            }
            for _ in ["serial number", "algorithm of the signature", "issuer"] {
                AnyRef::decode(fields)?;
            }
            let (not_before, not_after) = fields.sequence(|v| Ok((time(v)?, time(v)?)))?;
            let names = subject(fields)?;
            while !fields.is_finished() {
                AnyRef::decode(fields)?;
            }
            Ok(Fields { not_before, not_after, names })
        })?;
        for _ in ["algorithm of the signature", "signature"] {
            AnyRef::decode(certificate)?;
        }
        Ok(fields)
    })
}

fn time<'a>(reader: &mut impl Reader<'a>) -> DerResult<DateTime> {
    if reader.peek_tag()? == Tag::UtcTime {
        return UtcTime::decode(reader).map(|t| t.to_date_time());
    }
    GeneralizedTime::decode(reader).map(|t| t.to_date_time())
}

/// The names of a subject: a sequence of sets of pairs.
fn subject<'a>(reader: &mut impl Reader<'a>) -> DerResult<Names> {
    const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
    reader.sequence(|sets| {
        let mut names = Names::default();
        while !sets.is_finished() {
            let set = AnyRef::decode(sets)?;
            set.tag().assert_eq(Tag::Set)?;
            let mut pairs = SliceReader::new(set.value())?;
            while !pairs.is_finished() {
                let (kind, value) = pairs.sequence(|pair| {
                    Ok((ObjectIdentifier::decode(pair)?, AnyRef::decode(pair)?.value().to_vec()))
                })?;
                if kind == COMMON_NAME {
                    // A name in another alphabet than UTF-8 or a part of it is no user's.
                    names.common.extend(String::from_utf8(value).ok());
                }
            }
        }
        Ok(names)
    })
}

/// Whether a certificate is valid at `now`.
///
/// # Errors
/// The certificate is not valid now; the text says why.
pub fn is_valid_now(certificate: &CertificateDer<'_>, now: SystemTime) -> Result<(), String> {
    let Fields { not_before, not_after, .. } = parse(certificate)?;
    if now > not_after.to_system_time() {
        return Err(format!("the certificate has expired on {not_after}"));
    }
    if now < not_before.to_system_time() {
        return Err(format!("the certificate is not valid before {not_before}"));
    }
    Ok(())
}

/// The names in a certificate's subject.
///
/// # Errors
/// The certificate file cannot be parsed.
pub fn names_of(certificate: &CertificateDer<'_>) -> Result<Names, String> {
    parse(certificate).map(|fields| fields.names)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};
    use rustls::pki_types::CertificateDer;

    use super::names_of;

    fn certificate() -> CertificateDer<'static> {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::OrganizationName, "Birds");
        params.distinguished_name.push(DnType::CommonName, "swift");
        params.distinguished_name.push(DnType::CountryName, "PT");
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("signed").der().clone()
    }

    #[test]
    fn the_common_name_is_found_among_others() {
        assert_eq!(names_of(&certificate()).expect("names").common, ["swift"]);
    }

    #[test]
    fn a_cut_or_changed_certificate_is_refused_or_read() {
        let whole = certificate();
        for end in 0..whole.len() {
            let cut = CertificateDer::from(&whole[..end]);
            assert!(names_of(&cut).is_err(), "{end} bytes");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.to_vec();
                changed[at] ^= 1 << bit;
                // Either is right, but it must return.
                let _ = names_of(&CertificateDer::from(changed));
            }
        }
        let longer = [&whole[..], &[0]].concat();
        assert!(names_of(&CertificateDer::from(longer)).is_err());
    }
}
