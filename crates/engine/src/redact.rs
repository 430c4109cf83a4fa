//! Arguments that must not be shown: passwords, in the slow log and to MONITOR.

use resp::Args;

/// The text that is shown instead of them.
pub(crate) const TEXT: &str = "(redacted)";

/// Whether argument `i` is one of those: the password of AUTH (and the user before it), those
/// behind AUTH in HELLO and MIGRATE, everything about a user in ACL, and the values of sensitive options in CONFIG SET.
pub(crate) fn hides(args: &Args<'_>, i: usize) -> bool {
    if args.is(0, "auth") {
        return i > 0;
    }
    if args.is(0, "hello") {
        return (2..i).any(|at| args.is(at, "auth") && i <= at + 2);
    }
    if args.is(0, "acl") {
        return i > 1 && ["setuser", "deluser", "getuser"].iter().any(|sub| args.is(1, sub));
    }
    if args.is(0, "migrate") {
        // Behind the options that have values, `auth` and `keys` are words like any other.
        let mut at = 6;
        while at < i && !args.is(at, "keys") {
            let hidden =
                if args.is(at, "auth") { 1 } else { 2 * usize::from(args.is(at, "auth2")) };
            if i <= at + hidden {
                return true;
            }
            at += 1 + hidden;
        }
        return false;
    }
    let is_value = args.is(0, "config") && args.is(1, "set") && i >= 3 && i % 2 == 1;
    is_value && args.get(i - 1).is_some_and(config::is_sensitive)
}

#[cfg(test)]
mod tests {
    use resp::Span;

    use super::*;

    fn shown(line: &str) -> String {
        let mut words: Vec<Vec<u8>> = line.split(' ').map(|w| w.as_bytes().to_vec()).collect();
        let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
        let args = Args::new(&[], &spans, &mut words);
        let show = |i| if hides(&args, i) { "*" } else { std::str::from_utf8(&args[i]).unwrap() };
        (0..args.len()).map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn passwords_alone() {
        let cases = [
            ("AUTH secret", "AUTH *"),
            ("auth user secret", "auth * *"),
            ("HELLO 3 AUTH user secret SETNAME n", "HELLO 3 AUTH * * SETNAME n"),
            ("HELLO 3 SETNAME n", "HELLO 3 SETNAME n"),
            ("CONFIG SET maxmemory 1 requirepass p", "CONFIG SET maxmemory 1 requirepass *"),
            ("CONFIG SET requirepass", "CONFIG SET requirepass"),
            ("ACL SETUSER alice on >p", "ACL SETUSER * * *"),
            ("MIGRATE h 1 k 0 9 COPY AUTH p KEYS a", "MIGRATE h 1 k 0 9 COPY AUTH * KEYS a"),
            ("MIGRATE h 1 k 0 9 AUTH2 u p REPLACE", "MIGRATE h 1 k 0 9 AUTH2 * * REPLACE"),
            ("MIGRATE h 1 k 0 9 KEYS auth a", "MIGRATE h 1 k 0 9 KEYS auth a"),
            ("acl whoami", "acl whoami"),
            ("SET auth secret", "SET auth secret"),
        ];
        for (line, expected) in cases {
            assert_eq!(shown(line), expected);
        }
    }
}
