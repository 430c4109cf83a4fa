//! The names of objects.
//!
//! ```text
//! PREFIX/apus                                        that conditional puts have been tried here
//! PREFIX/topics/NAME                                 JSON: the topic's id and settings
//! PREFIX/data/NAME/ID/head                           see `head`
//! PREFIX/data/NAME/ID/log/00000000000000000000       a group of batches, named after its first offset
//! PREFIX/data/NAME/ID/groups/GROUP                   the offset that a group has committed
//! PREFIX/deleted/ID                                  the name of a topic whose objects are being deleted
//! ```
//!
//! An id is random: a topic that is created anew does not meet the remains of the earlier one.

use object_store::path::Path;

/// Where the storage begins in its bucket.
#[derive(Clone, Debug)]
pub(super) struct Root(Path);

impl Root {
    pub(super) fn new(prefix: Path) -> Self {
        Self(prefix)
    }

    pub(super) fn tried(&self) -> Path {
        self.0.clone().join("apus")
    }

    pub(super) fn topics(&self) -> Path {
        self.0.clone().join("topics")
    }

    pub(super) fn topic(&self, topic: &str) -> Path {
        self.topics().join(topic)
    }

    pub(super) fn data(&self, topic: &str, id: &str) -> Path {
        self.0.clone().join("data").join(topic).join(id)
    }

    pub(super) fn all_deleted(&self) -> Path {
        self.0.clone().join("deleted")
    }

    pub(super) fn deleted(&self, id: &str) -> Path {
        self.all_deleted().join(id)
    }
}

/// The head of the topic whose objects are in `data`.
pub(super) fn head(data: &Path) -> Path {
    data.clone().join("head")
}

/// The folder of its records.
pub(super) fn log(data: &Path) -> Path {
    data.clone().join("log")
}

/// Its object that begins with an offset.
pub(super) fn object(data: &Path, first: u64) -> Path {
    log(data).join(format!("{first:020}"))
}

/// A value by its name, which is one or more parts with slashes between.
pub(super) fn value(data: &Path, name: &str) -> Path {
    name.split('/').fold(data.clone(), |path, part| path.join(part))
}

/// No topic gets as far as this: a larger number was made by mistake, and would leave no offsets.
pub(super) const OFFSET_MAX: u64 = i64::MAX as u64;

/// The offset that an object begins with.
pub(super) fn first_of(path: &Path) -> Option<u64> {
    let digits = path.filename()?;
    let first = (digits.len() == 20).then(|| digits.parse().ok())?;
    first.filter(|first| *first <= OFFSET_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_sort_as_text() {
        let data = Root::new(Path::from("a/b")).data("t", "1f");
        let of = |n| object(&data, n);
        assert_eq!(of(7).as_ref(), "a/b/data/t/1f/log/00000000000000000007");
        let mut paths = [of(u64::MAX), of(OFFSET_MAX), of(10), of(9), of(0)];
        paths.sort();
        let back: Vec<_> = paths.iter().filter_map(first_of).collect();
        assert_eq!(back, [0, 9, 10, OFFSET_MAX]);
        assert_eq!(first_of(&head(&data)), None);
        assert_eq!(value(&data, "groups/g"), data.join("groups").join("g"));
    }
}
