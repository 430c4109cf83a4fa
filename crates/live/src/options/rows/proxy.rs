//! Options of proxies: the same wherever there is one.

use super::super::row::{Row, bool, duration, group, int, list, map, text, texts};

/// Defaults are Centrifugo's.
pub(super) const PROXY: &[Row] = &[
    text(
        "endpoint",
        "A URL, `http` or `https`; or `function:NAME`, a function in the store (an addition). gRPC is refused.",
    ),
    duration("timeout", "Time for a response.").default("1s"),
    texts("http_headers", "Headers of the client's request that go along."),
    texts("grpc_metadata", "").listed("there is no gRPC"),
    texts(
        "emulated_headers",
        "Headers of the connect command that go along; clients choose their values.",
    ),
    bool("binary_encoding", "Data are base64, in `b64data`."),
    bool("include_connection_meta", "The connection's `meta` goes along."),
    group(
        "http",
        &[
            group("tls", TLS),
            map(
                "static_headers",
                "Headers that are always sent; `${CENTRIFUGO_VAR_…}` stands for the environment's.",
            ),
            list(
                "status_to_code_transforms",
                &[
                    int("status_code", "The status."),
                    group(
                        "to_error",
                        &[
                            int("code", "The error's code."),
                            text("message", "Its text."),
                            bool("temporary", "SDKs try again."),
                        ],
                    ),
                    group(
                        "to_disconnect",
                        &[int("code", "The end's code."), text("reason", "Its text.")],
                    ),
                ],
                "What statuses other than 200 mean.",
            ),
        ],
    ),
    group(
        "grpc",
        &[
            group("tls", TLS),
            text("credentials_key", ""),
            text("credentials_value", ""),
            bool("compression", ""),
            map("static_metadata", ""),
        ],
    )
    .listed("there is no gRPC"),
];

/// TLS, of either side.
pub(super) const TLS: &[Row] = &[
    bool("enabled", "The options below count."),
    text("cert_pem", "A certificate: PEM, base64 of it, or a file."),
    text("key_pem", "Its key: PEM, base64 of it, or a file."),
    text("server_ca_pem", "Authorities of the server: PEM, base64 of it, or a file."),
    text("client_ca_pem", "").listed("for servers alone: a proxy is asked, and does not ask"),
    bool("insecure_skip_verify", "The server's certificate is not checked: for tests alone."),
    text("server_name", "The name in the server's certificate."),
];
