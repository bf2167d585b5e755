//! How an object references storage: as it is written there.

use crate::model::{Attributes, BackendKey};

/// A reference to storage: that of a volume, or a volume that a pod describes itself.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The CSI driver, or the name of the field of an in-tree source (see [`BackendKey`]).
    pub driver: &'a str,
    /// The volume handle, or the text of an in-tree source.
    pub handle: &'a str,
    /// The `volumeAttributes` that its family asks for.
    pub attributes: &'a Attributes,
}

impl<'a> Reference<'a> {
    /// The reference of a backend volume.
    pub fn of(key: &'a BackendKey, attributes: &'a Attributes) -> Self {
        Self { driver: &key.driver, handle: &key.handle, attributes }
    }

    /// The value of an attribute; drivers differ in whether they tell upper and lower case apart,
    /// and none has two keys that differ only so.
    pub fn attribute(&self, key: &str) -> Option<&'a str> {
        self.attributes.get(key)
    }

    /// The fields of the handle between separators.
    pub fn fields(&self, separator: char) -> Vec<&'a str> {
        self.handle.split(separator).collect()
    }
}
