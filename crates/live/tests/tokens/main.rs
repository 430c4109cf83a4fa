//! Tokens of another library against the verifier: vectors.json, which generate.py wrote.

use live::token::jwks::KeyName;
use live::token::{Config, Jwks, Lookup, TokenError, Verifier};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors.json")).expect("the file is JSON")
}

fn config(value: &Value) -> Config {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    Config {
        hmac_secret_key: text("hmac_secret_key"),
        hmac_previous_secret_key: text("hmac_previous_secret_key"),
        hmac_previous_secret_key_valid_until: value["hmac_previous_secret_key_valid_until"]
            .as_i64()
            .unwrap_or(0),
        rsa_public_key: text("rsa_public_key"),
        ecdsa_public_key: text("ecdsa_public_key"),
        jwks_public_endpoint: text("jwks_public_endpoint"),
        audience: text("audience"),
        audience_regex: text("audience_regex"),
        issuer: text("issuer"),
        issuer_regex: text("issuer_regex"),
        ..Config::default()
    }
}

/// Verifies a token, and fetches the document of keys when it is waited for.
fn verify(vector: &Value, now_ms: i64) -> Result<String, TokenError> {
    let verifier = Verifier::new(&config(&vector["config"])).expect("a configuration");
    let token = vector["token"].as_str().expect("a token");
    let mut jwks = Jwks::default();
    loop {
        let mut lookup = |name: &KeyName| jwks.lookup(name, now_ms);
        let result = match vector["kind"].as_str() {
            Some("subscription") => {
                verifier.subscription(token, now_ms, false, &mut lookup).map(|token| token.user)
            }
            _ => verifier.connection(token, now_ms, false, &mut lookup).map(|token| token.user),
        };
        match result {
            Err(TokenError::Wait(_)) => {
                let url = jwks.needs_fetch(now_ms).expect("what is waited for is fetched");
                jwks.update(
                    &url,
                    Ok(vector["jwks"].as_str().expect("a document").as_bytes()),
                    now_ms,
                );
            }
            other => return other,
        }
    }
}

#[test]
fn tokens_count_or_do_not() {
    let file = vectors();
    let now_ms = file["now"].as_i64().expect("a time") * 1000;
    let mut wrong = Vec::new();
    for vector in file["vectors"].as_array().expect("vectors") {
        let result = verify(vector, now_ms);
        let came = match &result {
            Ok(user) if user == "42" => "ok",
            Ok(_) => "another user",
            Err(TokenError::Expired) => "expired",
            Err(TokenError::Invalid(_)) => "invalid",
            Err(_) => "no key",
        };
        if vector["expect"] != came {
            wrong.push(format!(
                "{}: {came} and not {} ({result:?})",
                vector["name"], vector["expect"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn keys_that_are_none_are_refused() {
    for (name, pair) in vectors()["keys"].as_object().expect("keys") {
        let config = config(&serde_json::json!({ pair[0].as_str().expect("an option"): pair[1] }));
        assert!(Verifier::new(&config).is_err(), "{name}");
    }
}

#[test]
fn a_key_that_is_not_there_yet_is_waited_for_and_one_that_cannot_be_had_is_no_fault_of_the_token() {
    let file = vectors();
    let vector = file["vectors"]
        .as_array()
        .expect("vectors")
        .iter()
        .find(|vector| vector["name"] == "RS256 by JWKS");
    let vector = vector.expect("the vector");
    let verifier = Verifier::new(&config(&vector["config"])).expect("a configuration");
    let token = vector["token"].as_str().expect("a token");
    let now_ms = file["now"].as_i64().expect("a time") * 1000;
    let name = KeyName { url: "https://example.com/jwks.json".into(), kid: "rsa".into() };
    let wait = verifier.connection(token, now_ms, false, &mut |_| Lookup::Wait);
    assert_eq!(wait, Err(TokenError::Wait(name)));
    let away =
        verifier.connection(token, now_ms, false, &mut |_| Lookup::Unavailable("no route".into()));
    assert_eq!(away, Err(TokenError::Unavailable("no route".into())));
}

#[test]
fn every_bit_of_a_signature_counts() {
    let file = vectors();
    let now_ms = file["now"].as_i64().expect("a time") * 1000;
    for algorithm in ["HS256", "RS256", "ES256", "ES384", "ES512", "EdDSA by JWKS"] {
        let vectors = file["vectors"].as_array().expect("vectors").iter();
        let mut vector =
            vectors.clone().find(|vector| vector["name"] == algorithm).expect("a vector").clone();
        let token = vector["token"].as_str().expect("a token").to_owned();
        let start = token.rfind('.').expect("three pieces") + 1;
        for at in [start, start + 20, token.len() - 3] {
            let other = if token.as_bytes()[at] == b'A' { "B" } else { "A" };
            let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
            vector["token"] = Value::String(changed);
            assert!(
                matches!(verify(&vector, now_ms), Err(TokenError::Invalid(_))),
                "{algorithm} {at}"
            );
        }
    }
}
