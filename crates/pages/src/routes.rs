//! The routes of a site: which request is answered by which template, or calls which function.
//!
//! One route per line: method, path, what answers it, options.
//!
//! ```text
//! # the blog
//! GET  /               index.html
//! GET  /post/{slug}    post.html
//! GET  /feed.xml       feed.xml     type=application/rss+xml
//! GET  /files/{path*}  files.html   status=200 cache=no
//! POST /like/{id}      call:like    keys=likes:{id} user=writer csrf=yes
//! ```
//!
//! A word in braces stands for one segment of the path; with a star, at the end, for all that are left. Where
//! several routes fit, a plain word comes before one in braces, segment by segment. Looking a path up takes
//! time in proportion to its segments, however many routes there are.

use std::collections::HashMap;
use std::sync::Arc;

use http1::Method;

/// Segments of a path that are told apart.
const SEGMENTS_MAX: usize = 64;

/// What answers a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The template with this name.
    Template(String),
    /// The function with this name, by FCALL, with these keys, which may contain parameters of the path.
    Call {
        /// Its name.
        function: String,
        /// Its keys.
        keys: Vec<String>,
        /// As whom it is called; empty: as the user of the site.
        user: String,
        /// Requests must carry a token.
        csrf: bool,
    },
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its number, which says nothing outside of its site.
    pub id: usize,
    /// The method.
    pub method: Method,
    /// As it is written.
    pub pattern: String,
    /// The names of the parameters in the pattern.
    pub names: Vec<String>,
    /// What answers.
    pub action: Action,
    /// The status of what the template makes.
    pub status: u16,
    /// The type of what the template makes.
    pub content_type: String,
    /// Whether pages may be kept.
    pub caches: bool,
}

#[derive(Debug, Default)]
struct Node {
    words: HashMap<String, Node>,
    any: Option<Box<Node>>,
    here: Vec<Arc<Route>>,
    rest: Vec<Arc<Route>>,
}

/// All routes of a site.
#[derive(Debug, Default)]
pub struct Routes {
    root: Node,
    count: usize,
    /// Routes as they are written, with the templates that they name.
    templates: Vec<(String, String)>,
    /// Routes as they are written, by their numbers.
    names: Vec<Arc<str>>,
}

/// What is found for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// This route, with the values of its parameters.
    Route(Arc<Route>, Vec<String>),
    /// Only routes for other methods.
    Methods(Vec<Method>),
    /// Nothing.
    Nothing,
}

impl Routes {
    /// Parses a file of routes. Lines that cannot be read are left out and told of, with their numbers.
    #[must_use]
    pub fn parse(text: &str) -> (Self, Vec<String>) {
        let (mut routes, mut errors) = (Self::default(), Vec::new());
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let added = route(line).and_then(|route| routes.add(route));
            if let Err(why) = added {
                errors.push(format!("line {}: {why}", i + 1));
            }
        }
        (routes, errors)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Methods and paths of routes, with the templates that they name.
    #[must_use]
    pub fn templates(&self) -> &[(String, String)] {
        &self.templates
    }

    /// Methods and paths of the first routes, by their numbers.
    pub fn names(&self, max: usize) -> impl Iterator<Item = Arc<str>> + '_ {
        self.names.iter().take(max).map(Arc::clone)
    }

    fn add(&mut self, mut route: Route) -> Result<(), String> {
        let pattern = route.pattern.clone();
        // Also a bound of the tree's depth.
        if pattern.matches('/').count() > SEGMENTS_MAX {
            return Err(format!("a path has {SEGMENTS_MAX} segments at most"));
        }
        let mut node = &mut self.root;
        let mut has_rest = false;
        for segment in pattern.split('/').skip(1) {
            if has_rest {
                return Err("nothing may stand behind a parameter with a star".into());
            }
            let Some(name) = segment.strip_prefix('{').and_then(|s| s.strip_suffix('}')) else {
                node = node.words.entry(segment.to_owned()).or_default();
                continue;
            };
            let bare = name.strip_suffix('*').unwrap_or(name);
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if bare.is_empty() || !bare.chars().all(fits) || bare.as_bytes()[0].is_ascii_digit() {
                return Err(format!("'{name}' is no name for a parameter"));
            }
            if route.names.iter().any(|n| n == bare) {
                return Err(format!("there are two parameters '{bare}'"));
            }
            route.names.push(bare.to_owned());
            has_rest = bare.len() < name.len();
            if !has_rest {
                node = node.any.get_or_insert_default();
            }
        }
        let place = if has_rest { &mut node.rest } else { &mut node.here };
        if place.iter().any(|r| r.method == route.method) {
            return Err(format!("there is a route for {} {pattern} already", route.method.name()));
        }
        if let Action::Template(name) = &route.action {
            let at = format!("{} {pattern}", route.method.name());
            self.templates.push((at, name.clone()));
        }
        self.names.push(format!("{} {pattern}", route.method.name()).into());
        route.id = self.count;
        self.count += 1;
        place.push(Arc::new(route));
        Ok(())
    }

    /// The route for a request. HEAD is answered by a route for GET.
    #[must_use]
    pub fn find(&self, method: Method, path: &str) -> Found {
        let Some(rest) = path.strip_prefix('/') else { return Found::Nothing };
        if rest.bytes().filter(|b| *b == b'/').count() > SEGMENTS_MAX {
            return Found::Nothing;
        }
        let method = if method == Method::Head { Method::Get } else { method };
        let mut others = Vec::new();
        // Plain word or parameter is a choice at every segment: so many are tried.
        let mut left = 4096;
        let mut values = Vec::new();
        match look(&self.root, Some(rest), method, &mut values, &mut others, &mut left) {
            Some(route) => Found::Route(route, values.into_iter().map(str::to_owned).collect()),
            None if others.is_empty() => Found::Nothing,
            None => Found::Methods(others),
        }
    }
}

/// Looks for the route of what is left of a path; none is left behind its last segment.
fn look<'p>(
    node: &Node,
    rest: Option<&'p str>,
    method: Method,
    values: &mut Vec<&'p str>,
    others: &mut Vec<Method>,
    left: &mut u32,
) -> Option<Arc<Route>> {
    *left = left.checked_sub(1)?;
    let Some(rest) = rest else { return pick(&node.here, method, others) };
    let (first, next) = match rest.split_once('/') {
        Some((first, next)) => (first, Some(next)),
        None => (rest, None),
    };
    if let Some(node) = node.words.get(first)
        && let Some(found) = look(node, next, method, values, others, left)
    {
        return Some(found);
    }
    if let Some(node) = &node.any
        && !first.is_empty()
    {
        values.push(first);
        if let Some(found) = look(node, next, method, values, others, left) {
            return Some(found);
        }
        values.pop();
    }
    let found = pick(&node.rest, method, others)?;
    values.push(rest);
    Some(found)
}

/// The route for a method, or the methods that there are.
fn pick(routes: &[Arc<Route>], method: Method, others: &mut Vec<Method>) -> Option<Arc<Route>> {
    let found = routes.iter().find(|r| r.method == method).cloned();
    if found.is_none() {
        others.extend(routes.iter().map(|r| r.method));
    }
    found
}

/// The type of what a template makes, by its name.
#[must_use]
pub fn template_type(name: &str) -> &'static str {
    http1::mime::of(name.strip_suffix(".j2").unwrap_or(name))
}

fn route(line: &str) -> Result<Route, String> {
    let mut words = line.split_whitespace();
    let (Some(method), Some(pattern), Some(action)) = (words.next(), words.next(), words.next())
    else {
        return Err("a route has a method, a path and a template".into());
    };
    let method = Method::named(method)
        .filter(|m| !matches!(m, Method::Head | Method::Options))
        .ok_or_else(|| format!("there are no routes for the method '{method}'"))?;
    if !pattern.starts_with('/') {
        return Err(format!("the path '{pattern}' does not begin with a slash"));
    }
    let mut route = Route {
        id: 0,
        method,
        pattern: pattern.to_owned(),
        names: Vec::new(),
        action: Action::Template(action.to_owned()),
        status: 200,
        content_type: String::new(),
        caches: true,
    };
    let (mut keys, mut user, mut csrf) = (Vec::new(), String::new(), false);
    for option in words {
        let Some((name, value)) = option.split_once('=') else {
            return Err(format!("'{option}' is no option"));
        };
        match name {
            "type" if http1::response::is_value(value) => value.clone_into(&mut route.content_type),
            "status" => {
                route.status = value
                    .parse()
                    .ok()
                    .filter(|s| (200..600).contains(s) && *s != 204 && *s != 304)
                    .ok_or_else(|| format!("'{value}' is no status of a page"))?;
            }
            "cache" if value == "yes" || value == "no" => route.caches = value == "yes",
            "csrf" if value == "yes" || value == "no" => csrf = value == "yes",
            "keys" => keys = value.split(',').map(str::to_owned).collect(),
            "user" => value.clone_into(&mut user),
            _ => return Err(format!("there is no option '{option}'")),
        }
    }
    if let Some(function) = action.strip_prefix("call:") {
        route.action = Action::Call { function: function.to_owned(), keys, user, csrf };
    } else if !keys.is_empty() || !user.is_empty() || csrf {
        return Err("only a function has keys, a user and a token".into());
    } else if !method.is_safe() {
        return Err("only a function can change something: write call:NAME".into());
    } else if route.content_type.is_empty() {
        route.content_type = template_type(action).to_owned();
    }
    Ok(route)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(found: &Found) -> (String, Vec<String>) {
        match found {
            Found::Route(r, values) => match &r.action {
                Action::Template(name) => (name.clone(), values.clone()),
                Action::Call { function, .. } => (format!("call {function}"), values.clone()),
            },
            other => (format!("{other:?}"), Vec::new()),
        }
    }

    #[test]
    fn plain_words_come_first() {
        let text = "# a\n\nGET / i\nGET /a/{x} x status=201 type=text/x\nGET /a/b b\nPOST /a/b call:f keys=k:{x},l user=u\n\
                    GET /a/{x}/c c\nGET /a/b/d d\nGET /f/{p*} f cache=no\n";
        let (routes, errors) = Routes::parse(text);
        assert_eq!((routes.len(), errors), (7, Vec::new()));
        let get = |path: &str| template(&routes.find(Method::Get, path));
        let is = |path: &str, name: &str, values: &[&str]| {
            assert_eq!(
                get(path),
                (name.to_owned(), values.iter().map(|v| (*v).to_owned()).collect())
            );
        };
        is("/", "i", &[]);
        is("/a/b", "b", &[]);
        is("/a/y", "x", &["y"]);
        is("/a/b/c", "c", &["b"]);
        is("/a/b/d", "d", &[]);
        is("/f/x/y/z", "f", &["x/y/z"]);
        is("/a/", "Nothing", &[]);
        is("/a/y/z", "Nothing", &[]);
        is(&"/a".repeat(100), "Nothing", &[]);
        assert_eq!(template(&routes.find(Method::Head, "/a/b")).0, "b");
        assert_eq!(template(&routes.find(Method::Post, "/a/b")).0, "call f");
        assert_eq!(routes.find(Method::Post, "/a/y"), Found::Methods(vec![Method::Get]));
    }

    #[test]
    fn mistakes_are_named_with_their_lines() {
        let text = "GET /\nGET a b\nFETCH / a\nGET /{} a\nGET /{a}/{a} a\nGET /{a*}/b a\nGET / a x\n\
                    GET / a x=y\nPOST / a\nGET / a user=b\nGET / a csrf=yes\nPOST / call:f csrf=on\nGET / a status=99\nGET /x a\nGET /x b\nGET /{1} a";
        let (routes, errors) = Routes::parse(text);
        assert_eq!((routes.len(), errors.len()), (1, 15), "{errors:?}");
        assert!(errors[14].starts_with("line 16: ") && errors[13].starts_with("line 15: there is"));
    }

    #[test]
    fn many_routes_are_found_as_fast_as_few() {
        let text: String = (0..100_000).map(|i| format!("GET /r{i}/{{x}} t{i}\n")).collect();
        let (routes, errors) = Routes::parse(&text);
        assert!(errors.is_empty());
        assert_eq!(template(&routes.find(Method::Get, "/r99999/7")).0, "t99999");
    }
}
