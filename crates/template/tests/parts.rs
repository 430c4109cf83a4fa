//! What is a part of a page, and what is none. The corpus and the fuzz test make every page a second time of its parts.

mod common;

use common::{Data, escape_of};
use template::{Engine, Limits};

/// How many loops and turns of a page are kept when it is made a second time.
fn kept(templates: &[(&str, &str)]) -> (usize, usize) {
    let mut engine = Engine::new(&["host"], escape_of);
    for (name, text) in templates {
        engine.add(name, text).expect("a template");
    }
    let mut host = Data::new();
    let mut render =
        || engine.render(templates[0].0, &mut host, Limits::default()).expect("a page");
    let (first, second) = (render(), render());
    assert_eq!(first, second, "{templates:?}");
    (host.loops, host.turns)
}

#[test]
fn a_loop_is_a_part_if_it_has_no_effect_but_its_text() {
    let one = |text: &str| kept(&[("t.html", text)]);
    assert_eq!(one("{% for x in host(1, 2) %}{{ x }}{% endfor %}"), (1, 0));
    // Loops within it are kept with it, and where it is in itself matters to nobody else.
    let text = "{% for x in host(1, 2) %}{% for y in host(x) %}{{ loop.previtem }}{{ y }}{% endfor %}{% endfor %}";
    assert_eq!(one(text), (1, 0));
    assert_eq!(one("{% for x in host(1) %}{% else %}{{ host(1) }}{% endfor %}"), (1, 0));
    assert_eq!(
        one("{% for x in host(1, 2) %}{% if x > 1 %}{% break %}{% endif %}{% endfor %}"),
        (1, 0)
    );
    // It calls nothing.
    assert_eq!(one("{% for x in list %}{{ x }}{% endfor %}").0, 0);
    // The variable is seen behind the loop.
    let text = "{% for x in host() %}{% else %}{% set n = host(1) %}{% endfor %}{{ n }}";
    assert_eq!(one(text), (0, 0));
    let text = "{% for x in host() %}{% with %}{% break %}{% endwith %}{% else %}{% set n = host(1) %}{% endfor %}{{ n }}";
    assert_eq!(one(text), (0, 0));
    // A namespace, a macro, and what is captured.
    let text =
        "{% set a = namespace(n=0) %}{% for x in host(1) %}{% set a.n = x %}{% endfor %}{{ a.n }}";
    assert_eq!(one(text), (0, 0));
    let text =
        "{% macro m() %}{{ host(1) }}{% endmacro %}{% for x in host(1) %}{{ m() }}{% endfor %}";
    assert_eq!(one(text), (0, 0));
    assert_eq!(
        one("{% set t %}{% for x in host(1) %}{{ x }}{% endfor %}{% endset %}{{ t }}"),
        (0, 0)
    );
    // Another value of a variable is another part.
    let text = "{% set n = 1 %}{% for x in host(1) %}{{ n }}{% endfor %}";
    let both = format!("{text}{{% set n = 2 %}}{{% for x in host(1) %}}{{{{ n }}}}{{% endfor %}}");
    assert_eq!((one(text), one(&both)), ((1, 0), (2, 0)));
}

#[test]
fn a_loop_of_another_template_may_ask_for_the_loop_around_it() {
    let row = |row: &str| {
        let all = "{% for x in host(1, 2) %}{% include 'row.html' %}{% endfor %}";
        kept(&[("t.html", all), ("row.html", row)])
    };
    // The first page has the second row of its first one.
    assert_eq!(row("{% for y in host(3) %}{{ y }}{% endfor %}"), (3, 0));
    assert_eq!(row("{% for y in host(3) %}{{ x }}{% endfor %}"), (2, 0));
    assert_eq!(row("{% for y in host(loop.index) %}{{ y }}{% endfor %}").0, 0);
    assert_eq!(row("{% for y in host() %}{% else %}{{ loop.index }}{% endfor %}").0, 0);
    assert_eq!(row("{% for y in host(3, 4) if loop.index == 1 %}{{ y }}{% endfor %}").0, 0);
    // How deep it is shows in it.
    let all = "{% include 'row.html' %}{% for x in host([1]) recursive %}{% include 'row.html' %}{% endfor %}";
    let row = ("row.html", "{% for y in host(3) %}{{ loop.depth }}{% endfor %}");
    assert_eq!(kept(&[("t.html", all), row]), (1, 0));
}
