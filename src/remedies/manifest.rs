//! A volume object in JSON, as the journal kept it or as it is going to be created, and what it says.

use serde_json::Value;

use crate::dump;
use crate::model::{Row, Volume};
use crate::objects::{self, Folded, Folder, PersistentVolume};

/// A volume object that need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    value: Value,
    volume: Volume,
}

impl Manifest {
    /// Reads one.
    ///
    /// # Errors
    /// Why it is none, as a reason to refuse.
    pub fn read(value: Value) -> Result<Self, String> {
        if value["kind"] != "PersistentVolume" {
            return Err("it is no manifest of a volume".to_owned());
        }
        let unreadable = |why: &str| format!("its manifest cannot be read: {why}");
        let text = value.to_string();
        let object = (objects::decoding_of::<PersistentVolume>().json)(&text);
        let object = object.map_err(|error| unreadable(&dump::explain(&text, &error)))?;
        match object.fold(&mut Folder::default()) {
            Ok(Folded::Row(Row::Volume(volume))) => Ok(Self { value, volume: *volume }),
            Ok(_) => Err("it is no manifest of a volume".to_owned()),
            Err(error) => Err(unreadable(&error.to_string())),
        }
    }

    /// As it is written.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What it says, as if it existed.
    pub fn volume(&self) -> &Volume {
        &self.volume
    }
}
