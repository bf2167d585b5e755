//! The manifest of a volume, from the journal or of an object that is to be created.

use serde_json::Value;

use crate::dump;
use crate::model::{Row, Volume};
use crate::objects::{self, Folded, Folder, PersistentVolume};

/// A volume object that need not exist, as JSON and as a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    value: Value,
    volume: Volume,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// Why it is not a manifest of a PersistentVolume, as a reason to refuse.
    pub fn read(value: Value) -> Result<Self, String> {
        if value["kind"] != "PersistentVolume" {
            return Err("it is not a manifest of a PersistentVolume".to_owned());
        }
        let unreadable = |why: &str| format!("its manifest cannot be read: {why}");
        let text = value.to_string();
        let object = (objects::decoding_of::<PersistentVolume>().json)(&text);
        let object = object.map_err(|error| unreadable(&dump::explain(&text, &error)))?;
        match object.fold(&mut Folder::default()) {
            Ok(Folded::Row(Row::Volume(volume))) => Ok(Self { value, volume: *volume }),
            Ok(_) => Err("it is not a manifest of a PersistentVolume".to_owned()),
            Err(error) => Err(unreadable(&error.to_string())),
        }
    }

    /// Returns the JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the volume, as if it existed.
    pub fn volume(&self) -> &Volume {
        &self.volume
    }
}
