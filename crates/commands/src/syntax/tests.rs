//! Lines of each shape, and the trees that Redis gives for them.

use super::*;

/// A tree on one line: `name:type=TOKEN?+#key_spec(children)`.
fn show(args: &[Arg]) -> String {
    let one = |arg: &Arg| {
        let mut text = format!("{}:{}", arg.name, arg.kind.name());
        if let Some(token) = &arg.token {
            text += &format!("={token}");
        }
        for (set, mark) in [(arg.optional, "?"), (arg.multiple, "+"), (arg.multiple_token, "*")] {
            text += if set { mark } else { "" };
        }
        if let Some(spec) = arg.key_spec {
            text += &format!("#{spec}");
        }
        if arg.kind.is_group() {
            text += &format!("({})", show(&arg.arguments));
        }
        text
    };
    args.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(name: &str, specs: usize, line: &str, arity: (usize, bool), tree: &str) {
    let args = arguments(name, line, specs).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(show(&args), tree, "{line}");
    assert_eq!(required(&args), arity, "{line}");
}

#[test]
fn tokens_and_choices() {
    check(
        "getex",
        1,
        "GETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PERSIST]",
        (1, false),
        "key:key#0 expiration:oneof?(seconds:integer=EX milliseconds:integer=PX \
         unix-time-seconds:unix-time=EXAT persist:pure-token=PERSIST)",
    );
    check(
        "copy",
        2,
        "COPY source destination [DB destination-db] [REPLACE]",
        (2, false),
        "source:key#0 destination:key#1 destination-db:integer=DB? replace:pure-token=REPLACE?",
    );
    check(
        "replicaof",
        0,
        "REPLICAOF <host port | NO ONE>",
        (2, true),
        "host_port-or-no_one:oneof(host_port:block(host:string port:integer) \
         no_one:block(no:pure-token=NO one:pure-token=ONE))",
    );
    check("client|kill", 0, "CLIENT KILL ip:port", (1, true), "ip:port:string");
    check(
        "migrate",
        1,
        "MIGRATE <key | \"\"> timeout:integer",
        (2, true),
        "key-or-empty-string:oneof(key:key#0 empty-string:pure-token=\"\") timeout:integer",
    );
}

#[test]
fn repetitions() {
    check(
        "mset",
        1,
        "MSET key value [key value ...]",
        (2, false),
        "key_value:block+(key:key#0 value:string)",
    );
    check("del", 1, "DEL key [key ...]", (1, false), "key:key+#0");
    check(
        "eval",
        1,
        "EVAL script numkeys [key [key ...]] [arg [arg ...]]",
        (2, false),
        "script:string numkeys:integer key:key?+#0 arg:string?+",
    );
    check(
        "zunion",
        1,
        "ZUNION numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]",
        (2, false),
        "numkeys:integer key:key+#0 weight:integer=WEIGHTS?+ \
         aggregate:oneof=AGGREGATE?(sum:pure-token=SUM min:pure-token=MIN max:pure-token=MAX)",
    );
    check(
        "xread",
        1,
        "XREAD [COUNT count] STREAMS key [key ...] id [id ...]",
        (3, false),
        "count:integer=COUNT? streams:block=STREAMS(key:key+#0 id:string+)",
    );
    check(
        "bitfield",
        1,
        "BITFIELD key [GET encoding offset | [OVERFLOW <WRAP | SAT>] SET encoding offset value \
         [GET encoding offset | [OVERFLOW <WRAP | SAT>] SET encoding offset value ...]]",
        (1, false),
        "key:key#0 get-or-overflow_set:oneof?+(get:block=GET(encoding:string offset:integer) \
         overflow_set:block(overflow:oneof=OVERFLOW?(wrap:pure-token=WRAP sat:pure-token=SAT) \
         set:block=SET(encoding:string offset:integer value:string)))",
    );
}

#[test]
fn sort_names_its_key_specifications() {
    let line = "SORT key [BY by-pattern#1] [LIMIT offset count] \
        [GET get-pattern#1 [GET get-pattern#1 ...]] [ASC | DESC] [ALPHA] [STORE destination#2]";
    check(
        "sort",
        3,
        line,
        (1, false),
        "key:key#0 by-pattern:pattern=BY?#1 limit:block=LIMIT?(offset:integer count:integer) \
         get-pattern:pattern=GET?+*#1 order:oneof?(asc:pure-token=ASC desc:pure-token=DESC) \
         alpha:pure-token=ALPHA? destination:key=STORE?#2",
    );
    assert_eq!(
        display(line),
        "SORT key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] \
         [ASC | DESC] [ALPHA] [STORE destination]"
    );
    assert_eq!(display("X <ip:port | \"a:key\"> a:double"), "X <ip:port | \"a:key\"> a");
}

#[test]
fn nested_options() {
    check(
        "xadd",
        1,
        "XADD key [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value [field value ...]",
        (4, false),
        "key:key#0 strategy_operator_threshold_count:block?(\
         strategy:oneof(maxlen:pure-token=MAXLEN minid:pure-token=MINID) \
         operator:oneof?(equal:pure-token== approximately:pure-token=~) threshold:string \
         count:integer=LIMIT?) id-selector:oneof(auto-id:pure-token=* id:string) \
         field_value:block+(field:string value:string)",
    );
    check(
        "bitcount",
        1,
        "BITCOUNT key [start end [BYTE | BIT]]",
        (1, false),
        "key:key#0 start_end_unit:block?(start:integer end:integer \
         unit:oneof?(byte:pure-token=BYTE bit:pure-token=BIT))",
    );
    check(
        "geosearch",
        1,
        "GEOSEARCH key <FROMMEMBER member | FROMLONLAT longitude latitude> [COUNT count [ANY]]",
        (3, false),
        "key:key#0 member-or-fromlonlat:oneof(member:string=FROMMEMBER \
         fromlonlat:block=FROMLONLAT(longitude:double latitude:double)) \
         count-block:block?(count:integer=COUNT any:pure-token=ANY?)",
    );
}

#[test]
fn malformed_lines_are_found() {
    for (line, part) in [
        ("GET key [EX", "`]` is missing"),
        ("GET key ]", "closes nothing"),
        ("GET [key>", "closes nothing"),
        ("GET key []", "empty alternative"),
        ("GET key [a | ]", "empty alternative"),
        ("GET key ...", "outside of brackets"),
        ("GET a | b", "outside of brackets"),
        ("GET key [other ...]", "does not repeat"),
        ("GET [key ...]", "does not repeat"),
        ("GET key [... key]", "is followed by"),
        ("GET key <key ...>", "within `<>`"),
        ("GET \"x", "not closed"),
        ("GETX key", "does not begin with GET"),
        ("GET key#1", "no key specification 1"),
    ] {
        let error = arguments("get", line, 1).expect_err(line);
        assert!(error.contains(part), "{line}: {error}");
    }
}
