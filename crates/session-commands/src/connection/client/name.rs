//! CLIENT SETNAME, GETNAME and SETINFO: <https://redis.io/docs/latest/commands/client-setname/>

use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{BASE, sub};
use engine::{Call, SessionCommand};

pub(super) static SETNAME: SessionCommand = sub(
    Row {
        name: "client|setname",
        since: "2.6.9",
        arity: 3,
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        summary: "Names this connection.",
        syntax: "CLIENT SETNAME connection-name",
        transcript: r#"
> CLIENT SETNAME worker:1
OK
> CLIENT GETNAME
"worker:1"
> CLIENT SETNAME "a b"
(error) ERR Client names cannot contain spaces, newlines or special characters.
> CLIENT GETNAME
"worker:1"
> CLIENT SETNAME ""
OK
> CLIENT GETNAME
(nil)
"#,
        ..BASE
    },
    |call, args, reply| {
        let name = checked_name(&args[2])?;
        call.session.client.set_name(name);
        reply.ok();
        Ok(())
    },
);

pub(super) static GETNAME: SessionCommand = sub(
    Row {
        name: "client|getname",
        since: "2.6.9",
        arity: 2,
        summary: "The name of this connection.",
        syntax: "CLIENT GETNAME",
        transcript: r#"
> CLIENT GETNAME
(nil)
> CLIENT SETNAME me
OK
> CLIENT GETNAME
"me"
"#,
        ..BASE
    },
    |call, _, reply| {
        match call.session.client.name().as_str() {
            "" => reply.null(),
            name => reply.bulk(name),
        }
        Ok(())
    },
);

pub(super) static SETINFO: SessionCommand = sub(
    Row {
        name: "client|setinfo",
        since: "7.2.0",
        arity: 4,
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        summary: "Tells which client library this connection belongs to.",
        syntax: "CLIENT SETINFO <LIB-NAME libname | LIB-VER libver>",
        transcript: r#"
# only: redis>=7.2
> CLIENT SETINFO lib-name apus-rs
OK
> CLIENT SETINFO LIB-VER 1.2.3
OK
> CLIENT INFO
~ * lib-name=apus-rs lib-ver=1.2.3*
> CLIENT SETINFO lib-name "a b"
(error) ERR lib-name cannot contain spaces, newlines or special characters.
> CLIENT SETINFO LIB-VER "1\n"
(error) ERR LIB-VER cannot contain spaces, newlines or special characters.
> CLIENT SETINFO lib-mood good
(error) ERR Unrecognized option 'lib-mood'
> CLIENT SETINFO lib-name ""
OK
> CLIENT INFO
~ * lib-name= lib-ver=1.2.3*
> CLIENT SETINFO lib-name
(error) ERR wrong number of arguments for 'client|setinfo' command
"#,
        ..BASE
    },
    set_info,
);

/// `value` if it may stand in a line of CLIENT LIST, which is cut at spaces.
fn one_word(value: &[u8]) -> Option<String> {
    value.iter().all(u8::is_ascii_graphic).then(|| String::from_utf8_lossy(value).into_owned())
}

/// A connection's name; empty removes it.
pub(in crate::connection) fn checked_name(value: &[u8]) -> Result<String, Fail> {
    one_word(value).ok_or(Fail::text(
        "ERR Client names cannot contain spaces, newlines or special characters.",
    ))
}

fn set_info(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let option = String::from_utf8_lossy(&args[2]);
    let is_name = args.is(2, "lib-name");
    if !is_name && !args.is(2, "lib-ver") {
        return Err(Fail::new(format!("ERR Unrecognized option '{option}'")));
    }
    let Some(value) = one_word(&args[3]) else {
        return Err(Fail::new(format!(
            "ERR {option} cannot contain spaces, newlines or special characters."
        )));
    };
    call.session.client.change_names(|names| {
        *(if is_name { &mut names.lib_name } else { &mut names.lib_ver }) = value;
    });
    reply.ok();
    Ok(())
}
