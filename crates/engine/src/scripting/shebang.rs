//! First lines such as `#!lua flags=no-writes` and `#!lua name=mylib`.

use stdx::carried::carry;

/// The words of a line, quoted as on a command line; none when quotes are not closed.
fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    stdx::split::split_args(line).ok()
}

/// A script's flags, and where its code begins. Without a shebang: none, 0.
///
/// # Errors
/// The error's text.
pub fn of_script(text: &[u8]) -> Result<(Option<lua::Flags>, usize), String> {
    if !text.starts_with(b"#!") {
        return Ok((None, 0));
    }
    let end = text.iter().position(|c| *c == b'\n').ok_or("ERR Invalid script shebang")?;
    let parts = words(&text[..end]).unwrap_or_default();
    let (engine, options) = parts.split_first().ok_or("ERR Invalid engine in script shebang")?;
    let show = |b: &[u8]| carry(b).into_owned();
    if engine != b"#!lua" {
        return Err(format!("ERR Unexpected engine in script shebang: {}", show(engine)));
    }
    let mut flags = lua::Flags::default();
    for option in options {
        let Some(list) = option.strip_prefix(b"flags=") else {
            return Err(format!("ERR Unknown lua shebang option: {}", show(option)));
        };
        for name in list.split(|c| *c == b',').filter(|_| !list.is_empty()) {
            flags = flags.or(lua::Flags::named(name)
                .ok_or_else(|| format!("ERR Unexpected flag in script shebang: {}", show(name)))?);
        }
    }
    Ok((Some(flags), end))
}

/// Engine and name of a library, and where its code begins.
///
/// # Errors
/// The error's text.
pub(super) fn of_library(text: &[u8]) -> Result<(Vec<u8>, Vec<u8>, usize), String> {
    if !text.starts_with(b"#!") {
        return Err("ERR Missing library metadata".into());
    }
    let invalid = "ERR Invalid library metadata";
    let end = text.iter().position(|c| *c == b'\n').ok_or(invalid)?;
    let parts = words(&text[..end]).ok_or(invalid)?;
    let (engine, options) = parts.split_first().ok_or(invalid)?;
    let mut name = None;
    for option in options {
        let has_name = option.get(..5).is_some_and(|o| o.eq_ignore_ascii_case(b"name="));
        if !has_name {
            let option = carry(option);
            return Err(format!("ERR Invalid metadata value given: {option}"));
        }
        if name.replace(option[5..].to_vec()).is_some() {
            return Err("ERR Invalid metadata value, name argument was given multiple times".into());
        }
    }
    let name = name.ok_or("ERR Library name was not given")?;
    Ok((engine.get(2..).unwrap_or(&[]).to_vec(), name, end))
}
