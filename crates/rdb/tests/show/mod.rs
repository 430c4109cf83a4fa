//! Values as text, to compare what was read with what it should be.

use data::entry::Entry;
use data::walk::{Part, walk};

/// Type, encoding, deadline and all parts of a value; those that have no order, sorted.
pub(crate) fn show(e: &Entry) -> String {
    let mut parts = Vec::new();
    let mut unordered = false;
    let text = |b: &[u8]| match b.len() {
        0..=60 => b.escape_ascii().to_string(),
        n => format!("{}… {n} …{}", b[..20].escape_ascii(), b[n - 4..].escape_ascii()),
    };
    let mut stream = false;
    walk(e, &mut |part| {
        parts.push(match part {
            Part::Text(b) | Part::Element(b) | Part::Note(b) => text(b),
            Part::Member(b) => {
                unordered = true;
                text(b)
            }
            // Whether zero is negative is not kept in small sets, as in Redis.
            Part::Scored(b, score) => format!("{}={}", text(b), score + 0.0),
            Part::Field(f, v, deadline) => {
                unordered = !stream;
                let deadline = deadline.map(|d| format!("@{d}")).unwrap_or_default();
                format!("{}={}{deadline}", text(f), text(v))
            }
            Part::Id(ms, seq) => {
                stream = true;
                format!("{ms}-{seq}")
            }
        });
    });
    if unordered {
        parts.sort();
    }
    let deadline = e.deadline().map(|d| format!(" @{d}")).unwrap_or_default();
    let mut shown = parts.join(" ");
    if parts.len() > 40 {
        let rest = format!("{:016x}", rdb::crc64(0, shown.as_bytes()));
        shown = format!("{} … {} parts {rest}", parts[..3].join(" "), parts.len());
    }
    format!("{} {}{deadline}: {shown}", e.kind().name(), e.encoding_name())
}
