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

/// Retries of requests within the store's client; `remote` retries further.
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
    /// The URL is none of these, or a variable that the provider needs is missing.
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
        // A provider that is chosen already stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: RETRY, ..RetryConfig::default() };
        let fail = |e: object_store::Error| Error::Storage(format!("topic-storage '{url}': {e}"));
        let all: Vec<(String, String)> =
            variables.into_iter().map(|(k, v)| (k.to_ascii_lowercase(), v)).collect();
        let hints = match look(scheme, &all) {
            Ok(hint) => hint.into_iter().map(|h| format!("topic-storage '{url}': {h}")).collect(),
            Err(why) => return bad(&why),
        };
        let settings = |of: &str| {
            let mut all: Vec<_> = all.iter().filter(|(k, _)| k.starts_with(of)).cloned().collect();
            let is_near = |(k, v): &(String, String)| ENDPOINTS.contains(&&**k) && is_local(v);
            // A setting that says otherwise comes later, and wins.
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
        Ok(Self { store, prefix, url: format!("{scheme}://{bucket}/"), hints })
    }
}

/// The last value that a variable has been given, unless it is empty.
fn value<'v>(variables: &'v [(String, String)], name: &str) -> Option<&'v str> {
    let found = variables.iter().rev().find(|(k, v)| k == name && !v.is_empty());
    found.map(|(_, v)| v.as_str())
}

/// Checks that records go to other machines over TLS only, unless a variable allows more.
fn refuse_plain_endpoint(
    scheme: &str,
    variables: &[(String, String)],
) -> std::result::Result<(), String> {
    let of = match scheme {
        "s3" => "aws_",
        "gs" => "google_",
        _ => "azure_",
    };
    let open = format!("{of}allow_http");
    let allowed = value(variables, &open)
        .is_some_and(|v| ["1", "true", "yes", "on"].contains(&&*v.to_ascii_lowercase()));
    for name in ENDPOINTS.iter().filter(|n| n.starts_with(of)) {
        if let Some(endpoint) = value(variables, name).filter(|e| e.starts_with("http://"))
            && !is_local(endpoint)
            && !allowed
        {
            return Err(format!(
                "{} is {endpoint}, which is neither TLS nor this machine; if that is meant, set {}=true",
                name.to_ascii_uppercase(),
                open.to_ascii_uppercase()
            ));
        }
    }
    Ok(())
}

/// Checks the variables (their names in small letters) and returns, for people, which step will take long
/// without one of them.
///
/// # Errors
/// It cannot work; the text names the variable that is missing.
fn look(
    scheme: &str,
    variables: &[(String, String)],
) -> std::result::Result<Option<String>, String> {
    refuse_plain_endpoint(scheme, variables)?;
    let value = |name: &str| value(variables, name);
    let any = |names: &[&str]| names.iter().any(|n| value(n).is_some());
    let missing = |name: &str, with: &str| Err(format!("{with} is set and {name} is not"));
    let role = |names: &str| {
        Ok(Some(format!("{names} is not set: credentials are asked of this machine's role")))
    };
    match scheme {
        "s3" => match (value("aws_access_key_id"), value("aws_secret_access_key")) {
            (Some(_), Some(_)) => Ok(None),
            (Some(_), None) => missing("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
            (None, Some(_)) => missing("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
            _ if any(&[
                "aws_web_identity_token_file",
                "aws_container_credentials_relative_uri",
                "aws_container_credentials_full_uri",
                "aws_skip_signature",
            ]) =>
            {
                Ok(None)
            }
            _ => role("AWS_ACCESS_KEY_ID"),
        },
        "gs" if any(&[
            "google_service_account",
            "google_service_account_path",
            "google_service_account_key",
            "google_application_credentials",
            "google_skip_signature",
        ]) =>
        {
            Ok(None)
        }
        "gs" => role("GOOGLE_SERVICE_ACCOUNT"),
        "az" if any(&["azure_use_emulator", "azure_storage_use_emulator"]) => Ok(None),
        "az" if !any(&["azure_storage_account_name", "azure_account_name"]) => {
            Err("AZURE_STORAGE_ACCOUNT_NAME is not set".to_owned())
        }
        "az" if variables.iter().any(|(k, v)| {
            k.starts_with("azure_")
                && !v.is_empty()
                && ["key", "sas", "token", "secret", "skip_signature", "cli"]
                    .iter()
                    .any(|w| k.contains(w))
        }) =>
        {
            Ok(None)
        }
        "az" => role("AZURE_STORAGE_ACCOUNT_KEY"),
        _ => Ok(None),
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
    fn what_is_missing_is_named() {
        let with = |url: &str, all: &[(&str, &str)]| {
            let all = all.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            Bucket::connect(url, all).map(|b| b.hints().join("; ")).map_err(|e| e.to_string())
        };
        let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
        assert_eq!(with("s3://b", &keys), Ok(String::new()));
        let told = with("s3://b", &[]).expect("the machine may have a role");
        assert!(told.contains("AWS_ACCESS_KEY_ID is not set"), "{told}");
        let told = with("s3://b", &keys[..1]).expect_err("half of it");
        assert!(told.contains("AWS_SECRET_ACCESS_KEY is not"), "{told}");
        let far = [keys[0], keys[1], ("AWS_ENDPOINT_URL", "http://10.0.0.1:9000")];
        let told = with("s3://b", &far).expect_err("without TLS");
        assert!(
            told.contains("AWS_ENDPOINT_URL") && told.contains("AWS_ALLOW_HTTP=true"),
            "{told}"
        );
        let meant = [&far[..], &[("AWS_ALLOW_HTTP", "true")]].concat();
        assert_eq!(with("s3://b", &meant), Ok(String::new()));
        let told = with("az://c", &[]).expect_err("no account");
        assert!(told.contains("AZURE_STORAGE_ACCOUNT_NAME is not set"), "{told}");
        let told = with("az://c", &[("AZURE_STORAGE_ACCOUNT_NAME", "a")]).expect("it may");
        assert!(told.contains("AZURE_STORAGE_ACCOUNT_KEY is not set"), "{told}");
        let told = with("gs://b", &[]).expect("it may");
        assert!(told.contains("GOOGLE_SERVICE_ACCOUNT is not set"), "{told}");
    }

    #[test]
    fn urls_that_name_nothing() {
        for bad in ["s3", "s3://", "s3:///x", "ftp://a/b", "s3://b/a//c"] {
            assert!(Bucket::connect(bad, []).is_err(), "{bad}");
        }
    }
}
