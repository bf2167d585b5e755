//! What every object carries.

use serde_json::{Map, Value, json};

use super::Population;

/// The metadata of one object, to be completed by its kind.
pub(super) struct Meta<'a> {
    pub(super) kind: &'static str,
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) namespace: Option<&'a str>,
    /// Seconds since it was created.
    pub(super) age: u64,
    pub(super) labels: Value,
    pub(super) annotations: Value,
    pub(super) finalizers: Value,
    pub(super) owners: Value,
    pub(super) managed: Value,
}

impl<'a> Meta<'a> {
    pub(super) fn new(
        kind: &'static str,
        index: usize,
        namespace: Option<&'a str>,
        name: impl Into<String>,
    ) -> Self {
        let (name, none) = (name.into(), Value::Null);
        Self {
            kind,
            index,
            name,
            namespace,
            age: 90 * 86_400,
            labels: none.clone(),
            annotations: none.clone(),
            finalizers: none.clone(),
            owners: none.clone(),
            managed: none,
        }
    }

    pub(super) fn build(self, population: &Population) -> Value {
        let mut map = Map::new();
        map.insert("name".to_owned(), self.name.into());
        map.insert("uid".to_owned(), population.uid(self.kind, self.index).into());
        map.insert("creationTimestamp".to_owned(), population.ago(self.age).into());
        let optional = [
            ("namespace", self.namespace.map_or(Value::Null, Value::from)),
            ("labels", self.labels),
            ("annotations", self.annotations),
            ("finalizers", self.finalizers),
            ("ownerReferences", self.owners),
            ("managedFields", self.managed),
        ];
        for (key, value) in optional {
            if !value.is_null() {
                map.insert(key.to_owned(), value);
            }
        }
        map.into()
    }
}

pub(super) fn owner(
    population: &Population,
    api_version: &str,
    kind: &'static str,
    index: usize,
    name: &str,
) -> Value {
    json!([{
        "apiVersion": api_version,
        "blockOwnerDeletion": true,
        "controller": true,
        "kind": kind,
        "name": name,
        "uid": population.uid(kind, index),
    }])
}

/// One manager's entry: the paths are separated by spaces, their parts by slashes.
pub(super) fn managed(
    manager: &str,
    subresource: &str,
    api_version: &str,
    time: &str,
    paths: &str,
) -> Value {
    let mut root = Map::new();
    for path in paths.split_whitespace() {
        let mut place = &mut root;
        for part in path.split('|') {
            // Keys of lists are written as they are; everything else is a field.
            let key = match part {
                "." => ".".to_owned(),
                part if part.starts_with("k:") || part.starts_with("v:") => part.to_owned(),
                part => format!("f:{part}"),
            };
            let next = place.entry(key).or_insert_with(|| json!({}));
            place = next.as_object_mut().expect("because only objects are inserted");
        }
    }
    let mut entry = json!({
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": root,
        "manager": manager,
        "operation": "Update",
        "time": time,
    });
    if !subresource.is_empty() {
        entry["subresource"] = subresource.into();
    }
    entry
}
