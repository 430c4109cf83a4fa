//! Checks of texts, used by the rows.

pub(crate) fn any(_: &[u8]) -> Result<(), &'static str> {
    Ok(())
}

fn is_base_name(name: &[u8]) -> bool {
    !name.iter().any(|byte| matches!(byte, b'/' | b'\\'))
}

pub(crate) fn dbfilename(name: &[u8]) -> Result<(), &'static str> {
    if is_base_name(name) { Ok(()) } else { Err("dbfilename can't be a path, just a filename") }
}

pub(crate) fn appendfilename(name: &[u8]) -> Result<(), &'static str> {
    match name {
        b"" => Err("appendfilename can't be empty"),
        _ if is_base_name(name) => Ok(()),
        _ => Err("appendfilename can't be a path, just a filename"),
    }
}

pub(crate) fn appenddirname(name: &[u8]) -> Result<(), &'static str> {
    match name {
        b"" => Err("appenddirname can't be empty"),
        _ if is_base_name(name) => Ok(()),
        _ => Err("appenddirname can't be a path, just a dirname"),
    }
}

pub(crate) fn hostname(name: &[u8]) -> Result<(), &'static str> {
    if name.len() >= 256 {
        return Err("Hostnames must be less than 256 characters");
    }
    if name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.')) {
        Ok(())
    } else {
        Err("Hostnames may only contain alphanumeric characters, hyphens or dots")
    }
}

pub(crate) fn nodename(name: &[u8]) -> Result<(), &'static str> {
    if name.iter().any(|b| b"!#$%&()*+:;<>?@[]^{|}~".contains(b)) {
        return Err("Announced human node name contained invalid character");
    }
    Ok(())
}

pub(crate) fn title_template(template: &[u8]) -> Result<(), &'static str> {
    const ERROR: &str = "template format is invalid or contains unknown variables";
    const VARIABLES: [&[u8]; 7] = [
        b"title",
        b"listen-addr",
        b"server-mode",
        b"port",
        b"tls-port",
        b"unixsocket",
        b"config-file",
    ];
    let mut rest = template;
    let mut shows_something = false;
    while let Some(open) = rest.iter().position(|&b| b == b'{') {
        shows_something |= rest[..open].iter().any(|&b| b != b' ');
        rest = &rest[open + 1..];
        if let Some(after) = rest.strip_prefix(b"{") {
            rest = after; // `{{` is a brace
            shows_something = true;
            continue;
        }
        let close = rest.iter().position(|&b| b == b'}').ok_or(ERROR)?;
        if !VARIABLES.contains(&&rest[..close]) {
            return Err(ERROR);
        }
        shows_something |= &rest[..close] != b"server-mode";
        rest = &rest[close + 1..];
    }
    shows_something |= rest.iter().any(|&b| b != b' ');
    if shows_something { Ok(()) } else { Err(ERROR) }
}

/// Addresses and networks, with commas or blanks between them.
pub(crate) fn networks(text: &[u8]) -> Result<(), &'static str> {
    const ERROR: &str = "must be addresses or networks (10.0.0.0/8, fd00::/8, 127.0.0.1)";
    let text = std::str::from_utf8(text).map_err(|_| ERROR)?;
    crate::Networks::parse(text).map(|_| ()).ok_or(ERROR)
}
