//! The server's side: what it shows, what it asks of clients, and how its sessions are resumed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::{ClientCertVerifierBuilder, NoServerSessionStorage, WebPkiClientVerifier};

use rustls::sign::SingleCertAndKey;

use crate::tickets::Memory;
use crate::{Choice, Error, Identity, Session, authorities};

/// Whether clients must show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Asks {
    /// They must.
    #[default]
    Yes,
    /// They need not; one that is shown must be good.
    Optional,
    /// They are not asked.
    No,
}

/// What the options of a port say.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Certificate and those between it and its authority.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The password of the key, if it is protected.
    pub password: String,
    /// Authorities of clients' certificates, a file …
    pub authority: Option<PathBuf>,
    /// … and a directory.
    pub authorities: Option<PathBuf>,
    /// Whether clients must show a certificate.
    pub asks: Asks,
    /// Protocol versions, as in `tls-protocols`.
    pub protocols: String,
    /// Ciphers up to TLS 1.2, as in `tls-ciphers`.
    pub ciphers: String,
    /// Ciphers of TLS 1.3, as in `tls-ciphersuites`.
    pub suites: String,
    /// The server's order of ciphers counts, not the client's.
    pub prefers: bool,
    /// Sessions that are kept for being resumed, 0 for no bound; none for no resumption.
    pub resume: Option<usize>,
    /// Seconds for which a session can be resumed.
    pub resume_seconds: u64,
}

/// A port's side of TLS, ready for use. It does not change: a change of options makes another one.
#[derive(Clone, Debug)]
pub struct Server {
    config: Arc<ServerConfig>,
    identity: Identity,
    /// What the options name and the library lacks, one text for each.
    pub lacking: Vec<String>,
}

impl Server {
    /// Reads the files and checks everything.
    ///
    /// # Errors
    /// A file is not good, or an option; the text says which.
    pub fn new(o: &ServerOptions) -> Result<Self, Error> {
        let need = |path: &Path, option: &str| match path.as_os_str().is_empty() {
            true => Err(Error::Setup(format!("No {option} configured!"))),
            false => Ok(()),
        };
        need(&o.certificate, "tls-cert-file")?;
        need(&o.key, "tls-key-file")?;
        let choice = Choice::new(&o.protocols, &o.ciphers, &o.suites)?;
        let identity = Identity::read(&o.certificate, &o.key, &o.password)?;
        let provider = Arc::new(choice.provider);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&choice.versions)
            .map_err(|e| Error::Setup(format!("protocols and ciphers do not fit: {e}")))?;
        let builder = match o.asks {
            Asks::No => builder.with_no_client_auth(),
            asks => {
                if o.authority.is_none() && o.authorities.is_none() {
                    return Err(Error::Setup(
                        "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when \
                         tls-auth-clients is enabled!"
                            .into(),
                    ));
                }
                let roots = authorities(o.authority.as_deref(), o.authorities.as_deref())?;
                let verifier: ClientCertVerifierBuilder =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = match asks {
                    Asks::Optional => verifier.allow_unauthenticated(),
                    _ => verifier,
                };
                let verifier = verifier.build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|e| Error::Setup(format!("tls-ca-cert-file: {e}")))?,
                )
            }
        };
        let resolver = SingleCertAndKey::from((*identity.key).clone());
        let mut config = builder.with_cert_resolver(Arc::new(resolver));
        config.ignore_client_order = o.prefers;
        config.session_storage = match o.resume {
            Some(max) => Arc::new(Memory::new(max, Duration::from_secs(o.resume_seconds))),
            None => {
                config.send_tls13_tickets = 0;
                Arc::new(NoServerSessionStorage {})
            }
        };
        Ok(Self { config: Arc::new(config), identity, lacking: choice.lacking })
    }

    /// Checks that its certificate is valid at present.
    ///
    /// # Errors
    /// The certificate has expired, or is not valid yet.
    pub fn check_time(&self) -> Result<(), Error> {
        self.identity.check_time()
    }

    /// A session for a new connection.
    ///
    /// # Errors
    /// None that is to be expected: everything has been checked.
    pub fn session(&self) -> Result<Session, Error> {
        Session::server(Arc::clone(&self.config))
    }

    /// The configuration of rustls, for libraries that take one, with the protocols above TLS that are spoken.
    pub fn config_for(&self, protocols: &[&str]) -> Arc<ServerConfig> {
        let mut config = (*self.config).clone();
        config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        Arc::new(config)
    }
}
