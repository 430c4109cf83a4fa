//! Templates that try to take all time, memory or stack: each ends soon, with an error or a page.

use template::{Arguments, Engine, Error, Escape, Host, Kind, Limits, Meter, Result, Value};

/// A host whose function answers with a text of a mebibyte, and that counts.
#[derive(Default)]
struct Big {
    looks: usize,
    late: bool,
}

impl<'t> Host<'t> for Big {
    fn global(&mut self, _: &str) -> Option<Value<'t>> {
        None
    }

    fn call(&mut self, _: &str, _: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
        meter.bytes(1 << 20)?;
        Ok(Value::from("x".repeat(1 << 20)))
    }

    fn overdue(&mut self) -> bool {
        self.looks += 1;
        self.late && self.looks > 3
    }
}

fn render_with(text: &str, host: &mut Big) -> std::result::Result<usize, Error> {
    let mut engine = Engine::new(&["big"], |_| Escape::Html);
    engine.add("t.html", text)?;
    engine.render("t.html", host, Limits::default()).map(|page| page.len())
}

fn fails(text: &str) -> Error {
    match render_with(text, &mut Big::default()) {
        Ok(len) => panic!("{text} makes a page of {len} bytes"),
        Err(e) => e,
    }
}

/// The kind of the error that led to all others.
fn root(e: &Error) -> Kind {
    let mut e = e;
    while let Some(cause) = e.cause() {
        e = cause;
    }
    e.kind()
}

#[test]
fn what_grows_without_end_is_stopped() {
    let doubled = |step: &str| format!("{{% set x = 'abcdefgh' %}}{}{{{{ x }}}}", step.repeat(60));
    for text in [
        doubled("{% set x = x ~ x %}"),
        doubled("{% set x = x + x %}"),
        doubled("{% set x = x * 2 %}"),
        doubled("{% set x = [x, x]|join %}"),
        doubled("{% set x = 'aa'|join(x) ~ x %}"),
        doubled("{% set x = x|replace('a', 'aa')|replace('h', 'hh') ~ x %}"),
        doubled("{% set x %}{{ x }}{{ x }}{% endset %}"),
        doubled("{% set x = [x, x]|tojson %}"),
        doubled("{% set x = [x, x]|string %}"),
        doubled("{% set x = [x, x]|pprint %}"),
        doubled("{% set x = x|urlencode ~ x %}"),
        doubled("{% set x = ('%s%s')|format(x, x) %}"),
        doubled("{% set x = (x|e) ~ '<' ~ x %}"),
        doubled("{% set x = [x, x] %}"),
        doubled("{% set x = (x, x) %}"),
        doubled("{% set x = {1: x, 2: x} %}"),
        "{{ 'x' * 90000000 * 2 }}".to_owned(),
        "{{ 'x' * 100000000000 }}".to_owned(),
        "{{ [1] * 90000000 }}".to_owned(),
        "{{ 'x'|indent(100000000000) }}".to_owned(),
        "{{ '\\n\\n\\n'|indent(90000000, true, true) }}".to_owned(),
        "{{ '%100000000d'|format(1) }}".to_owned(),
        "{{ '%.100000000f'|format(1.5) }}".to_owned(),
        "{{ [[1]]|tojson(90000000) }}".to_owned(),
        "{{ [1]|batch(90000000, 'x') }}".to_owned(),
        "{{ [1]|slice(90000000) }}".to_owned(),
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}".to_owned(),
        "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}".to_owned(),
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x|join(n.x) %}{% endfor %}".to_owned(),
        "{% for i in range(999) %}{{ 'x' * 99999 }}{% endfor %}".to_owned(),
        "{% for i in range(5000) %}{{ big() }}{% endfor %}".to_owned(),
        "{% for i in range(5000) %}{% set x = big() %}{% endfor %}".to_owned(),
        "{% set j = '[' ~ '0,' * 999999 ~ '0]' %}{% for i in range(99) %}{% set x = j|from_json %}{% endfor %}".to_owned(),
        "{% macro f(x) %}{{ f(x ~ x) }}{% endmacro %}{{ f('abcdefgh') }}".to_owned(),
    ] {
        let e = fails(&text);
        assert!(matches!(root(&e), Kind::Limit | Kind::Operation), "{text}: {e}");
    }
}

#[test]
fn what_goes_on_without_end_is_stopped() {
    for text in [
        "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
        "{% for a in range(90000) %}{% for b in 'x' * 1000 %}{% endfor %}{% endfor %}",
        "{% include 't.html' %}",
        "{% extends 't.html' %}",
        "{% import 't.html' as t %}",
        "{% from 't.html' import t %}",
        "{% block a %}{{ self.a() }}{% endblock %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% for x in [1] recursive %}{% set y = loop([1]) %}{% endfor %}",
        "{{ range(100000000000) }}",
        "{% set s = 'ab' * 1000000 %}{% for i in range(99999) %}{% if 'abb' in s %}{% endif %}{% endfor %}",
        "{% set s = 'ab' * 1000000 %}{% for i in range(99999) %}{{ s|length }}{% endfor %}",
        "{% set s = 'ab' * 1000000 %}{% for i in range(99999) %}{{ s[5] }}{% endfor %}",
        "{% set s = 'ab' * 1000000 %}{% set u = s ~ 'a' %}{% for i in range(99999) %}{% if s ~ 'b' < u %}{% endif %}{% endfor %}",
        "{% set l = range(99999) %}{% for i in l %}{% if -1 in l %}{% endif %}{% endfor %}",
        "{% set l = range(99999) %}{% for i in l %}{{ l|max }}{% endfor %}",
        "{% set l = range(9999)|list %}{% for i in l %}{{ l|sort(reverse=true)|first }}{% endfor %}",
    ] {
        let e = fails(text);
        let expected = matches!(root(&e), Kind::Limit | Kind::Operation);
        assert!(expected, "{text}: {e}");
    }
}

/// What is small and has more parts than there is memory: the same list within itself, again and again.
#[test]
fn values_that_share_parts_are_walked_within_bounds() {
    let nest = "{% set n = namespace(x=['k'], y=['k']) %}{% for i in range(60) %}\
                {% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}";
    for end in [
        "{{ n.x }}",
        "{{ n.x == n.y }}",
        "{{ n.x < n.y }}",
        "{{ n.x|tojson }}",
        "{{ n.x|pprint }}",
        "{{ n.y in [n.x] }}",
        "{{ {n.x: 1, n.y: 2} }}",
        "{{ [n.x, n.y]|sort }}",
        "{{ [n.x, n.y]|unique }}",
        "{{ n.x|join }}",
        "{{ n.x|urlencode }}",
        "{{ n.x|upper }}",
        "{{ '%s'|format(n.x) }}",
    ] {
        let e = fails(&format!("{nest}{end}"));
        assert_eq!(root(&e), Kind::Limit, "{end}: {e}");
    }
}

/// Values that are too deep are refused where they are made, so that nothing walks or drops too deep.
#[test]
fn values_are_not_too_deep() {
    for text in [
        "{% set n = namespace(x=1) %}{% for i in range(9999) %}{% set n.x = [n.x] %}{% endfor %}",
        "{% set n = namespace(x=1) %}{% for i in range(9999) %}{% set n.x = (n.x,) %}{% endfor %}",
        "{% set n = namespace(x=1) %}{% for i in range(9999) %}{% set n.x = {'a': n.x} %}{% endfor %}",
        "{% set n = namespace(x=1) %}{% for i in range(9999) %}{% set n.x = {n.x: 1} %}{% endfor %}",
        "{% set n = namespace(x=1) %}{% for i in range(9999) %}{% set n.x = dict(a=n.x) %}{% endfor %}",
        "{% set n = namespace(x=[1]) %}{% for i in range(9999) %}{% set n.x = n.x|batch(1) %}{% endfor %}",
        "{{ ('[' * 5000 ~ ']' * 5000)|from_json }}",
        "{{ ('[' * 110 ~ ']' * 110)|from_json }}",
    ] {
        let e = fails(text);
        assert!(matches!(root(&e), Kind::Limit | Kind::Operation), "{text}: {e}");
    }
    // A namespace never comes to contain itself.
    for text in [
        "{% set n = namespace() %}{% set n.x = n %}{{ n }}",
        "{% set n = namespace() %}{% set n.x = [n] %}{{ n }}",
        "{% set n = namespace() %}{% set n.x = {'a': (n,)} %}{{ n }}",
        "{% set n = namespace() %}{% for x in [n] %}{% set n.x = loop %}{% endfor %}{{ n }}",
        "{% for x in [1] %}{{ loop.changed(loop) }}{% endfor %}",
    ] {
        assert_eq!(fails(text).kind(), Kind::Operation, "{text}");
    }
}

/// A parser that calls itself, or a tree that is walked by calls, would use up the stack of a thread.
#[test]
fn what_is_nested_deeply_is_parsed_or_refused() {
    let cases = [
        ("{{ ", "(", "1 }}"),
        ("{{ ", "[", "1 }}"),
        ("{{ ", "{'a':", "1 }}"),
        ("{{ ", "-", "1 }}"),
        ("{{ ", "not ", "1 }}"),
        ("{{ 1", "+1", " }}"),
        ("{{ 1", "~1", " }}"),
        ("{{ 1", " and 1", " }}"),
        ("{{ 1", " or 1", " }}"),
        ("{{ 1", " if 1 else 1", " }}"),
        ("{{ 1", " if 1", " }}"),
        ("{{ 1", "**1", " }}"),
        ("{{ 1", " < 1", " }}"),
        ("{{ a", ".a", " }}"),
        ("{{ a", "[1]", " }}"),
        ("{{ a", "[", " }}"),
        ("{{ a", "()", " }}"),
        ("{{ ", "range(", " }}"),
        ("{{ a", "|e", " }}"),
        ("{{ a", "|e(", " }}"),
        ("{{ a", " is odd", " }}"),
        ("{{ a", " is eq 1", " }}"),
        ("{% if 1 %}", "{% elif 1 %}", "{% endif %}"),
        ("", "{% if 1 %}", ""),
        ("", "{% for x in y %}", ""),
        ("", "{% set a %}", ""),
        ("", "{% filter e %}", ""),
        ("", "{% macro m() %}", ""),
        ("", "{% call m() %}", ""),
        ("{% set ", "(", "a = 1 %}"),
        ("{% for ", "(", "a in b %}{% endfor %}"),
        ("", "{{", ""),
        ("", "{#", ""),
        ("", "{% raw %}", ""),
    ];
    let work = move || {
        for (start, part, end) in cases {
            let text = format!("{start}{}{end}", part.repeat(100_000 / part.len()));
            // One of the two, and the process lives.
            let _ = render_with(&text, &mut Big::default());
        }
    };
    // With the stack that std gives a thread.
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work);
    thread.expect("a thread").join().expect("no panic");
}

#[test]
fn the_clock_ends_a_page() {
    let mut host = Big { late: true, ..Big::default() };
    let text = "{% for a in range(90000) %}{% endfor %}";
    let e = render_with(text, &mut host).expect_err("an error");
    assert!(e.to_string().contains("takes too long"), "{e}");
}

#[test]
fn errors_say_where() {
    let cases = [
        ("a\nb {{ x.y }}", "t.html:2:6: "),
        ("{% if %}", "t.html:1:7: "),
        ("\n\n  {% foo %}", "t.html:3:6: "),
        ("{{ 1 }}\n{{ 'é' }}{{ 1|nope }}", "t.html:2:16: "),
        ("a\n{% include 'none.html' %}", "t.html:2:12: "),
        ("{% macro m() %}\n{{ a.b }}{% endmacro %}\n{{ m() }}", "t.html:2:4: "),
        ("{{ 'abc }}", "t.html:1:4: "),
    ];
    for (text, place) in cases {
        let e = fails(text).to_string();
        assert!(e.starts_with(place), "{text:?}: {e}");
    }
}
