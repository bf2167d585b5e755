//! Field selectors, as kubectl's `--field-selector` takes them, for the fields that every kind has.

use std::fmt;

use super::{ObjectKey, selector::SelectorError};

/// A field selector: the fields that every kind supports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldRequirement {
    field: Field,
    is_equal: bool,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
}

impl FieldSelector {
    /// Parses kubectl's `--field-selector`.
    ///
    /// # Errors
    /// When a requirement is malformed, or of a field that not every kind supports.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = |problem: String| SelectorError { requirement: part.to_owned(), problem };
            // The operator that comes first counts: a value may contain another.
            let at = part.find(['=', '!']).unwrap_or(part.len());
            let (field, rest) = part.split_at(at);
            let compared = [("==", true), ("!=", false), ("=", true)]
                .into_iter()
                .find_map(|(operator, is_equal)| Some((is_equal, rest.strip_prefix(operator)?)));
            let Some((is_equal, value)) = compared else {
                return Err(wrong("expected FIELD=VALUE or FIELD!=VALUE".to_owned()));
            };
            let field = match field {
                "metadata.name" => Field::Name,
                "metadata.namespace" => Field::Namespace,
                other => {
                    return Err(wrong(format!(
                        "field {other:?} is not supported; metadata.name and metadata.namespace are"
                    )));
                }
            };
            requirements.push(FieldRequirement { field, is_equal, value: value.to_owned() });
        }
        Ok(Self { requirements })
    }

    /// Whether the selector selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object satisfies every requirement. One without a namespace has an empty one.
    pub fn matches(&self, object: &ObjectKey) -> bool {
        self.requirements.iter().all(|it| {
            let value = match it.field {
                Field::Name => &*object.name,
                Field::Namespace => object.namespace.as_deref().unwrap_or_default(),
            };
            (value == it.value) == it.is_equal
        })
    }

    /// Returns the namespaces that the selector requires of objects.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let named = |it: &&FieldRequirement| {
            it.field == Field::Namespace && it.is_equal && !it.value.is_empty()
        };
        self.requirements.iter().filter(named).map(|it| &*it.value)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, FieldRequirement { field, is_equal, value }) in
            self.requirements.iter().enumerate()
        {
            let field = match field {
                Field::Name => "metadata.name",
                Field::Namespace => "metadata.namespace",
            };
            let operator = if *is_equal { "=" } else { "!=" };
            write!(f, "{}{field}{operator}{value}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    #[test]
    fn fields_select_by_name_and_namespace() {
        let claim = ObjectKey::named(Kind::PersistentVolumeClaim, "shop", "data");
        let volume = ObjectKey::cluster_wide(Kind::PersistentVolume, "data");
        for (selector, of_claim, of_volume) in [
            ("", true, true),
            ("metadata.name=data", true, true),
            ("metadata.name!=data", false, false),
            ("metadata.namespace==shop", true, false),
            ("metadata.namespace!=shop", false, true),
            ("metadata.namespace=,metadata.name=data", false, true),
        ] {
            let parsed = FieldSelector::parse(selector).expect("valid selector");
            let matches = (parsed.matches(&claim), parsed.matches(&volume));
            assert_eq!(matches, (of_claim, of_volume), "{selector}");
            assert_eq!(FieldSelector::parse(&parsed.to_string()), Ok(parsed), "{selector}");
        }
        for broken in ["metadata.name", "status.phase=Bound", "metadata.name>a", "=a"] {
            assert!(FieldSelector::parse(broken).is_err(), "{broken}");
        }
    }
}
