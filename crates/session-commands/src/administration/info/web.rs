//! The section about the web port, which its owner fills.

use super::Section;
use engine::Call;

pub(super) fn web(call: &mut Call<'_>, s: &mut Section) {
    if let Some(fields) = &*call.engine.hooks.web_info.read() {
        fields().iter().for_each(|(name, value)| s.put(name, value));
    }
}
