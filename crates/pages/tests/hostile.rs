//! Templates that call commands for ever, or with too much: each ends with an error.

use pages::site::Source;
use pages::{Asked, Site, Store};

/// Answers everything with a map of a thousand fields of a kilobyte, and counts.
struct Big(u64);

impl Store for Big {
    fn read(&mut self, _: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        self.0 += 1;
        let field = format!("$4\r\nname\r\n$1000\r\n{}\r\n", "x".repeat(1000));
        Ok(format!("%1000\r\n{}", field.repeat(1000)).into_bytes())
    }
}

/// Answers everything with a number.
struct Small(u64);

impl Store for Small {
    fn read(&mut self, _: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        self.0 += 1;
        Ok(b":1\r\n".to_vec())
    }
}

fn source(path: &str, text: &str) -> Source {
    let bytes = text.as_bytes().to_vec().into();
    Source { path: path.to_owned(), bytes, modified: 0, is_in_key: false }
}

fn site(files: &[(&str, &str)], before: Option<&Site>) -> (Site, Vec<String>) {
    let sources = files.iter().map(|(path, text)| source(path, text)).collect();
    Site::new(sources, &["hgetall", "dbsize"], before)
}

fn render(text: &str, store: &mut dyn Store) -> Result<String, String> {
    let (site, errors) = site(&[("templates/t.html", text)], None);
    assert_eq!(errors, Vec::<String>::new());
    let page = site.render("t.html", &Asked::default(), store)?;
    Ok(String::from_utf8(page.body).expect("UTF-8"))
}

#[test]
fn commands_and_replies_are_paid_for() {
    let keeps = "{% set n = namespace(x=[]) %}{% for i in range(90000) %}\
                 {% set n.x = n.x + [hgetall('k')] %}{% endfor %}";
    let drops = "{% for i in range(90000) %}{% set x = hgetall('k') %}{% endfor %}";
    for text in [keeps, drops] {
        let mut store = Big(0);
        assert!(render(text, &mut store).is_err());
        assert!(store.0 < 100, "{} replies of a megabyte", store.0);
    }
    // A command costs more than a step, whatever it answers.
    let mut store = Small(0);
    let calls = "{% for i in range(90000) %}{% set x = dbsize() %}{% endfor %}";
    assert!(render(calls, &mut store).is_err());
    assert!(store.0 < 50_000, "{} commands", store.0);
}

#[test]
fn arguments_of_commands_are_bounded() {
    let nest = "{% set n = namespace(x=['k']) %}{% for i in range(40) %}";
    let deep = format!("{nest}{{% set n.x = [n.x] %}}{{% endfor %}}{{{{ dbsize(n.x) }}}}");
    let mut store = Small(0);
    let why = render(&deep, &mut store).expect_err("an error");
    assert!(why.contains("nested too deep"), "{why}");
    // A trillion words, of which there is one.
    let wide = format!("{nest}{{% set n.x = [n.x, n.x] %}}{{% endfor %}}{{{{ dbsize(n.x) }}}}");
    let wide = wide.replace("40", "30");
    let why = render(&wide, &mut store).expect_err("an error");
    assert!(why.contains("arguments of a command are too long"), "{why}");
    let long = "{% set s = 'x' * 99999 %}{{ dbsize([s] * 999) }}";
    let why = render(long, &mut store).expect_err("an error");
    assert!(why.contains("arguments of a command are too long"), "{why}");
    assert_eq!(store.0, 0, "commands were called");
}

/// Answers after a while.
struct Slow(u64);

impl Store for Slow {
    fn read(&mut self, _: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        self.0 += 1;
        std::thread::sleep(std::time::Duration::from_millis(100));
        Ok(b":1\r\n".to_vec())
    }
}

#[test]
fn slow_commands_end_a_page() {
    let mut store = Slow(0);
    let why = render("{% for i in range(100) %}{{ dbsize() }}{% endfor %}", &mut store);
    let why = why.expect_err("an error");
    assert!(why.contains("takes too long"), "{why}");
    assert!(store.0 <= 21, "{} commands", store.0);
}

#[test]
fn what_a_visitor_sends_is_text() {
    let page = "{{ query.q }}|{{ query.q * 2 }}|<a href=\"{{ query.q }}\">";
    let files = [("templates/t.html", page), ("templates/t.json", "{{ query.q }}")];
    let (site, _) = site(&files, None);
    let render = |name: &str, query: &str| {
        let asked = Asked { query, ..Asked::default() };
        let page = site.render(name, &asked, &mut Small(0)).expect("a page");
        String::from_utf8(page.body).expect("UTF-8")
    };
    for (query, bad) in [
        ("q=%3Cscript%3E", "<script"),
        ("q=%22+onclick=%22x", "\" onclick"),
        ("q=%7B%7B+7*7+%7D%7D", "49"),
        ("q=%3C/script%3E", "</script"),
        ("q=%00%ff%0d%0aSet-Cookie:+a", "<"),
    ] {
        let html = render("t.html", query);
        assert!(!html.replacen("<a href=\"", "", 1).contains(bad), "{html}");
        let json = render("t.json", query);
        assert!(serde_json::from_str::<String>(&json).is_ok(), "{json}");
    }
}

#[test]
fn a_template_with_an_error_leaves_the_last_good_one() {
    let page = |site: &Site| {
        let page = site.render("t.html", &Asked::default(), &mut Small(0)).expect("a page");
        String::from_utf8(page.body).expect("UTF-8")
    };
    let (first, _) = site(&[("templates/t.html", "good"), ("routes", "GET / t.html\n")], None);
    let broken =
        [("templates/t.html", "a\nb {{ x }} {% if %}"), ("routes", "GET / t.html\nGET x\n")];
    let (second, errors) = site(&broken, Some(&first));
    assert_eq!((&*page(&second), second.routes().len()), ("good", 1));
    assert!(errors.iter().any(|e| e.starts_with("templates/t.html: t.html:2:17: ")), "{errors:?}");
    assert!(errors.iter().any(|e| e.starts_with("routes: line 2: ")), "{errors:?}");
    // Twice in a row, and then a good one again.
    let (third, _) = site(&broken, Some(&second));
    assert_eq!(page(&third), "good");
    let (fourth, _) = site(&[("templates/t.html", "better")], Some(&third));
    assert_eq!(page(&fourth), "better");
    let (_, errors) = site(&[("templates/t.html", &"x".repeat(262_145))], None);
    assert!(errors[0].contains("262144 bytes"), "{errors:?}");
}

#[test]
fn many_and_long_routes() {
    let mut text = String::new();
    for i in 0..100_000 {
        text.push_str(&format!("GET /a{}/{{x}}/b{i} t.html\n", i % 100));
    }
    text.push_str(&format!("GET {} t.html\n", "/x".repeat(1_000_000)));
    let (site, errors) = site(&[("routes", &text)], None);
    assert_eq!((site.routes().len(), errors.len()), (100_000, 1), "{errors:?}");
    let found = |path: &str| site.routes().find(http1::Method::Get, path);
    assert!(pages::template::is_found(&found("/a99/y/b99999")));
    assert!(!pages::template::is_found(&found("/a98/y/b99999")));
    assert!(!pages::template::is_found(&found(&"/x".repeat(1_000_000))));
}
