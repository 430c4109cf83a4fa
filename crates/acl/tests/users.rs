//! Users and their permissions over the data commands, without a server.

use std::ops::Range;
use std::sync::Arc;

use acl::file::{config_line, configured, line, parse, text};
use acl::{Acl, Catalogue, DEFAULT, Denied, Ground, Reason, User, check, may_listen, reads_all};
use commands::row::Row;

/// The data commands, and behind them their subcommands.
struct Rows(Vec<(&'static Row, Range<u16>)>);

impl Rows {
    fn new() -> Self {
        let mut next = commands::all().count() as u16;
        let (mut all, mut subs) = (Vec::new(), Vec::new());
        for command in commands::all() {
            let first = next;
            next += command.subs.len() as u16;
            all.push((&command.row, first..next));
            subs.extend(command.subs.iter().map(|sub| (&sub.row, 0..0)));
        }
        all.extend(subs);
        Self(all)
    }
}

impl Catalogue for Rows {
    fn len(&self) -> u16 {
        self.0.len() as u16
    }

    fn row(&self, id: u16) -> &'static Row {
        self.0[usize::from(id)].0
    }

    fn subs(&self, id: u16) -> Range<u16> {
        self.0[usize::from(id)].1.clone()
    }
}

fn setup() -> (Rows, Acl) {
    let rows = Rows::new();
    let acl = Acl::new(&rows);
    (rows, acl)
}

fn ground(rows: &Rows) -> Ground<'_> {
    Ground { table: rows, all_channels: false }
}

/// A new user with these rules.
fn user(rows: &Rows, acl: &Acl, name: &str, rules: &str) -> Arc<User> {
    let words: Vec<&[u8]> = rules.split(' ').map(str::as_bytes).collect();
    acl.set(ground(rows), name.as_bytes(), &words).expect("rules are right");
    acl.user(name.as_bytes()).expect("there is such a user")
}

/// Whether the user may call this; the reason and the argument if not.
fn may(rows: &Rows, user: &User, call: &str) -> Result<(), (Reason, usize)> {
    let argv: Vec<&str> = call.split(' ').collect();
    let sub = argv.get(1).and_then(|sub| rows.named(format!("{}|{sub}", argv[0]).as_bytes()));
    let id = sub.or_else(|| rows.named(argv[0].as_bytes())).expect("a command");
    check(rows, user, id, argv.as_slice()).map_err(|Denied { reason, arg }| (reason, arg))
}

#[test]
fn a_new_user_may_do_nothing_and_the_default_one_everything() {
    let (rows, acl) = setup();
    assert!(acl.default_user().is_free() && acl.server().is_free() && acl.is_open());
    assert_eq!(may(&rows, acl.default_user(), "get k"), Ok(()));
    let u = user(&rows, &acl, "u", "on >secret");
    assert!(!u.is_free());
    assert_eq!(may(&rows, &u, "get k"), Err((Reason::Command, 0)));
    assert!(acl.authenticate(b"u", b"secret").is_some_and(|found| Arc::ptr_eq(&found, &u)));
    assert!(acl.authenticate(b"u", b"other").is_none() && !acl.lets_in(b"v", b"secret"));
}

#[test]
fn commands_keys_and_channels_are_checked() {
    let (rows, acl) = setup();
    let u = user(&rows, &acl, "u", "+@read -mget +object|encoding %R~in:* ~own:* &news");
    assert_eq!(may(&rows, &u, "GET in:1"), Ok(()));
    assert_eq!(may(&rows, &u, "get out"), Err((Reason::Key, 1)));
    assert_eq!(may(&rows, &u, "mget in:1"), Err((Reason::Command, 0)));
    assert_eq!(may(&rows, &u, "set own:1 x"), Err((Reason::Command, 0)));
    assert_eq!(may(&rows, &u, "object encoding own:1"), Ok(()));
    let u = user(&rows, &acl, "u", "+@write");
    assert_eq!(may(&rows, &u, "set own:1 x"), Ok(()));
    assert_eq!(may(&rows, &u, "set in:1 x"), Err((Reason::Key, 1)));
    assert_eq!(may(&rows, &u, "mset own:1 x other y"), Err((Reason::Key, 3)));
    assert!(may_listen(&u, b"news", false) && !may_listen(&u, b"new", false));
    assert!(may_listen(&u, b"news", true) && !may_listen(&u, b"n*", true));
}

#[test]
fn one_selector_must_allow_the_whole_call() {
    let (rows, acl) = setup();
    let u = user(&rows, &acl, "u", "+get ~a (+mset ~b)");
    assert_eq!(may(&rows, &u, "mset b 1"), Ok(()));
    // The greatest of both refusals is the reason.
    assert_eq!(may(&rows, &u, "mset b 1 a 2"), Err((Reason::Key, 3)));
    assert_eq!(may(&rows, &u, "get b"), Err((Reason::Key, 1)));
    let sort = rows.named(b"SORT").expect("a command");
    let argv = ["sort", "a"].as_slice();
    let reads = |rules: &str| reads_all(&rows, &user(&rows, &acl, "r", rules), sort, argv);
    assert!(!reads("+sort ~a"));
    assert!(reads("resetkeys ~*"));
}

#[test]
fn a_change_is_whole_and_says_who_may_listen_to_less() {
    let (rows, acl) = setup();
    let u = user(&rows, &acl, "u", "on allcommands allkeys &a &b");
    let wrong = acl.set(ground(&rows), b"u", &[b"off", b"+nothing"]);
    assert_eq!(
        wrong.map(|_| ()).unwrap_err(),
        "Error in ACL SETUSER modifier '+nothing': Unknown command or category name in ACL"
    );
    assert!(u.rules().on);
    let set = |words: &[&[u8]]| acl.set(ground(&rows), b"u", words).expect("right");
    assert!(set(&[b"&c"]).is_none());
    let narrowed = set(&[b"resetchannels", b"&a"]).expect("fewer channels");
    assert!(Arc::ptr_eq(narrowed.user(), &u));
    assert!(narrowed.may_listen(b"a", false) && !narrowed.may_listen(b"b", false));
}

#[test]
fn users_that_are_deleted_or_replaced_may_do_nothing() {
    let (rows, acl) = setup();
    let (u, v) = (user(&rows, &acl, "u", "+get ~*"), user(&rows, &acl, "v", "+get ~*"));
    assert_eq!(acl.delete(ground(&rows), &[b"u", b"nobody"]).len(), 1);
    assert_eq!(may(&rows, &u, "get k"), Err((Reason::Command, 0)));
    let new = parse(ground(&rows), "users.acl", b"user w on +@all ~*\n\n").expect("right");
    let replaced = acl.replace(ground(&rows), new);
    assert!(replaced.gone.len() == 1 && Arc::ptr_eq(&replaced.gone[0], &v));
    assert_eq!(may(&rows, &v, "get k"), Err((Reason::Command, 0)));
    let names: Vec<_> = acl.all().iter().map(|u| u.shown().into_owned()).collect();
    assert_eq!(names, ["default", "w"]);
}

#[test]
fn users_come_back_from_their_lines() {
    let (rows, acl) = setup();
    let u = user(&rows, &acl, "u", "on >p +@read -get %R~in:* ~o (+set ~x) resetchannels &c?");
    let all = text(acl.all().iter().map(|u| &**u));
    let read = parse(ground(&rows), "users.acl", &all).expect("its own text");
    let (name, rules) = &read[1];
    assert!(name == b"u" && *rules == *u.rules());
    let lines = [config_line(&u)];
    let from_config = configured(ground(&rows), &lines, acl.default_user()).expect("its own line");
    assert!(from_config.users[1].1 == *u.rules() && from_config.disabled.is_empty());
    assert!(
        from_config.users[0].0 == DEFAULT && from_config.users[0].1 == *acl.default_user().rules()
    );
    acl.set(ground(&rows), b"u", &[b"off"]).expect("right");
    let off = configured(ground(&rows), &[line(&u)], acl.default_user()).expect("its own line");
    assert_eq!(off.disabled, ["u"]);
}

#[test]
fn a_file_is_refused_with_all_its_errors() {
    let (rows, _) = setup();
    let text = b"user a on\nuser a on\nnobody\nuser b +x +y ~\t";
    let errors = parse(ground(&rows), "f", text).unwrap_err();
    for part in ["Duplicate user 'a' found on line 2", "f:3 should start", "'+x'", "'+y'"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    let lines: [&[u8]; 2] = [b"user a on", b"user a off"];
    let acl = Acl::new(&rows);
    assert!(configured(ground(&rows), &lines, acl.default_user()).is_err());
}

#[test]
fn requirepass_applies_when_it_changes() {
    let (rows, acl) = setup();
    acl.follow_requirepass(b"one");
    assert!(!acl.is_open() && acl.lets_in(DEFAULT, b"one") && !acl.takes_any_password());
    acl.set(ground(&rows), DEFAULT, &[b"nopass"]).expect("right");
    acl.follow_requirepass(b"one");
    assert!(acl.is_open(), "the option has not changed, so the rules stay");
    acl.follow_requirepass(b"two");
    assert!(!acl.is_open() && acl.lets_in(DEFAULT, b"two") && !acl.lets_in(DEFAULT, b"one"));
    acl.follow_requirepass(b"");
    assert!(acl.is_open());
}
