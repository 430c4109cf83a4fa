//! What a page costs: 10 items of 6 fields, 12 commands, 4 KiB, in nanoseconds. `cargo run --release -p pages --example page`.

use std::collections::HashMap;
use std::time::Instant;

use pages::site::Source;
use pages::{Asked, Site, Store};

/// Replies by the first key.
struct Replies(HashMap<Vec<u8>, Vec<u8>>);

impl Store for Replies {
    fn read(&mut self, words: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        Ok(self.0[&words[1]].clone())
    }
}

const TEMPLATE: &str = r#"<!doctype html><html><head><title>{{ site.title }}</title></head><body>
<h1>{{ site.title }}</h1><p class="lead">{{ site.about }}</p><p>{{ site.owner }}</p>
<ul>
{% for slug in zrevrange("posts", 0, 9) %}{% set post = hgetall("post:" ~ slug) %}
  <li class="post"><h2><a href="/post/{{ slug }}">{{ post.title }}</a></h2>
    <p class="meta">{{ post.author }} &middot; {{ post.date }} &middot; {{ post.likes }} likes</p>
    <p class="text">{{ post.text }}</p><p class="tags">{{ post.tags }}</p></li>
{% endfor %}
</ul></body></html>"#;

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn map(fields: &[(&str, &str)]) -> Vec<u8> {
    let all: String = fields.iter().map(|(name, value)| bulk(name) + &bulk(value)).collect();
    format!("%{}\r\n{all}", fields.len()).into_bytes()
}

fn main() {
    let mut replies = HashMap::new();
    let site = [("title", "A blog"), ("about", "About \"this\" & that"), ("owner", "Kim")];
    replies.insert(b"site".to_vec(), map(&site));
    let slugs: String = (0..10).map(|i| bulk(&format!("post-{i}"))).collect();
    replies.insert(b"posts".to_vec(), format!("*10\r\n{slugs}").into_bytes());
    let text =
        "It is <b>not</b> long & has a few words, so that a page has four kibibytes. ".repeat(2);
    for i in 0..10 {
        let title = format!("Post number {i} & more");
        let fields = [
            ("title", &*title),
            ("author", "Kim O'Neil"),
            ("date", "2026-11-23"),
            ("likes", "1234"),
            ("text", &text),
            ("tags", "one, two, three"),
        ];
        replies.insert(format!("post:post-{i}").into_bytes(), map(&fields));
    }
    let template = format!("{{% set site = hgetall(\"site\") %}}{TEMPLATE}");
    let bytes = template.into_bytes();
    let source = Source {
        path: "templates/t.html".into(),
        bytes: bytes.into(),
        modified: 0,
        is_in_key: false,
    };
    let (site, errors) = Site::new(vec![source], &["hgetall", "zrevrange"], None);
    assert!(errors.is_empty(), "{errors:?}");
    let mut store = Replies(replies);
    let mut best = f64::INFINITY;
    let mut len = 0;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..2000 {
            let page = site.render("t.html", &Asked::default(), &mut store).expect("a page");
            len = page.body.len();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 2000.0);
    }
    #[expect(clippy::print_stdout, reason = "a tool that prints")]
    {
        println!("{best:.0} ns a page of {len} bytes");
    }
}
