//! TLS as the options say: one certificate for RESP, the same or another for each HTTP port, and the client's side
//! for links that the server makes.
//!
//! The files are read when an option is set and when the server gets SIGHUP. What was read replaces what is in use as
//! a whole; connections keep that with which they began. Files that cannot be used, or a certificate that has
//! expired, leave everything as it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use config::{Config, Id};
use engine::log::Log;
use engine::{Purpose, log};
use parking_lot::RwLock;
use tokio_rustls::TlsAcceptor;
use transport::{Asks, Check, Client, ClientOptions, Error, Server, ServerOptions};

/// A port with HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpPort {
    Admin,
    Topics,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Tls {
    resp: RwLock<Option<Arc<Server>>>,
    web: RwLock<Option<Arc<Server>>>,
    /// The web port speaks HTTPS.
    web_is_on: AtomicBool,
    admin: RwLock<Option<TlsAcceptor>>,
    topics: RwLock<Option<TlsAcceptor>>,
    link: RwLock<Option<Arc<Client>>>,
    /// MIGRATE uses TLS.
    cluster: AtomicBool,
    /// The link to a primary uses TLS.
    replication: AtomicBool,
}

/// The options whose change this follows.
pub(crate) fn is_one(id: Id) -> bool {
    use Id::*;
    matches!(
        id,
        TlsCertFile
            | TlsKeyFile
            | TlsKeyFilePass
            | TlsClientCertFile
            | TlsClientKeyFile
            | TlsClientKeyFilePass
            | TlsCaCertFile
            | TlsCaCertDir
            | TlsAuthClients
            | TlsCluster
            | TlsReplication
            | TlsProtocols
            | TlsCiphers
            | TlsCiphersuites
            | TlsPreferServerCiphers
            | TlsSessionCaching
            | TlsSessionCacheSize
            | TlsSessionCacheTimeout
            | AdminTls
            | WebTls
            | WebTlsCertFile
            | WebTlsKeyFile
            | AdminTlsCertFile
            | AdminTlsKeyFile
            | TopicHttpTls
            | TopicHttpTlsCertFile
            | TopicHttpTlsKeyFile
    )
}

fn path(c: &Config, id: Id) -> Option<PathBuf> {
    let text = c.string(id);
    (!text.is_empty()).then(|| PathBuf::from(text))
}

/// What the options say of the port for RESP.
fn of_resp(c: &Config) -> ServerOptions {
    ServerOptions {
        certificate: path(c, Id::TlsCertFile).unwrap_or_default(),
        key: path(c, Id::TlsKeyFile).unwrap_or_default(),
        password: c.string(Id::TlsKeyFilePass),
        authority: path(c, Id::TlsCaCertFile),
        authorities: path(c, Id::TlsCaCertDir),
        asks: match c.chosen(Id::TlsAuthClients) {
            config::TlsAuthClients::Yes => Asks::Yes,
            config::TlsAuthClients::Optional => Asks::Optional,
            config::TlsAuthClients::No => Asks::No,
        },
        protocols: c.string(Id::TlsProtocols),
        ciphers: c.string(Id::TlsCiphers),
        suites: c.string(Id::TlsCiphersuites),
        prefers: c.flag(Id::TlsPreferServerCiphers),
        resume: c.flag(Id::TlsSessionCaching).then(|| c.int(Id::TlsSessionCacheSize) as usize),
        resume_seconds: c.int(Id::TlsSessionCacheTimeout) as u64,
    }
}

/// The same of a port with HTTP: browsers and scrapers bring passwords, not certificates.
fn of_http(c: &Config, certificate: Id, key: Id) -> ServerOptions {
    let mut o = of_resp(c);
    o.asks = Asks::No;
    if let Some(own) = path(c, certificate) {
        o.certificate = own;
        o.key = path(c, key).unwrap_or_default();
    }
    o
}

fn of_link(c: &Config) -> ClientOptions {
    let own = (path(c, Id::TlsClientCertFile), path(c, Id::TlsClientKeyFile));
    let (certificate, password) = match own {
        (Some(file), Some(key)) => (Some((file, key)), c.string(Id::TlsClientKeyFilePass)),
        _ => {
            let both = path(c, Id::TlsCertFile).zip(path(c, Id::TlsKeyFile));
            (both, c.string(Id::TlsKeyFilePass))
        }
    };
    ClientOptions {
        certificate,
        password,
        authority: path(c, Id::TlsCaCertFile),
        authorities: path(c, Id::TlsCaCertDir),
        check: Check::Authority,
        protocols: c.string(Id::TlsProtocols),
        ciphers: c.string(Id::TlsCiphers),
        suites: c.string(Id::TlsCiphersuites),
    }
}

/// What was read, and is not in use yet.
struct Read {
    resp: Option<Arc<Server>>,
    web: Option<Arc<Server>>,
    admin: Option<TlsAcceptor>,
    topics: Option<TlsAcceptor>,
    link: Option<Arc<Client>>,
}

impl Tls {
    /// Reads everything that the options want. `starting`: a certificate that has expired is complained of, and
    /// used: a server that did not start would serve no client.
    ///
    /// # Errors
    /// Something cannot be used, and all is as before. The text has been logged.
    pub(crate) fn follow(&self, c: &Config, log: &Log, starting: bool) -> Result<(), String> {
        let read = read(c, log, starting).inspect_err(|e| {
            log!(log, Warning, "Failed to configure TLS: {}", e);
        })?;
        let Read { resp, web, admin, topics, link } = read;
        *self.resp.write() = resp;
        self.web_is_on.store(web.is_some(), Relaxed);
        *self.web.write() = web;
        *self.admin.write() = admin;
        *self.topics.write() = topics;
        *self.link.write() = link;
        self.cluster.store(c.flag(Id::TlsCluster), Relaxed);
        self.replication.store(c.flag(Id::TlsReplication), Relaxed);
        Ok(())
    }

    /// The side of the port for RESP.
    pub(crate) fn resp(&self) -> Option<Arc<Server>> {
        self.resp.read().clone()
    }

    /// Whether the web port speaks HTTPS.
    pub(crate) fn web_is_on(&self) -> bool {
        self.web_is_on.load(Relaxed)
    }

    /// The side of the web port, if that speaks HTTPS.
    pub(crate) fn web(&self) -> Option<Arc<Server>> {
        self.web.read().clone()
    }

    /// The side of a port with HTTP, if that speaks HTTPS.
    pub(crate) fn http(&self, port: HttpPort) -> Option<TlsAcceptor> {
        match port {
            HttpPort::Admin => self.admin.read().clone(),
            HttpPort::Topics => self.topics.read().clone(),
        }
    }

    /// The client's side of links to other servers, if those for this purpose use TLS.
    pub(crate) fn link(&self, purpose: Purpose) -> Option<Arc<Client>> {
        let wanted = match purpose {
            Purpose::Migrate => &self.cluster,
            Purpose::Replicate => &self.replication,
        };
        if wanted.load(Relaxed) { self.link.read().clone() } else { None }
    }
}

fn read(c: &Config, log: &Log, starting: bool) -> Result<Read, String> {
    let make = |o: &ServerOptions, name: &str| -> Result<Server, String> {
        let server = Server::new(o).map_err(|e: Error| format!("{name}: {e}"))?;
        if let Err(e) = server.check_time() {
            if !starting {
                return Err(format!("{name}: {e}"));
            }
            log!(log, Warning, "{}: {}; clients will refuse it", name, e);
        }
        Ok(server)
    };
    let resp = (c.int(Id::TlsPort) != 0).then(|| make(&of_resp(c), "tls-port")).transpose()?;
    for text in resp.iter().flat_map(|s| &s.lacking) {
        log!(log, Warning, "{}", text);
    }
    let http = |on: Id, certificate: Id, key: Id, name: &str| {
        let on = c.flag(on);
        let server = on.then(|| make(&of_http(c, certificate, key), name)).transpose()?;
        Ok::<_, String>(server.map(|s| TlsAcceptor::from(s.config_for(&["http/1.1"]))))
    };
    let web = of_http(c, Id::WebTlsCertFile, Id::WebTlsKeyFile);
    let web = c.flag(Id::WebTls).then(|| make(&web, "web-tls")).transpose()?.map(Arc::new);
    let admin = http(Id::AdminTls, Id::AdminTlsCertFile, Id::AdminTlsKeyFile, "admin-tls")?;
    let topics = http(
        Id::TopicHttpTls,
        Id::TopicHttpTlsCertFile,
        Id::TopicHttpTlsKeyFile,
        "topic-http-tls",
    )?;
    let wanted = [(Id::TlsCluster, "tls-cluster"), (Id::TlsReplication, "tls-replication")];
    let wanted = wanted.into_iter().find(|(id, _)| c.flag(*id));
    let link = wanted.map(|(_, name)| Client::new(&of_link(c)).map_err(|e| format!("{name}: {e}")));
    let link = link.transpose()?;
    Ok(Read { resp: resp.map(Arc::new), web, admin, topics, link: link.map(Arc::new) })
}
