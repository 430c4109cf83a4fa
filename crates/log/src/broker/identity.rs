//! What tells a topic from another one of its name.

use std::sync::Arc;

use super::Broker;
use crate::error::{Error, Result};
use crate::storage::IDENTITY;

impl Broker {
    /// A text that no other topic has, none of this name before or after it either. An offset means a record only
    /// together with it. It is made when it is asked for first, and kept with the topic.
    ///
    /// # Errors
    /// [`Error::NoTopic`], [`Error::ReadOnly`] if there is none yet, or the storage fails.
    pub fn identity(&self, topic: &str) -> Result<Arc<str>> {
        let (t, log) = self.topic(topic)?;
        if let Some(given) = log.identity() {
            return Ok(given);
        }
        if let Some(known) = &*t.identity.lock() {
            return Ok(Arc::clone(known));
        }
        // While this is locked it is not deleted, and no other of its name is created.
        let _naming = self.inner.naming(topic).lock();
        if t.state.lock().deleted {
            return Err(Error::NoTopic(topic.to_owned()));
        }
        let kept = self.inner.storage.get(topic, IDENTITY)?;
        let kept = kept.and_then(|text| String::from_utf8(text).ok());
        let identity: Arc<str> = match kept.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
            Some(id) => id.into(),
            None if self.inner.options.read_only => return Err(Error::ReadOnly),
            None => {
                let mut bytes = [0; 8];
                stdx::rng::fill_from_os(&mut bytes)
                    .map_err(|e| Error::io("a random number", &e))?;
                let id = format!("{:016x}", u64::from_le_bytes(bytes));
                self.inner.storage.put(topic, IDENTITY, id.as_bytes())?;
                id.into()
            }
        };
        *t.identity.lock() = Some(Arc::clone(&identity));
        Ok(identity)
    }
}
