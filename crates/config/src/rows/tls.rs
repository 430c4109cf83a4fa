//! Rows: TLS.

macro_rules! tls_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Tls {

TlsPort: "tls-port", [], Int(0, 65535), "0", RUNTIME, Effective,
    "Port to listen on for TLS; 0 opens none. `port 0` makes it the only one.";
TlsCertFile: "tls-cert-file", [], Optional(any), "", VOLATILE, Effective,
    "Certificate (PEM) the server shows.";
TlsKeyFile: "tls-key-file", [], Optional(any), "", VOLATILE, Effective,
    "Private key (PEM) of the server's certificate.";
TlsKeyFilePass: "tls-key-file-pass", [], Optional(any), "", SENSITIVE, Effective,
    "Password of the server's private key (PKCS #8, PBES2).";
TlsClientCertFile: "tls-client-cert-file", [], Optional(any), "", VOLATILE, Effective,
    "Certificate (PEM) shown to other servers; empty uses that of tls-cert-file.";
TlsClientKeyFile: "tls-client-key-file", [], Optional(any), "", VOLATILE, Effective,
    "Private key for tls-client-cert-file.";
TlsClientKeyFilePass: "tls-client-key-file-pass", [], Optional(any), "", SENSITIVE, Effective,
    "Password of tls-client-key-file.";
TlsDhParamsFile: "tls-dh-params-file", [], Optional(any), "", VOLATILE, Accepted(NO_DH),
    "Diffie-Hellman parameters for old TLS libraries.";
TlsCaCertFile: "tls-ca-cert-file", [], Optional(any), "", VOLATILE, Effective,
    "File of authorities that client certificates are checked against.";
TlsCaCertDir: "tls-ca-cert-dir", [], Optional(any), "", VOLATILE, Effective,
    "Directory of authorities that client certificates are checked against.";
TlsAuthClients: "tls-auth-clients", [], Choice(TlsAuthClients::NAMES), "yes", RUNTIME, Effective,
    "Whether clients must show a certificate: yes, no, or optional.";
TlsAuthClientsUser: "tls-auth-clients-user", [], Choice(TlsAuthClientsUser::NAMES), "off", RUNTIME, Effective,
    "CN: a client whose certificate has the name of a user as its common name is that user, without a password. Checked certificates only.";
TlsReplication: "tls-replication", [], Bool, "no", RUNTIME, Effective,
    "Uses TLS towards the primary.";
TlsCluster: "tls-cluster", [], Bool, "no", RUNTIME, Effective,
    "Uses TLS for connections to other nodes: those of MIGRATE.";
TlsProtocols: "tls-protocols", [], Optional(any), "", RUNTIME, Effective,
    "TLS versions to speak, separated by spaces: TLSv1.2 and TLSv1.3; empty for both.";
TlsCiphers: "tls-ciphers", [], Optional(any), "", RUNTIME, Effective,
    "Ciphers allowed in TLS 1.2, as a list of OpenSSL's names; empty for all that the library has.";
TlsCiphersuites: "tls-ciphersuites", [], Optional(any), "", RUNTIME, Effective,
    "Cipher suites allowed in TLS 1.3, with colons between them; empty for all that the library has.";
TlsPreferServerCiphers: "tls-prefer-server-ciphers", [], Bool, "no", RUNTIME, Effective,
    "Lets the server's order of ciphers win over the client's.";
TlsSessionCaching: "tls-session-caching", [], Bool, "yes", RUNTIME, Effective,
    "Lets clients resume sessions.";
TlsSessionCacheSize: "tls-session-cache-size", [], Int(0, INT_MAX), "20480", RUNTIME, Effective,
    "Sessions kept for resumption; 0 sets no bound.";
TlsSessionCacheTimeout: "tls-session-cache-timeout", [], Int(0, INT_MAX), "300", RUNTIME, Effective,
    "Seconds for which a session can be resumed.";
TlsHandshakeTimeout: "tls-handshake-timeout", [], Int(1, 3600), "30", RUNTIME, Effective,
    "Seconds that a client may take for its handshake. Only Apus has this option.";
    } } };
}
