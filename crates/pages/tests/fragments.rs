//! Pages at several addresses have loops and replies in common, but where these ask for the address.

use std::collections::HashMap;
use std::sync::Arc;

use pages::site::Source;
use pages::{Asked, Common, Dependency, Fragments, Rendered, Site, Store};

/// Texts by keys, for GET and LRANGE, and the readers of keys with their versions.
#[derive(Default)]
struct Keys {
    texts: HashMap<Vec<u8>, String>,
    readers: HashMap<Vec<u8>, Vec<u64>>,
    versions: HashMap<u64, u64>,
    /// The fragments that have begun.
    begun: Vec<u64>,
    reads: usize,
}

impl Keys {
    fn set(&mut self, key: &str, text: &str) {
        self.texts.insert(key.into(), text.to_owned());
        for reader in self.readers.remove(key.as_bytes()).unwrap_or_default() {
            *self.versions.entry(reader).or_default() += 1;
        }
    }
}

impl Store for Keys {
    fn read(&mut self, words: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        self.reads += 1;
        let reader = *self.begun.last().expect("all of it is in fragments");
        self.readers.entry(words[1].clone()).or_default().push(reader);
        let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let text = self.texts.get(&words[1]).map_or("", |text| text);
        Ok(if words[0] == b"lrange" {
            let items: Vec<&str> = text.split_whitespace().collect();
            let items: String = [format!("*{}\r\n", items.len())]
                .into_iter()
                .chain(items.into_iter().map(bulk))
                .collect();
            items.into_bytes()
        } else {
            bulk(text).into_bytes()
        })
    }

    fn begin_fragment(&mut self, hash: u64) -> Option<Dependency> {
        self.begun.push(hash);
        let version = self.versions.get(&hash).copied().unwrap_or_default();
        Some(Dependency { reader: hash, version })
    }

    fn end_fragment(&mut self) -> Option<i64> {
        self.begun.pop().map(|_| i64::MAX)
    }

    fn has_fragment(&mut self, depends: &[Dependency], _: i64) -> bool {
        let version = |of: &Dependency| self.versions.get(&of.reader).copied().unwrap_or_default();
        depends.iter().all(|of| version(of) == of.version)
    }
}

struct Shop {
    site: Site,
    fragments: Fragments,
    keys: Keys,
}

impl Shop {
    fn new(template: &str) -> Self {
        let bytes = Arc::new(template.as_bytes().to_vec());
        let source =
            Source { path: "templates/t.html".into(), bytes, modified: 0, is_in_key: false };
        let (site, errors) = Site::new(vec![source], &["get", "lrange"], None);
        assert!(errors.is_empty(), "{errors:?}");
        let mut keys = Keys::default();
        keys.set("title", "Shop");
        keys.set("items", "a b");
        Self { site, fragments: Fragments::default(), keys }
    }

    /// The page with this parameter for readers with these rules: its body, and how many commands were run for it.
    fn page(&mut self, id: &str, rules: u64) -> (String, usize) {
        let Rendered { body, depends, .. } = self.render(id, rules);
        assert!(self.keys.has_fragment(&depends, 0) && self.keys.begun.is_empty());
        let reads = std::mem::take(&mut self.keys.reads);
        (String::from_utf8(body).expect("text"), reads)
    }

    fn render(&mut self, id: &str, rules: u64) -> Rendered {
        let common = Common { fragments: &self.fragments, made_by: (1, rules), max: 1 << 20 };
        let params = [("id".to_owned(), id.to_owned())];
        let asked = Asked { params: &params, common: Some(common), ..Asked::default() };
        self.site.render("t.html", &asked, &mut self.keys).expect("a page")
    }
}

#[test]
fn pages_have_loops_and_replies_in_common() {
    let mut shop = Shop::new(
        "{{ id }}: {{ get('title') }}{% for x in lrange('items', 0, -1) %} {{ x }}{{ get('of:' ~ x) }}{% endfor %}",
    );
    assert_eq!(shop.page("1", 0), ("1: Shop a b".into(), 4));
    assert_eq!(shop.page("2", 0), ("2: Shop a b".into(), 0));
    // Who may read less has none of it.
    assert_eq!(shop.page("2", 1).1, 4);
    let before = shop.render("1", 0).depends;
    shop.keys.set("title", "Sale");
    assert!(!shop.keys.has_fragment(&before, 0), "the page that was kept is valid");
    assert_eq!(shop.page("1", 0), ("1: Sale a b".into(), 1));
    assert_eq!(shop.page("2", 0), ("2: Sale a b".into(), 0));
    // What a loop has read is there when one key of it has changed.
    let before = shop.render("3", 0).depends;
    shop.keys.set("of:b", "!");
    assert!(
        !shop.keys.has_fragment(&before, 0),
        "a page that has the loop of another one is valid"
    );
    assert_eq!(shop.page("3", 0), ("3: Sale a b!".into(), 1));
    shop.keys.set("items", "b c");
    assert_eq!(shop.page("1", 0), ("1: Sale b! c".into(), 2));
    assert_eq!(shop.page("3", 0), ("3: Sale b! c".into(), 0));
}

#[test]
fn a_loop_that_asks_for_the_address_is_of_one_page() {
    let mut shop = Shop::new("{% for x in lrange('items', 0, -1) %}{{ x }}{{ id }} {% endfor %}");
    assert_eq!(shop.page("1", 0), ("a1 b1 ".into(), 1));
    assert_eq!(shop.page("2", 0), ("a2 b2 ".into(), 0));
    assert_eq!(shop.page("1", 0), ("a1 b1 ".into(), 0));
    let mut shop = Shop::new("{% for x in lrange(id, 0, -1) %}{{ x }} {% endfor %}");
    shop.keys.set("1", "one");
    shop.keys.set("2", "two");
    assert_eq!((shop.page("1", 0), shop.page("2", 0)), (("one ".into(), 1), ("two ".into(), 1)));
    // A variable of the page is not the address.
    let mut shop = Shop::new(
        "{% set n = id %}{% for x in lrange('items', 0, -1) %}{{ x }}{{ n }} {% endfor %}",
    );
    assert_eq!((shop.page("1", 0).0, shop.page("2", 0).0), ("a1 b1 ".into(), "a2 b2 ".into()));
}
