//! Live blocks: what they write, what the host is told, and that minijinja makes the same of such a template
//! when it is given a macro `live`.

use template::{Arguments, Engine, Error, Escape, Host, Kind, Limits, Meter, Result, Value};

/// Collects live blocks.
#[derive(Default)]
struct Page {
    blocks: Vec<(String, String)>,
    hides: bool,
}

impl<'t> Host<'t> for Page {
    fn global(&mut self, name: &str) -> Option<Value<'t>> {
        match name {
            "words" => Value::list(vec![Value::from("a<"), Value::from("b")]).ok(),
            "n" => Some(Value::Int(7)),
            _ => None,
        }
    }

    fn call(&mut self, name: &str, _: &Arguments<'_, 't>, _: &Meter) -> Result<Value<'t>> {
        Err(Error::new(Kind::Host, format!("called {name}")))
    }

    fn live(&mut self, name: &str, content: &str, _: &Meter) -> Result<bool> {
        self.blocks.push((name.to_owned(), content.to_owned()));
        Ok(!self.hides)
    }
}

fn escape_of(name: &str) -> Escape {
    if name.ends_with(".html") { Escape::Html } else { Escape::None }
}

fn render_as(name: &str, text: &str, page: &mut Page) -> Result<String> {
    let mut engine = Engine::new(&["live"], escape_of);
    engine.add(name, text)?;
    engine.add("base.html", "[{% block main %}{% endblock %}]").expect("it is one");
    engine.render(name, page, Limits::default())
}

fn render(text: &str) -> (String, Vec<(String, String)>) {
    let mut page = Page::default();
    let made = render_as("t.html", text, &mut page);
    (made.unwrap_or_else(|e| panic!("{text}: {e}")), page.blocks)
}

const LOOP: &str = "{% set x = n + 1 %}{% for w in words %}{% call live('w:' ~ w, tag='li') %}\
                    {{ w }} {{ x }} <i>{{ loop.index }}</i>{% endcall %}{% endfor %}";

#[test]
fn blocks_are_elements_and_the_host_is_told() {
    let (made, blocks) = render(LOOP);
    let first = "a&lt; 8 <i>1</i>";
    let second = "b 8 <i>2</i>";
    assert_eq!(
        made,
        format!("<li data-live=\"w:a&lt;\">{first}</li><li data-live=\"w:b\">{second}</li>")
    );
    assert_eq!(blocks, [("w:a<".into(), first.into()), ("w:b".into(), second.into())]);
    let text = "{% call live(n, class='a \"b', aria_live='polite') %}{{ '<' }}{% endcall %}";
    let made = render(text).0;
    assert_eq!(made, "<div data-live=\"7\" class=\"a &quot;b\" aria-live=\"polite\">&lt;</div>");
    let text =
        "{% extends 'base.html' %}{% block main %}{% call live('a') %}x{% endcall %}{% endblock %}";
    assert_eq!(render(text).0, "[<div data-live=\"a\">x</div>]");
    let mut page = Page { hides: true, ..Page::default() };
    let made = render_as("t.html", "{% call live('a') %}x{% endcall %}", &mut page);
    assert_eq!(made.expect("rendered"), "<div>x</div>");
}

#[test]
fn another_engine_can_have_a_macro_for_it() {
    let text = format!(
        "{{% macro live(name, tag='div') %}}<{{{{ tag }}}} data-live=\"{{{{ name }}}}\">{{{{ caller() }}}}\
         </{{{{ tag }}}}>{{% endmacro %}}{LOOP}"
    );
    let mut env = minijinja::Environment::new();
    env.add_template("t.html", &text).expect("it is one");
    let data = minijinja::context!(words => ["a<", "b"], n => 7);
    let theirs = env.get_template("t.html").and_then(|t| t.render(data)).expect("rendered");
    let (with_macro, blocks) = render(&text);
    assert_eq!((theirs.as_str(), blocks.len()), (with_macro.as_str(), 0));
    assert_eq!(theirs, render(LOOP).0);
}

#[test]
fn mistakes_are_errors() {
    let call = |head: &str| format!("{{% call {head} %}}x{{% endcall %}}");
    let cases = [
        (call("live()"), "one name"),
        (call("live('')"), "1 to 200 bytes"),
        (call(&format!("live('{}')", "x".repeat(201))), "1 to 200 bytes"),
        (call("live('a', 'b')"), "one name"),
        (call("live('a', tag='x y')"), "name of an element"),
        (call("live('a', tag=1)"), "name of an element"),
        (call("live('a', **{'x y': 1})"), "name of an attribute"),
        ("{{ live('a') }}".to_owned(), "{% call live"),
        ("{% set f = live %}{{ f('a', caller=1) }}".to_owned(), "{% call live"),
        (format!("{{% call live('a') %}}{}{{% endcall %}}", call("live('b')")), "in live blocks"),
        ("{% call live('a') %}{{ x.y }}{% endcall %}".to_owned(), "undefined"),
    ];
    for (text, wanted) in &cases {
        let e = render_as("t.html", text, &mut Page::default()).expect_err(text).to_string();
        assert!(e.contains(wanted) && e.contains("t.html:1:"), "{text}: {e}");
    }
    let e = render_as("t.txt", &call("live('a')"), &mut Page::default()).expect_err("no HTML");
    assert!(e.to_string().contains("parts of HTML"), "{e}");
}
