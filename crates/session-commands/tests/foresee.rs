//! What an event loop sees in short input before it executes it, and which arguments are secret: both follow
//! from the rows of commands, whatever the commands are called.

mod support;

use engine::Foreseen;
use resp::{Args, Proto, Span};
use support::Server;

fn foreseen(server: &mut Server, input: &str) -> Foreseen {
    let session = server.connect(Proto::V2);
    server.thread.foresee(&server.engine, &session, input.as_bytes())
}

#[test]
fn commands_that_end_scripts_are_seen() {
    let mut server = Server::with_config("");
    for input in [
        "script kill\r\n",
        "*2\r\n$8\r\nFUNCTION\r\n$4\r\nKill\r\n",
        "*1\r\n$8\r\nSHUTDOWN\r\n",
        "*2\r\n$8\r\nfunction\r\n$5\r\nSTATS\r\n",
    ] {
        assert_eq!(foreseen(&mut server, input), Foreseen::EndsScripts, "{input}");
        assert!(server.engine.only_ends_scripts(input.as_bytes()), "{input}");
        for two in [format!("{input}get x\r\n"), format!("{input}*1\r\n$4\r\nping\r\n")] {
            assert_eq!(foreseen(&mut server, &two), Foreseen::EndsScripts, "{two}");
            assert!(!server.engine.only_ends_scripts(two.as_bytes()), "{two}");
        }
    }
    for input in
        ["", "get kill\r\n", "*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n", "*2\r\n", "nosuch\r\n"]
    {
        assert_eq!(foreseen(&mut server, input), Foreseen::Short(0), "{input}");
        assert!(!server.engine.only_ends_scripts(input.as_bytes()), "{input}");
    }
    let words = |line: &str| line.split(' ').map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>();
    assert!(server.engine.ends_scripts(&words("Script KILL")));
    assert!(server.engine.ends_scripts(&words("shutdown nosave now")));
    assert!(
        !server.engine.ends_scripts(&words("script load x")) && !server.engine.ends_scripts(&[])
    );
}

#[test]
fn scripts_are_seen_wherever_they_stand() {
    let mut server = Server::with_config("");
    for input in [
        "eval 'return 1' 0\r\n",
        "*3\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n0\r\n",
        "*1\r\n$4\r\nping\r\n*3\r\n$5\r\nfcall\r\n$1\r\nf\r\n$1\r\n0\r\n",
        "*1\r\n$5\r\nmulti\r\n*1\r\n$4\r\nping\r\n*1\r\n$4\r\nexec\r\n",
        "get x\r\nevalsha_ro 1 2\r\n",
    ] {
        assert_eq!(foreseen(&mut server, input), Foreseen::RunsScript, "{input}");
    }
    for input in [
        "*",
        "ping\r\n",
        "*1\r\n$4\r\nping\r\n*",
        "*2\r\n$3\r\nget\r\n$4\r\neval\r\n*1\r\n$4\r\nping\r\n",
        "*2\r\n$3\r\nget\r\n$6\r\n\r\n*1eval\r\n",
    ] {
        assert_eq!(foreseen(&mut server, input), Foreseen::Short(0), "{input}");
    }
}

#[test]
fn renamed_commands_are_seen_under_their_new_names() {
    let renames = [("script", "code"), ("eval", "run"), ("auth", "login")];
    let mut server = Server::with_renames(&renames);
    assert_eq!(foreseen(&mut server, "code kill\r\n"), Foreseen::EndsScripts);
    assert_eq!(foreseen(&mut server, "run 'return 1' 0\r\n"), Foreseen::RunsScript);
    assert_eq!(foreseen(&mut server, "script kill\r\n"), Foreseen::Short(0));
    assert_eq!(foreseen(&mut server, "eval x 0\r\n"), Foreseen::Short(0));
    let mut s = server.connect(Proto::V2);
    server.show(&mut s, "CONFIG SET slowlog-log-slower-than 0");
    server.show(&mut s, "LOGIN secret");
    let text = server.show(&mut s, "SLOWLOG GET 1");
    assert!(text.contains("\"LOGIN\"") && text.contains("\"(redacted)\""), "{text}");
}

/// The call, with a star in place of each secret.
fn shown(server: &Server, line: &str) -> String {
    let mut words: Vec<Vec<u8>> = line.split(' ').map(|w| w.as_bytes().to_vec()).collect();
    let table = &server.engine.table;
    let top = table.find(&words[0]).expect("a command");
    let row = table.get(table.find_sub(top, &words[1]).unwrap_or(top)).row;
    let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
    let args = Args::new(&[], &spans, &mut words);
    let show =
        |i| if row.is_secret(&args, i) { "*" } else { std::str::from_utf8(&args[i]).unwrap() };
    (0..args.len()).map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn passwords_alone_are_secret() {
    let server = Server::with_config("");
    let cases = [
        ("AUTH secret", "AUTH *"),
        ("auth user secret", "auth * *"),
        ("HELLO 3 AUTH user secret SETNAME n", "HELLO 3 AUTH * * SETNAME n"),
        ("HELLO 3 SETNAME n", "HELLO 3 SETNAME n"),
        ("CONFIG SET maxmemory 1 requirepass p", "CONFIG SET maxmemory 1 requirepass *"),
        ("CONFIG SET requirepass", "CONFIG SET requirepass"),
        ("ACL SETUSER alice on >p", "ACL SETUSER * * *"),
        ("ACL GETUSER alice", "ACL GETUSER *"),
        ("ACL DELUSER alice bob", "ACL DELUSER * *"),
        ("MIGRATE h 1 k 0 9 COPY AUTH p KEYS a", "MIGRATE h 1 k 0 9 COPY AUTH * KEYS a"),
        ("MIGRATE h 1 k 0 9 AUTH2 u p REPLACE", "MIGRATE h 1 k 0 9 AUTH2 * * REPLACE"),
        ("MIGRATE h 1 k 0 9 KEYS auth a", "MIGRATE h 1 k 0 9 KEYS auth a"),
        ("acl whoami", "acl whoami"),
        ("SET auth secret", "SET auth secret"),
    ];
    for (line, expected) in cases {
        assert_eq!(shown(&server, line), expected);
    }
}
