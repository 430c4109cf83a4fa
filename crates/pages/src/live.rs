//! Live blocks of a page: what a stream of server-sent events tells of them, and the script that takes it in.
//!
//! A page with live blocks has a *version*, which its blocks' names and contents make alone: it is the same on
//! all servers, and after a restart. The page names it to the script, events carry it as their number, and a
//! stream that is opened again says which one it has; it is sent nothing while that is still the present one.
//!
//! An event is a JSON object: names of blocks that have changed, and their HTML.

use std::fmt::Write;
use std::sync::LazyLock;

use twox_hash::XxHash3_64;

/// Live blocks of one page.
pub const BLOCKS_MAX: usize = 1000;
/// Where streams are opened: `?since=VERSION&path=PATH`.
pub const STREAM_PATH: &str = "/_apus/live";
/// Where the script is.
pub const SCRIPT_PATH: &str = "/_apus/live.js";
/// The script of pages with live blocks.
pub const SCRIPT: &str = include_str!("live.js");

/// The script's tag, in quotes.
pub static SCRIPT_TAG: LazyLock<String> = LazyLock::new(|| crate::tag::tag(SCRIPT.as_bytes()));

/// The script's address, which changes with it.
static SCRIPT_ADDRESS: LazyLock<String> =
    LazyLock::new(|| format!("{SCRIPT_PATH}?{}", script_query()));

/// The query with which the script may be kept for ever: it is another one for another script.
#[must_use]
pub fn script_query() -> &'static str {
    SCRIPT_TAG.trim_matches('"')
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its name in the page.
    pub name: String,
    /// What is inside its element.
    pub html: String,
    hash: u64,
}

/// The blocks of a page, in their order, and the version that they make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    all: Vec<Block>,
    version: u64,
}

impl Blocks {
    /// Adds a block.
    ///
    /// # Errors
    /// A text: there is one with this name, or there are too many.
    pub(crate) fn add(&mut self, name: &str, html: &str) -> Result<(), String> {
        if self.all.len() >= BLOCKS_MAX {
            return Err(format!("a page has {BLOCKS_MAX} live blocks at most"));
        }
        if self.all.iter().any(|block| block.name == name) {
            return Err(format!("there are two live blocks '{name}'"));
        }
        // The number of the name's bytes comes first: no other pair makes the same text.
        let hash = XxHash3_64::oneshot(format!("{}:{name}{html}", name.len()).as_bytes());
        // The order does not count, so that a block that moves is no change.
        self.version ^= hash;
        self.all.push(Block { name: name.to_owned(), html: html.to_owned(), hash });
        Ok(())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The version that they make.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let own = |block: &Block| block.name.len() + block.html.len() + size_of::<Block>();
        self.all.iter().map(own).sum()
    }

    /// The event that brings those who have `before` here; with none, those who have something else.
    #[must_use]
    pub fn event(&self, before: Option<&Self>) -> Vec<u8> {
        let has = |block: &Block| {
            before.is_some_and(|before| {
                before.all.iter().any(|old| old.hash == block.hash && old.name == block.name)
            })
        };
        let changed = self.all.iter().filter(|block| !has(block));
        let changed: serde_json::Map<_, _> =
            changed.map(|block| (block.name.clone(), block.html.clone().into())).collect();
        // JSON has no line ends in it, so it is one line of data.
        let mut event = format!("id: {:016x}\ndata: ", self.version);
        let _ = write!(event, "{}", serde_json::Value::Object(changed));
        event.push_str("\n\n");
        event.into_bytes()
    }
}

/// Reads a version as events and pages write it.
#[must_use]
pub fn parse_version(text: &str) -> Option<u64> {
    (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

/// Puts the script's element into a page: before the end of its body, or at its end.
pub(crate) fn insert_script(page: &mut Vec<u8>, version: u64) {
    const END: &[u8] = b"</body";
    let at = page.windows(END.len()).rposition(|part| part.eq_ignore_ascii_case(END));
    let at = at.unwrap_or(page.len());
    let element = format!(
        "<script src=\"{}\" data-since=\"{version:016x}\" defer></script>\n",
        *SCRIPT_ADDRESS
    );
    page.splice(at..at, element.into_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(all: &[(&str, &str)]) -> Blocks {
        let mut blocks = Blocks::default();
        all.iter().for_each(|(name, html)| blocks.add(name, html).expect("it fits"));
        blocks
    }

    #[test]
    fn a_version_is_names_and_contents() {
        let one = blocks(&[("a", "1"), ("b", "2")]);
        assert_eq!(one.version(), blocks(&[("b", "2"), ("a", "1")]).version());
        for other in [
            blocks(&[("a", "1"), ("b", "3")]),
            blocks(&[("a", "1")]),
            blocks(&[("a", "2"), ("b", "1")]),
            blocks(&[("a1", ""), ("b", "2")]),
            Blocks::default(),
        ] {
            assert!(one.version() != other.version(), "{other:?}");
        }
        let text = String::from_utf8(one.event(None)).expect("UTF-8");
        let id = text.strip_prefix("id: ").and_then(|rest| rest.split('\n').next());
        assert_eq!(id.and_then(parse_version), Some(one.version()));
        assert!(["", "1", "x000000000000000", "00000000000000001"].map(parse_version) == [None; 4]);
    }

    #[test]
    fn events_have_what_changed_on_one_line() {
        let before = blocks(&[("a", "1"), ("b", "2")]);
        let after = blocks(&[("a", "<b>\n\"\r\u{2028}</b>"), ("b", "2")]);
        let text = String::from_utf8(after.event(Some(&before))).expect("UTF-8");
        let lines: Vec<&str> = text.split('\n').collect();
        assert_eq!((lines.len(), lines[2], lines[3]), (4, "", ""));
        let data = lines[1].strip_prefix("data: ").expect("data");
        let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(data, serde_json::json!({"a": "<b>\n\"\r\u{2028}</b>"}));
        let all = String::from_utf8(after.event(None)).expect("UTF-8");
        assert!(all.contains("\"b\":\"2\"") && !text.contains("\"b\":"));
        // A block that is gone changes the version and nothing else.
        let less = blocks(&[("a", "1")]);
        assert!(less.event(Some(&before)).ends_with(b"data: {}\n\n"));
    }

    #[test]
    fn names_are_unique_and_their_number_is_bounded() {
        let mut all = blocks(&[("a", "")]);
        assert!(all.add("a", "x").is_err_and(|e| e.contains("two live blocks")));
        for i in 1..BLOCKS_MAX {
            all.add(&format!("b{i}"), "").expect("it fits");
        }
        assert!(all.add("c", "").is_err_and(|e| e.contains("at most")));
    }

    #[test]
    fn the_script_comes_before_the_end_of_the_body() {
        let mut page = b"<p></body><BODY>x</BODY >y".to_vec();
        insert_script(&mut page, 7);
        let text = String::from_utf8(page).expect("UTF-8");
        assert!(text.starts_with("<p></body><BODY>x<script src=\"/_apus/live.js?"), "{text}");
        assert!(text.ends_with("data-since=\"0000000000000007\" defer></script>\n</BODY >y"));
        let mut page = b"<p>".to_vec();
        insert_script(&mut page, 7);
        assert!(page.starts_with(b"<p><script ") && page.ends_with(b"</script>\n"));
        // It is small, and it needs no permission besides that for scripts of the page's own origin.
        assert!(SCRIPT.len() < 2048 && !SCRIPT.contains("eval") && SCRIPT.is_ascii());
    }
}
