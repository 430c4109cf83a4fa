//! ACL GENPASS: <https://redis.io/docs/latest/commands/acl-genpass/>

use commands::row::Row;
use commands::{Fail, Outcome, parse};
use resp::{Args, Reply};

use super::{BASE, COMMON, sub};
use engine::{Call, SessionCommand};

/// Bits of the longest password, and of one when no length is given.
const BITS_MAX: usize = 4096;
const BITS: usize = 256;

pub(super) static GENPASS: SessionCommand = sub(
    Row {
        name: "acl|genpass",
        arity: -2,
        flags: COMMON,
        complexity: "O(1)",
        summary: "Draws a password from the operating system's randomness.",
        syntax: "ACL GENPASS [bits:integer]",
        transcript: r#"
> ACL GENPASS
~ "*"
> ACL GENPASS 5
~ "??"
> ACL GENPASS 4097
(error) ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096
> ACL GENPASS 0
(error) ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096
> ACL GENPASS x
(error) ERR value is not an integer or out of range
> ACL GENPASS 1 2
(error) ERR unknown subcommand or wrong number of arguments for 'GENPASS'. Try ACL HELP.
"#,
        ..BASE
    },
    run,
);

fn run(_: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let bits = match args.len() {
        2 => BITS,
        3 => usize::try_from(parse::int(args, 2)?).unwrap_or(0),
        _ => return Err(crate::connection::usage(args)),
    };
    if bits == 0 || bits > BITS_MAX {
        return Err(Fail::new(format!(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a \
             positive number up to {BITS_MAX}"
        )));
    }
    let digits = bits.div_ceil(4);
    let mut random = vec![0u8; digits.div_ceil(2)];
    stdx::rng::fill_from_os(&mut random)
        .map_err(|e| Fail::new(format!("ERR no randomness to be had: {e}")))?;
    let mut text: String = random.iter().map(|b| format!("{b:02x}")).collect();
    text.truncate(digits);
    reply.bulk(text);
    Ok(())
}
