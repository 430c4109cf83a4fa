//! TLS towards applications.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName,
};
use hyper_util::client::legacy::connect::HttpConnector;
use live::options::ClientTls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Connections with some options of TLS. Those that are none have the system's authorities.
pub(crate) fn connector(
    http: HttpConnector,
    options: Option<&ClientTls>,
) -> Result<HttpsConnector<HttpConnector>, String> {
    let none = ClientTls::default();
    let options = options.unwrap_or(&none);
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    let builder = if options.insecure_skip_verify {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
    } else {
        builder.with_root_certificates(authorities(&options.server_ca)?)
    };
    let config = if options.cert.is_empty() {
        builder.with_no_client_auth()
    } else {
        let (chain, key) = (pem("cert_pem", &options.cert)?, pem("key_pem", &options.key)?);
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|e| format!("`key_pem`: {e}"))?;
        let chain = certificates("cert_pem", &chain)?;
        builder.with_client_auth_cert(chain, key).map_err(|e| format!("`cert_pem`: {e}"))?
    };
    let names: Arc<dyn ResolveServerName + Send + Sync> = if options.server_name.is_empty() {
        Arc::new(DefaultServerNameResolver::default())
    } else {
        let name = ServerName::try_from(options.server_name.clone()).map_err(|_| {
            format!("`server_name`: {:?} is not the name of a server", options.server_name)
        })?;
        Arc::new(FixedServerNameResolver::new(name))
    };
    Ok(HttpsConnector::new(http, Arc::new(config), false, names))
}

/// PEM that is given as it is, in base64, or as the path of a file.
fn pem(option: &str, text: &str) -> Result<Vec<u8>, String> {
    if text.contains("-----BEGIN") {
        return Ok(text.as_bytes().to_vec());
    }
    match STANDARD.decode(text.trim()) {
        Ok(bytes) if bytes.starts_with(b"-----BEGIN") => Ok(bytes),
        _ => std::fs::read(text).map_err(|e| format!("`{option}`: {text}: {e}")),
    }
}

fn certificates(option: &str, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let all = all.map_err(|e| format!("`{option}`: {e}"))?;
    if all.is_empty() { Err(format!("`{option}` has no certificate")) } else { Ok(all) }
}

fn authorities(text: &str) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    if text.is_empty() {
        // What cannot be read of them is left out: others may do.
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(store);
    }
    for certificate in certificates("server_ca_pem", &pem("server_ca_pem", text)?)? {
        store.add(certificate).map_err(|e| format!("`server_ca_pem`: {e}"))?;
    }
    Ok(store)
}

/// Takes every certificate: the option says so.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
