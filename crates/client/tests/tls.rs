//! TLS: commands, subscriptions and caches through it, and servers that are not who they should be.

mod common;

use apus_client::prelude::*;
use apus_client::{Address, CacheConfig, Config, Event, Tls};
use common::Server;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;
use testing::{TempDir, free_address};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, "authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A certificate of the authority's for this machine, and its key.
fn certificate(authority: &Authority) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["127.0.0.1".into()]).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, "this machine");
    (params.signed_by(&key, authority).expect("signed"), key)
}

/// Trusts an authority, and shows a certificate if there is one.
fn tls(trusted: &Authority, own: Option<(rcgen::Certificate, KeyPair)>) -> Tls {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
            builder
                .with_client_auth_cert(vec![certificate.der().clone()], key)
                .expect("a certificate")
        }
    };
    Tls::new(Arc::new(config))
}

#[test]
fn everything_through_tls() {
    for (kind, asks_for_clients) in
        common::kinds().into_iter().flat_map(|kind| [(kind, false), (kind, true)])
    {
        let (ours, other) = (authority(), authority());
        let (own, key) = certificate(&ours);
        let dir = TempDir::new();
        let file = |name: &str, text: String| dir.write(name, text).display().to_string();
        let port = free_address().expect("a port").port();
        let server = Server::start(
            kind,
            &[
                "--tls-port",
                &port.to_string(),
                "--tls-cert-file",
                &file("own.crt", own.pem()),
                "--tls-key-file",
                &file("own.key", key.serialize_pem()),
                "--tls-ca-cert-file",
                &file("ca.crt", ours.pem()),
                "--tls-auth-clients",
                if asks_for_clients { "yes" } else { "no" },
            ],
        );
        common::runtime().block_on(async {
            let config = |tls| {
                let mut config = Config::default();
                config.address = Address::Tcp("127.0.0.1".into(), port);
                config.tls = Some(tls);
                config.connect_timeout = Duration::from_secs(30);
                config
            };
            let known = || asks_for_clients.then(|| certificate(&ours));
            let client = Client::with_config(config(tls(&ours, known()))).await.expect("connected");
            // Larger than what a socket takes at once.
            let large = "x".repeat(4 << 20);
            client.set("large", &large).await.expect("set");
            assert_eq!(client.get("large").to::<String>().await.expect("get"), large);
            let cache = client.cache(CacheConfig::default()).await.expect("connected");
            assert_eq!(cache.get::<Option<i64>>("k").await.expect("get"), None);
            let mut subscriber = client.subscriber().await.expect("connected");
            subscriber.subscribe(["news"]).await.expect("subscribed");
            client.set("k", 1).await.expect("set");
            client.publish("news", &large).await.expect("published");
            let Event::Message(message) = subscriber.next().await else { panic!("a gap") };
            assert_eq!(message.payload.len(), large.len());
            while cache.get::<Option<i64>>("k").await.expect("get") != Some(1) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let error = Client::with_config(config(tls(&other, known()))).await;
            let error = error.expect_err("a server of another authority").to_string();
            assert!(error.contains("certificate"), "{error}");
            if asks_for_clients {
                Client::with_config(config(tls(&ours, None))).await.expect_err("who are we?");
            }
        });
        drop(server);
    }
}
