//! RESTORE-ASKING: RESTORE, as a node of a cluster sends it for a slot that is being moved.

use crate::command::DataCommand;
use crate::row::{DocFlags, Flags, Group, Row};

pub(crate) static RESTORE_ASKING: DataCommand = DataCommand {
    row: Row {
        name: "restore-asking",
        group: Group::Server,
        since: "3.0.0",
        flags: super::restore::ROW.flags.or(Flags::ASKING),
        doc_flags: DocFlags::SYSCMD,
        summary: "Internal: RESTORE among the nodes of a cluster.",
        syntax: "RESTORE-ASKING key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] \
                 [FREQ frequency]",
        transcript: r#"
> RESTORE-ASKING greeting 0 "\x00\x05hello\n\x00cr\xdfve4 \n"
OK
> GET greeting
"hello"
"#,
        ..super::restore::ROW
    },
    run: super::restore::run,
    subs: &[],
};
