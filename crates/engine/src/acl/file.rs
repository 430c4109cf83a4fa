//! The ACL file, and `user` lines of the configuration file: reading and writing them. What they say is
//! understood in [`acl::file`].

use std::path::Path;

use ::acl::file::{config_line, configured, parse, text};
use config::Id;

use crate::engine::Engine;

use super::Rules;

/// Reads and parses the ACL file.
///
/// # Errors
/// The text of ACL LOAD's reply.
pub fn read(engine: &Engine) -> Result<Vec<(Vec<u8>, Rules)>, String> {
    let name = engine.config.string(Id::Aclfile);
    let text = std::fs::read(&name).map_err(|e| {
        format!("Error loading ACLs, opening file '{name}': {}", config::os_text(&e))
    })?;
    parse(engine.acl_ground(), &name, &text)
}

/// Writes all users into the ACL file, which is replaced as a whole.
pub fn write(engine: &Engine) -> std::io::Result<()> {
    let text = text(engine.acl.all().iter().map(|user| &**user));
    config::replace_file(Path::new(&engine.config.string(Id::Aclfile)), &text)
}

/// All users as lines of the configuration file; none when they have a file of their own.
pub fn lines(engine: &Engine) -> Vec<String> {
    if !engine.config.string(Id::Aclfile).is_empty() {
        return Vec::new();
    }
    engine.acl.all().iter().map(|user| config_line(user)).collect()
}

impl Engine {
    /// Makes the users that the configuration names: `lines` are its `user` lines, or else those of
    /// the ACL file. To be called once, before any client connects.
    ///
    /// # Errors
    /// Their errors; the server must not start without its configured users.
    pub fn load_users<L: AsRef<[u8]>>(&self, lines: &[L]) -> Result<(), String> {
        let has_file = !self.config.string(Id::Aclfile).is_empty();
        if has_file && !lines.is_empty() {
            return Err(
                "users are declared in the configuration file and `aclfile` names another \
                        file for them: use one of the two"
                    .into(),
            );
        }
        let users = if has_file {
            read(self).map_err(|e| format!("the users cannot be loaded: {e}"))?
        } else {
            let c = configured(self.acl_ground(), lines, self.acl.default_user())?;
            for name in &c.disabled {
                crate::log!(
                    self.log,
                    Notice,
                    "The user '{}' is disabled: there is no 'on' in the user's line",
                    name
                );
            }
            c.users
        };
        if has_file || !lines.is_empty() {
            self.acl.replace(self.acl_ground(), users);
        }
        Ok(())
    }
}
