//! The reference of options: Markdown, from the rows that the loader uses. A test holds docs/live-options.md equal to
//! it.

use super::row::{Kind, Origin, Row, Status};
use super::rows;
use super::tree::{flat, join};
use std::fmt::Write as _;

/// Groups that are in several places, by title and a place.
const SHARED: [(&str, &str); 5] = [
    ("Namespaces", "channel.namespaces[]"),
    ("Proxies", "proxies[]"),
    ("Tokens", "client.token"),
    ("TLS of proxies", "proxies[].http.tls"),
    ("Rates", "client.rate_limit.client_command.publish"),
];

/// The page docs/live-options.md.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(
        "# Options of live channels\n\n\
         `live-config` names a `config.json` of Centrifugo 6. This page is made from the table that reads it, and lists \
         every option that is known; a name that is not known stops the start. *(PRO)* is an option of Centrifugo PRO, \
         *(Apus)* an addition.\n\n\
         - A value that is zero or empty counts as not set, as in Centrifugo: then the default counts. Below zero is \
         \"none\" where that makes sense.\n\
         - Durations are as `25s`, `1m30s`, `300ms`; numbers are refused.\n\
         - Each option has a variable of the environment, which counts more than the file: \
         `client.ping_interval` has `CENTRIFUGO_CLIENT_PING_INTERVAL`, and the namespace `chat` has \
         `CENTRIFUGO_CHANNEL_NAMESPACES_CHAT_HISTORY_SIZE`.\n\
         - What does nothing here is noted at the start, with the reason that stands below.\n",
    );
    let mut supported = String::new();
    let mut listed = String::new();
    let mut counts = String::new();
    for row in rows::ROOT {
        match (row.status, row.kind) {
            (Status::AsGroup, Kind::Group(inner)) => {
                let _ = write!(supported, "\n## `{}`\n\n{HEAD}", row.name);
                table(&mut supported, inner, row.name);
            }
            (Status::AsGroup, _) => {}
            (_, Kind::Group(inner)) => {
                line(&mut listed, row, row.name);
                counted(&mut counts, inner, row.name);
                let refused =
                    flat(inner).into_iter().filter(|row| matches!(row.status, Status::Refused(_)));
                refused.for_each(|inner| line(&mut listed, inner, &join(row.name, inner.name)));
            }
            _ => line(&mut listed, row, row.name),
        }
    }
    page.push_str(&supported);
    for (title, place) in SHARED {
        let rows = at(place);
        let _ = write!(page, "\n## {title}\n\n{}\n\n{HEAD}", places(place));
        table(&mut page, rows, "");
    }
    let _ = write!(page, "\n## Keys\n\n{KEYS}{HEAD}{counts}");
    let _ = write!(page, "\n## What does nothing here\n\n{KEYS_APART}{HEAD}{listed}");
    page.push_str(DIFFERENCES);
    page
}

const DIFFERENCES: &str = "
## Where the rules differ from Centrifugo's

- A name that is no option stops the start; Centrifugo logs it. Durations are texts; Centrifugo takes a number as
  nanoseconds. YAML and TOML are not read.
- When the document of keys (JWKS) cannot be fetched, clients are told to try again (100); Centrifugo ends their
  connections for good (3500). A key that is gone from its document counts for an hour and five minutes at most; in
  Centrifugo for as long as it is used. A token that names an unknown key causes one fetch in ten seconds at most.
- Tokens: base64url is strict, `crit` in a header is refused, RSA keys have 2048 to 8192 bits.
- Redirects of a proxy's endpoint and of a document of keys are not followed: they are another status than 200. What a
  proxy answers has 4 MiB at most, and a document 1 MiB. An endpoint has 512 requests at one time; others wait within
  their `timeout`, 16,384 at most, and more are refused (100).
- Commands that wait for those before them have 1 MiB in a connection; with more it is ended (3008). Centrifugo stops
  reading. Pings are answered meanwhile.
- sub_refresh with an expired token is refused (109); in Centrifugo the subscription then never expires.
- `client.connection_rate_limit` is connections in a second, as its documentation says. `client.connection_limit` is
  exact: of those that begin at the same time, the ones that find no place any more are told to come back (3013).
- Users of `client.user_id_http_header` have their personal channel, too.
- A channel whose namespace is of a kind that is not supported is not available (108), to clients and to the API.
- `server_tags_filter` in a proxy's answer is an error (100), `label_filter` and `all_users` in a request of the API
  are not available (108): without them more clients would be reached than meant. Centrifugo without PRO leaves them
  out.
- A response of `connect_code_to_http_response` has a status from 200 on.
- Requests for endpoints of clients have 64 KiB of an address and 80 KiB of a head at most (414, 431), as much as they have of a
  body; Go takes 1 MiB. On other paths there are 8 and 16 KiB. Bodies of the API have Apus's `web-max-body` at most.
- Errors of the API say which field is wrong behind Centrifugo's text.
";

const KEYS: &str = "\
Changing a prefix needs a restart. Whatever prefix there is, it is that of all nodes which share the channels.\n\n";

const KEYS_APART: &str =
    "[Keys](#keys) has the options within these groups that count all the same.\n\n";

const HEAD: &str = "| option | default | |\n|---|---|---|\n";

/// Where the options of a shared group stand.
fn places(place: &str) -> &'static str {
    match place {
        "channel.namespaces[]" => {
            "Options of `channel.without_namespace`, and of each item of `channel.namespaces`."
        }
        "proxies[]" => {
            "Options of each proxy: those beside the events (`client.proxy.connect`, `channel.proxy.subscribe`, \
             `rpc.proxy` …), and each item of `proxies`, which has a `name`."
        }
        "client.token" => {
            "Options of `client.token`, and of `client.subscription_token` if that is `enabled`."
        }
        "proxies[].http.tls" => "Options of `http.tls` of proxies.",
        _ => "Options of each kind of command in `client.rate_limit.client_command`.",
    }
}

/// Options that count although their group does nothing.
fn counted(page: &mut String, rows: &'static [Row], path: &str) {
    for row in flat(rows) {
        let path = join(path, row.name);
        match row.kind {
            Kind::Group(inner) if row.status == Status::AsGroup => counted(page, inner, &path),
            _ if row.status == Status::Counts => line(page, row, &path),
            _ => {}
        }
    }
}

/// The rows of the group at a path.
fn at(path: &str) -> &'static [Row] {
    let mut rows = rows::ROOT;
    for name in path.split('.') {
        let name = name.trim_end_matches("[]");
        let row =
            flat(rows).into_iter().find(|row| row.name == name).expect("the path is of the table");
        rows = match row.kind {
            Kind::Group(inner) | Kind::List(inner) => inner,
            _ => &[],
        };
    }
    rows
}

/// The title of a group that is in several places.
fn shared(rows: &'static [Row]) -> Option<&'static str> {
    // With a name or a switch before them they are the same options.
    let names = |rows| {
        let names = flat(rows).into_iter().map(|row| row.name);
        names.filter(|name| !matches!(*name, "name" | "enabled")).collect::<Vec<_>>()
    };
    let own = names(rows);
    let is_same = |place: &str| own == names(at(place));
    SHARED.iter().find(|(_, place)| is_same(place)).map(|(title, _)| *title)
}

fn table(page: &mut String, rows: &'static [Row], path: &str) {
    for row in flat(rows) {
        let path = join(path, row.name);
        match (row.status, row.kind) {
            (Status::AsGroup, Kind::Group(inner) | Kind::List(inner)) => {
                let path =
                    if matches!(row.kind, Kind::List(_)) { format!("{path}[]") } else { path };
                match shared(inner) {
                    Some(title) => {
                        let anchor = title.to_lowercase().replace(' ', "-");
                        let _ = writeln!(page, "| `{path}.*` | | see [{title}](#{anchor}) |");
                    }
                    None => table(page, inner, &path),
                }
            }
            _ => line(page, row, &path),
        }
    }
}

fn line(page: &mut String, row: &Row, path: &str) {
    let path = match row.kind {
        Kind::Group(_) => format!("{path}.*"),
        Kind::List(_) => format!("{path}[]"),
        _ => path.to_owned(),
    };
    let origin = match row.origin {
        Origin::Centrifugo => "",
        Origin::Pro => "*(PRO)* ",
        Origin::Apus => "*(Apus)* ",
    };
    let (default, text) = match row.status {
        Status::AsGroup | Status::Counts => {
            let default = match (row.kind, row.default) {
                (Kind::Bool, "") => "`false`".to_owned(),
                (Kind::Int, "") => "`0`".to_owned(),
                (_, "") => String::new(),
                (_, default) => format!("`{default}`"),
            };
            (default, row.doc.to_owned())
        }
        Status::Listed(why) => (String::new(), format!("does nothing: {why}")),
        Status::Refused(why) => (String::new(), format!("stops the start: {why}")),
    };
    let _ = writeln!(page, "| `{path}` | {default} | {origin}{text} |");
}
