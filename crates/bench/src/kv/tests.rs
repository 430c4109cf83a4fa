//! The named loads: redis-benchmark's tests, each with its title and command.

use super::reel::Template;

/// One load: a command, or a mix of several.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) title: String,
    pub(crate) templates: Vec<Template>,
}

/// Name for -t, title in reports, command (empty: inline PING).
const TESTS: [(&str, &str, &str); 22] = [
    ("ping_inline", "PING_INLINE", ""),
    ("ping_mbulk", "PING_MBULK", "PING"),
    ("set", "SET", "SET key:{key} {value}"),
    ("get", "GET", "GET key:{key}"),
    ("incr", "INCR", "INCR counter:{key}"),
    ("lpush", "LPUSH", "LPUSH mylist {value}"),
    ("rpush", "RPUSH", "RPUSH mylist {value}"),
    ("lpop", "LPOP", "LPOP mylist"),
    ("rpop", "RPOP", "RPOP mylist"),
    ("sadd", "SADD", "SADD myset element:{key}"),
    ("hset", "HSET", "HSET myhash element:{key} {value}"),
    ("spop", "SPOP", "SPOP myset"),
    ("zadd", "ZADD", "ZADD myzset {rand} element:{key}"),
    ("zpopmin", "ZPOPMIN", "ZPOPMIN myzset"),
    ("lrange", "LPUSH (needed to benchmark LRANGE)", "LPUSH mylist {value}"),
    ("lrange_100", "LRANGE_100 (first 100 elements)", "LRANGE mylist 0 99"),
    ("lrange_300", "LRANGE_300 (first 300 elements)", "LRANGE mylist 0 299"),
    ("lrange_500", "LRANGE_500 (first 500 elements)", "LRANGE mylist 0 499"),
    ("lrange_600", "LRANGE_600 (first 600 elements)", "LRANGE mylist 0 599"),
    (
        "mset",
        "MSET (10 keys)",
        "MSET key:{key} {value} key:{key} {value} key:{key} {value} key:{key} {value} \
         key:{key} {value} key:{key} {value} key:{key} {value} key:{key} {value} \
         key:{key} {value} key:{key} {value}",
    ),
    ("xadd", "XADD", "XADD mystream * myfield {value}"),
    ("del", "DEL", "DEL key:{key}"),
];

/// The tests that run only when they are asked for.
const OWN: [&str; 1] = ["del"];

impl Test {
    /// A load given on the command line, titled by its first words.
    pub(crate) fn custom(templates: Vec<Template>) -> Self {
        let title = templates.iter().map(Template::title).collect::<Vec<_>>().join(" + ");
        Test { title, templates }
    }
}

/// Every key once, before a run: with a command of its own, or SET.
pub(crate) fn fill(command: Option<&str>) -> Result<Test, String> {
    let templates = match command {
        Some(command) => commands(&[command.to_owned()])?.templates,
        None => vec![template(1, TESTS[2].2)],
    };
    Ok(Test { title: "fill".into(), templates })
}

fn template(weight: u64, command: &str) -> Template {
    let args = command.split_whitespace().map(|a| a.as_bytes().to_vec()).collect();
    Template { weight, args, raw: false }
}

fn find(name: &str) -> Result<&'static str, String> {
    let lower = name.to_ascii_lowercase();
    let wanted = if lower == "ping" { "ping_mbulk" } else { &lower };
    TESTS.iter().find(|t| t.0 == wanted).map(|t| t.2).ok_or_else(|| {
        let names: Vec<&str> = TESTS.iter().map(|t| t.0).collect();
        format!("there is no test '{name}'; there are {}", names.join(", "))
    })
}

/// The tests of `-t`, all of redis-benchmark's without it; in the table's order, as there.
pub(crate) fn named(list: Option<&str>) -> Result<Vec<Test>, String> {
    let list = list.map(|l| l.to_ascii_lowercase());
    let names: Vec<&str> = list.as_deref().map(|l| l.split(',').collect()).unwrap_or_default();
    for name in names.iter().filter(|n| !matches!(**n, "ping")) {
        find(name)?;
    }
    let asked = |name: &str| {
        names.contains(&name)
            || (name.starts_with("ping_") && names.contains(&"ping"))
            || (name.starts_with("lrange_") && names.contains(&"lrange"))
            || (name == "lrange" && names.iter().any(|n| n.starts_with("lrange_")))
    };
    let chosen = TESTS.iter().filter(|(name, ..)| match list {
        Some(_) => asked(name),
        None => !OWN.contains(name),
    });
    Ok(chosen
        .map(|(_, title, command)| Test {
            title: (*title).to_owned(),
            templates: vec![template(1, command)],
        })
        .collect())
}

/// `get=9,set=1`.
pub(crate) fn mix(text: &str) -> Result<Test, String> {
    let mut templates = Vec::new();
    for part in text.split(',') {
        let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
        let weight = weight.parse::<u32>().ok().filter(|w| *w > 0);
        let weight = weight.ok_or(format!("--mix {part} is not TEST=WEIGHT"))?;
        templates.push(template(weight.into(), find(name)?));
    }
    Ok(Test { title: format!("MIX {text}"), templates })
}

/// Commands, each as `[WEIGHT@]COMMAND ARG…` with quotes as redis-cli takes them.
pub(crate) fn commands(all: &[String]) -> Result<Test, String> {
    let mut templates = Vec::new();
    for text in all {
        let (weight, command) = match text.split_once('@') {
            Some((weight, command)) if weight.parse::<u32>().is_ok_and(|w| w > 0) => {
                (weight.parse().unwrap_or(1), command)
            }
            _ => (1, text.as_str()),
        };
        let args = stdx::split::split_args(command.as_bytes())
            .map_err(|e| format!("--command {text}: {e}"))?;
        if args.is_empty() {
            return Err("--command is empty".into());
        }
        templates.push(Template { weight, args, raw: false });
    }
    Ok(Test::custom(templates))
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn names_are_those_of_redis_benchmark() {
        let titles = |list| named(list).unwrap().into_iter().map(|t| t.title).collect::<Vec<_>>();
        assert_eq!(titles(Some("get,ping,SET")), ["PING_INLINE", "PING_MBULK", "SET", "GET"]);
        assert_eq!(titles(Some("lrange_100")).len(), 2);
        assert_eq!(titles(Some("lrange")).len(), 5);
        assert_eq!(titles(None).len(), TESTS.len() - OWN.len());
    }

    #[test]
    fn commands_have_weights_and_quotes() {
        let all = ["9@GET {key}", "SET 'a b' x@y"].map(str::to_owned);
        let test = commands(&all).unwrap();
        assert_eq!((test.templates[0].weight, test.templates[1].weight), (9, 1));
        assert_eq!(test.templates[1].args, ["SET", "a b", "x@y"].map(str::as_bytes));
        assert!(commands(&["GET 'x".to_owned()]).is_err() && commands(&[" ".into()]).is_err());
    }
}
