//! Changing the set of users, and closing the connections that this concerns.

use super::revoke;
use super::{Replaced, Rules};
use crate::engine::Engine;
use crate::session::Session;
use crate::table::Call;

/// ACL SETUSER. Connections that are subscribed to channels that the user may not use any more are
/// closed.
///
/// # Errors
/// The text of the refusal without its code; nothing has changed.
pub fn set(call: &mut Call<'_>, name: &[u8], words: &[&[u8]]) -> Result<(), String> {
    let engine = call.engine;
    if let Some(narrowed) = engine.acl.set(engine.acl_ground(), name, words)? {
        revoke::subscribers(engine, Some(&mut *call.session), &narrowed);
    }
    Ok(())
}

/// ACL DELUSER: closes the connections of the deleted users. Returns how many users there were.
pub fn delete(call: &mut Call<'_>, names: &[&[u8]]) -> usize {
    let engine = call.engine;
    let gone = engine.acl.delete(engine.acl_ground(), names);
    revoke::connections(engine, Some(&mut *call.session), &gone);
    gone.len()
}

/// ACL LOAD: `new` replaces the set of users.
pub fn replace(engine: &Engine, mut own: Option<&mut Session>, new: Vec<(Vec<u8>, Rules)>) {
    let Replaced { gone, narrowed } = engine.acl.replace(engine.acl_ground(), new);
    revoke::connections(engine, own.as_deref_mut(), &gone);
    for n in &narrowed {
        revoke::subscribers(engine, own.as_deref_mut(), n);
    }
}

/// Takes the users from the ACL file, as ACL LOAD does, where no client asks for it.
///
/// # Errors
/// The errors in the file; the users do not change.
pub fn reload(engine: &Engine) -> Result<(), String> {
    let users = super::file::read(engine)?;
    replace(engine, None, users);
    Ok(())
}
