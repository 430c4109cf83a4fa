//! Publications as a reply has them, encoded once for each form however many replies have them: after an interruption
//! all subscribers of a channel recover the same.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::Form;
use super::message::Publication;
use super::write::Writer;

/// Publications that replies share. A clone is another owner of the same.
#[derive(Clone, Debug, Default)]
pub struct Publications(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    all: Vec<Publication>,
    json: OnceLock<Box<[u8]>>,
    protobuf: OnceLock<Box<[u8]>>,
}

impl From<Vec<Publication>> for Publications {
    fn from(all: Vec<Publication>) -> Self {
        if all.is_empty() {
            return Self::default();
        }
        Self(Some(Arc::new(Shared { all, json: OnceLock::new(), protobuf: OnceLock::new() })))
    }
}

impl Deref for Publications {
    type Target = [Publication];

    fn deref(&self) -> &[Publication] {
        self.0.as_ref().map_or(&[], |shared| &shared.all)
    }
}

impl Publications {
    /// Writes them as the field of the reply to subscribe; without any there is none.
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let Some(shared) = &self.0 else { return };
        let (form, made) = match w.is_json() {
            true => (Form::Json, &shared.json),
            false => (Form::Protobuf, &shared.protobuf),
        };
        w.made(made.get_or_init(|| {
            let mut out = Vec::new();
            Writer::fields(&mut out, form, |w| {
                w.list(7, "publications", &shared.all, |w, p| p.write(w))
            });
            out.into()
        }));
    }
}
