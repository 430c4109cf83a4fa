//! The replies of the HELP subcommands.

use resp::Reply;

/// Writes a container's help: how to call it, the given lines, and HELP itself. Descriptions are
/// indented by four blanks under their subcommand.
pub fn write(reply: &mut Reply<'_>, container: &str, lines: &[&str]) {
    reply.array(lines.len() + 3);
    let first = format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    reply.simple(&first);
    for line in lines {
        reply.simple(line);
    }
    reply.simple("HELP");
    reply.simple("    Print this help.");
}
