//! What comes from anybody, changed at random: nothing panics, and what is read twice is read the same.

use live::api::{self, METHODS, Method};
use live::options::load;
use live::proxy::{self, Outcome};
use live::token::jwks::KeyName;
use live::token::{Config, Jwks, Lookup, Verifier};

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// Changes, adds, removes or doubles a few bytes.
    fn change(&mut self, text: &[u8]) -> Vec<u8> {
        const BYTES: &[u8] = b"{}[]\",:.\\0179-eE+ntfu\n \0\x80\xff=/*#$a";
        let mut changed = text.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(changed.len() + 1);
            match self.below(4) {
                0 if at < changed.len() => changed[at] = BYTES[self.below(BYTES.len())],
                1 => changed.insert(at, BYTES[self.below(BYTES.len())]),
                2 if at < changed.len() => {
                    drop(changed.drain(at..(at + 1 + self.below(8)).min(changed.len())))
                }
                _ => {
                    let piece = changed[at..(at + self.below(20)).min(changed.len())].to_vec();
                    changed.splice(at..at, piece);
                }
            }
        }
        changed
    }
}

#[test]
fn bodies_of_the_api() {
    let bodies: [&[u8]; 4] = [
        br#"{"channel":"c","data":{"n":1.1},"tags":{"k":"v"},"version":3,"override":{"presence":{"value":true}},"since":{"offset":5}}"#,
        br#"{"commands":[{"publish":{"channel":"c"}},{"info":{}},null],"parallel":true}"#,
        br#"{"method":"publish","params":{"channel":"c","b64data":"AAE="}}{"method":4,"params":{"channel":"c"}}"#,
        br#"{"channels":["a","b"],"user":"u","disconnect":{"code":4000},"whitelist":["x"]}"#,
    ];
    let mut numbers = Numbers(1);
    for _ in 0..5_000 {
        let good = bodies[numbers.below(bodies.len())];
        let body = numbers.change(good);
        let method = METHODS[numbers.below(METHODS.len())].0;
        assert_eq!(api::decode(method, &body), api::decode(method, &body));
        let _ = api::legacy(&body);
        let words: Vec<&[u8]> = body.split(|byte| *byte == b'"').collect();
        let _ = api::from_words(method, &words);
    }
    assert!(api::decode(Method::Publish, bodies[0]).is_ok(), "what is changed was good");
}

#[test]
fn tokens_and_documents() {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("tokens/vectors.json")).expect("JSON");
    let vectors = file["vectors"].as_array().expect("vectors");
    let with = |name: &str| vectors.iter().find(|vector| vector["name"] == name).expect("a vector");
    let (token, document) = (
        with("RS256 by JWKS")["token"].as_str().expect("a token"),
        with("RS256 by JWKS")["jwks"].as_str(),
    );
    let config =
        Config { jwks_public_endpoint: "https://example.com/k".into(), ..Config::default() };
    let verifier = Verifier::new(&config).expect("a verifier");
    let document = document.expect("a document").as_bytes();
    let now_ms = file["now"].as_i64().expect("a time") * 1000;
    let mut numbers = Numbers(2);
    let verify = |token: &str, document: &[u8]| {
        let mut jwks = Jwks::default();
        let mut lookup = |name: &KeyName| match jwks.lookup(name, 0) {
            Lookup::Wait => {
                let url = jwks.needs_fetch(0).expect("it is wanted");
                jwks.update(&url, Ok(document), 0);
                jwks.lookup(name, 0)
            }
            other => other,
        };
        verifier.connection(token, now_ms, false, &mut lookup).is_ok()
    };
    assert!(verify(token, document), "what is changed was good");
    for _ in 0..1_000 {
        let changed = numbers.change(token.as_bytes());
        let changed = String::from_utf8_lossy(&changed);
        assert!(
            changed == token || !verify(&changed, document),
            "a changed token counts: {changed}"
        );
        verify(token, &numbers.change(document));
    }
}

#[test]
fn answers_and_configurations() {
    let file = br#"{"client":{"proxy":{"connect":{"enabled":true,"endpoint":"http://a","timeout":"1s"}},"token":{"issuer_regex":"^(?P<a>x|y)[a-z]+$"}},
        "channel":{"namespaces":[{"name":"ns","history_size":1,"history_ttl":"1m30s","channel_regex":"^\\w+[^]a]$"}]}}"#;
    let answer = br#"{"result":{"user":"42","expire_at":9,"info":{},"b64data":"AAE=","channels":["a"],"subs":{"ns:a":{"override":{"presence":{"value":false}}}}}}"#;
    let options = load(file, &[]).expect("what is changed was good").options;
    let connect = options.client.connect_proxy.clone().expect("a proxy");
    let namespace = &options.channel.namespaces["ns"];
    let mut numbers = Numbers(3);
    for _ in 0..2_000 {
        let _ = load(&numbers.change(file), &[]);
        let outcome = Outcome::Answer(numbers.change(answer));
        let _ = proxy::connect(&options, &connect, &outcome);
        let _ = proxy::subscribe(namespace, &connect, &outcome);
        let _ = proxy::publish(namespace, &connect, &outcome);
        let _ = proxy::refresh(&connect, &outcome, 0);
    }
}
