//! From a URL to a store. Credentials, regions and endpoints come from variables of the environment, under
//! the names that each provider's own tools use, and are shown nowhere.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};

use super::Bucket;
use crate::error::{Error, Result};

/// Repetitions of requests within the store's client; what is left is repeated by `remote`.
const RETRIES: usize = 2;
/// After which they end.
const RETRY: Duration = Duration::from_secs(15);

/// Where an endpoint may be given.
const ENDPOINTS: [&str; 7] = [
    "aws_endpoint",
    "aws_endpoint_url",
    "aws_endpoint_url_s3",
    "aws_s3_endpoint",
    "azure_endpoint",
    "azure_storage_endpoint",
    "google_base_url",
];

impl Bucket {
    /// The bucket and prefix that a URL names: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or
    /// `az://CONTAINER/PREFIX`; the prefix may be empty. Of the `variables`, those are used whose names
    /// begin with `AWS_`, `GOOGLE_` or `AZURE_` and whose rest the provider's client knows.
    ///
    /// # Errors
    /// The URL is none of these, or the variables do not say what the provider needs.
    pub fn connect(
        url: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let bad = |why: &str| Err(Error::Storage(format!("topic-storage '{url}': {why}")));
        let Some((scheme, rest)) = url.split_once("://") else { return bad("it is no URL") };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return bad("it names no bucket");
        }
        let Ok(prefix) = Path::parse(prefix.trim_end_matches('/')) else {
            return bad("its prefix is none that every store could take");
        };
        // Whoever has chosen one already is right.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: RETRY, ..RetryConfig::default() };
        let fail = |e: object_store::Error| Error::Storage(format!("topic-storage '{url}': {e}"));
        let settings = |of: &str| {
            let all = variables.into_iter().map(|(k, v)| (k.to_ascii_lowercase(), v));
            let mut all: Vec<_> = all.filter(|(k, _)| k.starts_with(of)).collect();
            let is_near = |(k, v): &(String, String)| ENDPOINTS.contains(&&**k) && is_local(v);
            // Whoever says otherwise comes later, and is right.
            all.insert(0, (format!("{of}allow_http"), all.iter().any(is_near).to_string()));
            all
        };
        let store: Arc<dyn ObjectStore> = match scheme {
            "s3" => {
                let mut s3 = AmazonS3Builder::new();
                for (key, value) in settings("aws_") {
                    if let Ok(key) = key.parse() {
                        s3 = s3.with_config(key, value);
                    }
                }
                Arc::new(s3.with_bucket_name(bucket).with_retry(retry).build().map_err(fail)?)
            }
            "gs" => {
                let mut gs = GoogleCloudStorageBuilder::new();
                for (key, value) in settings("google_") {
                    if let Ok(key) = key.parse() {
                        gs = gs.with_config(key, value);
                    }
                }
                Arc::new(gs.with_bucket_name(bucket).with_retry(retry).build().map_err(fail)?)
            }
            "az" => {
                let mut az = MicrosoftAzureBuilder::new();
                for (key, value) in settings("azure_") {
                    if let Ok(key) = key.parse() {
                        az = az.with_config(key, value);
                    }
                }
                Arc::new(az.with_container_name(bucket).with_retry(retry).build().map_err(fail)?)
            }
            _ => return bad("it is neither s3://, gs:// nor az://"),
        };
        Ok(Self { store, prefix, url: format!("{scheme}://{bucket}/") })
    }
}

/// Whether an endpoint is this machine, to which one may speak without TLS.
fn is_local(endpoint: &str) -> bool {
    let Some(rest) = endpoint.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or("");
    let host = host
        .strip_prefix('[')
        .and_then(|h| h.split_once(']'))
        .map_or_else(|| host.rsplit_once(':').map_or(host, |(h, _)| h), |(six, _)| six);
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_local() {
        for yes in ["http://127.0.0.1:9000", "http://localhost", "http://[::1]:9000/x"] {
            assert!(is_local(yes), "{yes}");
        }
        for no in ["http://10.0.0.1", "https://127.0.0.1", "http://127.0.0.1.example.com:80", ""] {
            assert!(!is_local(no), "{no}");
        }
    }

    #[test]
    fn urls_that_name_nothing() {
        for bad in ["s3", "s3://", "s3:///x", "ftp://a/b", "s3://b/a//c"] {
            assert!(Bucket::connect(bad, []).is_err(), "{bad}");
        }
    }
}
