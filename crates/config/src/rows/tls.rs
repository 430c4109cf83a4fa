//! Rows: TLS.

macro_rules! tls_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Tls {

TlsPort: "tls-port", [], Int(0, 65535), "0", RUNTIME, Refused(NO_TLS_PORT),
    "Port to listen on for TLS; 0 opens none. CONFIG SET refuses any but 0, too.";
TlsCertFile: "tls-cert-file", [], Optional(any), "", VOLATILE, Accepted(NO_TLS),
    "Certificate (PEM) the server shows.";
TlsKeyFile: "tls-key-file", [], Optional(any), "", VOLATILE, Accepted(NO_TLS),
    "Private key (PEM) of the server's certificate.";
TlsKeyFilePass: "tls-key-file-pass", [], Optional(any), "", SENSITIVE, Accepted(NO_TLS),
    "Password of the server's private key.";
TlsClientCertFile: "tls-client-cert-file", [], Optional(any), "", VOLATILE, Accepted(NO_TLS),
    "Certificate shown to other servers; empty uses tls-cert-file.";
TlsClientKeyFile: "tls-client-key-file", [], Optional(any), "", VOLATILE, Accepted(NO_TLS),
    "Private key for tls-client-cert-file.";
TlsClientKeyFilePass: "tls-client-key-file-pass", [], Optional(any), "", SENSITIVE, Accepted(NO_TLS),
    "Password of tls-client-key-file.";
TlsDhParamsFile: "tls-dh-params-file", [], Optional(any), "", VOLATILE, Accepted(NO_TLS),
    "Diffie-Hellman parameters for old TLS libraries.";
TlsCaCertFile: "tls-ca-cert-file", [], Optional(any), "", VOLATILE, Accepted(NO_TLS),
    "File of authorities that client certificates are checked against.";
TlsCaCertDir: "tls-ca-cert-dir", [], Optional(any), "", VOLATILE, Accepted(NO_TLS),
    "Directory of authorities that client certificates are checked against.";
TlsAuthClients: "tls-auth-clients", [], Choice(TlsAuthClients::NAMES), "yes", RUNTIME, Accepted(NO_TLS),
    "Whether clients must show a certificate: yes, no, or optional.";
TlsReplication: "tls-replication", [], Bool, "no", RUNTIME, Accepted(NO_TLS),
    "Uses TLS towards the primary.";
TlsCluster: "tls-cluster", [], Bool, "no", RUNTIME, Accepted(NO_TLS),
    "Uses TLS on the cluster bus.";
TlsProtocols: "tls-protocols", [], Optional(any), "", RUNTIME, Accepted(NO_TLS),
    "TLS versions to speak, separated by spaces; empty for the library's choice.";
TlsCiphers: "tls-ciphers", [], Optional(any), "", RUNTIME, Accepted(NO_TLS),
    "Ciphers allowed up to TLS 1.2.";
TlsCiphersuites: "tls-ciphersuites", [], Optional(any), "", RUNTIME, Accepted(NO_TLS),
    "Cipher suites allowed in TLS 1.3.";
TlsPreferServerCiphers: "tls-prefer-server-ciphers", [], Bool, "no", RUNTIME, Accepted(NO_TLS),
    "Lets the server's order of ciphers win over the client's.";
TlsSessionCaching: "tls-session-caching", [], Bool, "yes", RUNTIME, Accepted(NO_TLS),
    "Lets clients resume sessions.";
TlsSessionCacheSize: "tls-session-cache-size", [], Int(0, INT_MAX), "20480", RUNTIME, Accepted(NO_TLS),
    "Sessions kept for resumption; 0 sets no bound.";
TlsSessionCacheTimeout: "tls-session-cache-timeout", [], Int(0, INT_MAX), "300", RUNTIME, Accepted(NO_TLS),
    "Seconds for which a session can be resumed.";
    } } };
}
