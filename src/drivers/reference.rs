//! How an object references storage: as it is written there.

use super::{Family, UNKNOWN, family, family_with, is_unknown, recognised_by_attributes};
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
    /// What is known of its driver: by its name, else by what runs it and by the attributes.
    pub family: &'static Family,
}

impl<'a> Reference<'a> {
    /// The reference of a backend volume.
    pub fn of(key: &'a BackendKey, attributes: &'a Attributes) -> Self {
        let named = family(&key.driver);
        let family = match is_unknown(named) {
            false => named,
            true => match (attributes.family(), recognised_by_attributes(attributes)) {
                (Some(id), Some(told)) if told.id != id => &UNKNOWN,
                (Some(id), _) => family_with(id),
                (None, told) => told.unwrap_or(&UNKNOWN),
            },
        };
        Self { driver: &key.driver, handle: &key.handle, attributes, family }
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
