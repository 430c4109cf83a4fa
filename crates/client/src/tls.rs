//! TLS by rustls with ring.

#[cfg(feature = "tls")]
mod rustls_tls {
    use crate::error::{Error, Result};
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, RootCertStore};
    use std::io;
    use std::sync::Arc;
    use tokio::net::TcpStream;
    use tokio_rustls::client::TlsStream;

    /// How a server is authenticated, and we to it.
    #[derive(Clone, Debug)]
    pub struct Tls(Arc<ClientConfig>);

    impl Tls {
        /// The certificate authorities that the system trusts.
        ///
        /// # Errors
        ///
        /// The system has none.
        pub fn system() -> Result<Self> {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(Error::usage("the system trusts no certificate authority"));
            }
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| Error::usage(format!("TLS: {error}")))?
                .with_root_certificates(roots)
                .with_no_client_auth();
            Ok(Self(Arc::new(config)))
        }

        /// A configuration of rustls's: authorities of one's own, a client's certificate.
        #[must_use]
        pub fn new(config: Arc<ClientConfig>) -> Self {
            Self(config)
        }

        pub(crate) async fn handshake(
            &self,
            host: &str,
            stream: TcpStream,
        ) -> io::Result<TlsStream<TcpStream>> {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let connector = tokio_rustls::TlsConnector::from(self.0.clone());
            connector.connect(name, stream).await
        }
    }
}

#[cfg(feature = "tls")]
pub use rustls_tls::Tls;

/// There is no TLS without the feature `tls`, and so no value of this type.
#[cfg(not(feature = "tls"))]
#[derive(Clone, Debug)]
pub enum Tls {}

#[cfg(not(feature = "tls"))]
impl Tls {
    pub(crate) fn system() -> crate::Result<Self> {
        Err(crate::Error::usage("rediss:// needs the feature `tls` of apus-client"))
    }
}
