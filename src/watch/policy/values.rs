//! Values of a policy: text at the edge, and its meaning inside.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use super::decode::unknown;
use crate::model::{
    Kind, ObjectKey, Selector, Text, Threshold, Time, is_namespace_name, parse_duration, parse_time,
};
use crate::rules::{self, BETWEEN_CLUSTERS, INVENTORY, REGISTRY};

/// A rule, by its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleName(pub Text);

/// The object of a finding: `pv/NAME`, `pvc/NAMESPACE/NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName(pub ObjectKey);

/// When an exemption ends: a date (its first moment, in UTC) or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until(pub Time);

/// A label selector, as `-l` takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectorText(pub Selector);

/// Text that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(pub String);

/// The name of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamespaceName(pub Text);

/// The name of the Lease of an election. It begins as all of this program do: a process that stood for election
/// by the Lease of another program would keep that from working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseName(pub Text);

impl LeaseName {
    /// Beginning of the name of every such Lease, and the name where a policy says nothing.
    pub(crate) const DEFAULT: &'static str = "kubectl-storage-watch";

    /// Whether a Lease of this name may be that of an election of this program.
    pub(crate) fn is_own(name: &str) -> bool {
        name.strip_prefix(Self::DEFAULT).is_some_and(|it| it.is_empty() || it.starts_with('-'))
    }

    /// Whether a Lease may have this name: a DNS subdomain (RFC 1123) that begins with [`Self::DEFAULT`].
    fn is_valid(text: &str) -> bool {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_label =
            |it: &str| it.chars().all(plain) && !it.is_empty() && it.trim_matches('-') == it;
        text.len() <= 253 && text.split('.').all(is_label) && Self::is_own(text)
    }
}

/// Thresholds by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThresholdSettings(pub BTreeMap<Threshold, Duration>);

/// Reads a scalar that is a text. Of a number `parse` says what is wrong with it.
fn text<'de, D: Deserializer<'de>, T>(
    from: D,
    expected: &'static str,
    parse: fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    struct Reading<T> {
        expected: &'static str,
        parse: fn(&str) -> Result<T, String>,
    }
    impl<T> Reading<T> {
        fn number<E: de::Error>(self, number: &dyn fmt::Display) -> Result<T, E> {
            let number = number.to_string();
            let why = (self.parse)(&number).err();
            let otherwise = || format!("expected {}; quote {number:?} if it is one", self.expected);
            Err(E::custom(why.unwrap_or_else(otherwise)))
        }
    }
    impl<T> de::Visitor<'_> for Reading<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str(self.expected)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            (self.parse)(text).map_err(E::custom)
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
            self.number(&number)
        }

        fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
            self.number(&number)
        }
    }
    from.deserialize_str(Reading { expected, parse })
}

impl<'de> Deserialize<'de> for RuleName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from, "the id of a finding", |id| match rules::find(id) {
            Some(rule) if BETWEEN_CLUSTERS.iter().any(|it| it.id == rule.id) => {
                Err(format!("{id} compares clusters, and watch reads one"))
            }
            Some(rule) if INVENTORY.iter().any(|it| it.id == rule.id) => {
                Err(format!("{id} is about what a provider lists, and watch reads no listing"))
            }
            Some(rule) => Ok(Self(rule.id.into())),
            None => Err(unknown("finding", id, REGISTRY.iter().map(|rule| rule.id))),
        })
    }
}

impl<'de> Deserialize<'de> for ObjectName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from, OBJECT, object).map(Self)
    }
}

const OBJECT: &str = "an object such as pv/NAME or pvc/NAMESPACE/NAME";

fn object(text: &str) -> Result<ObjectKey, String> {
    let parts: Vec<_> = text.split('/').collect();
    if parts.len() < 2 || parts.iter().any(|it| it.is_empty()) {
        return Err(format!("{text:?} is not {OBJECT}"));
    }
    let Some(kind) = Kind::parse_resource(parts[0]) else {
        let names = Kind::ALL.iter().filter(|it| !it.is_inventory()).map(|kind| kind.short());
        return Err(unknown("kind", parts[0], names));
    };
    match (kind.is_namespaced(), &parts[1..]) {
        (true, [namespace, name]) => Ok(ObjectKey::named(kind, namespace, name)),
        (false, [name]) => Ok(ObjectKey::cluster_wide(kind, name)),
        (true, _) => Err(format!("{text:?}: expected {}/NAMESPACE/NAME", kind.short())),
        (false, _) => Err(format!("{text:?}: expected {}/NAME", kind.short())),
    }
}

impl<'de> Deserialize<'de> for Until {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from, UNTIL, |text| {
            let day = format!("{text}T00:00:00Z");
            let time = [text, &day].into_iter().find_map(|it| parse_time(it).ok().flatten());
            time.map(Self).ok_or_else(|| format!("{text:?} is not {UNTIL}"))
        })
    }
}

const UNTIL: &str = "a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z";

impl<'de> Deserialize<'de> for SelectorText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from, "a label selector", |text| {
            Selector::parse(text).map(Self).map_err(|error| error.to_string())
        })
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from, "a reason", |text| match text.trim() {
            "" => Err("the reason is empty".to_owned()),
            _ => Ok(Self(text.to_owned())),
        })
    }
}

impl<'de> Deserialize<'de> for NamespaceName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from, "the name of a namespace", |text| match is_namespace_name(text) {
            true => Ok(Self(text.into())),
            false => Err(format!("{text:?} is not a valid name of a namespace")),
        })
    }
}

impl<'de> Deserialize<'de> for LeaseName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from, "the name of a Lease", |text| match Self::is_valid(text) {
            true => Ok(Self(text.into())),
            false => Err(format!(
                "{text:?} is not a valid name of a Lease: expected {0} or {0}-NAME",
                Self::DEFAULT
            )),
        })
    }
}

impl<'de> Deserialize<'de> for ThresholdSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
        struct Name(#[serde(deserialize_with = "threshold")] Threshold);
        #[derive(Deserialize)]
        struct Length(#[serde(deserialize_with = "duration")] Duration);
        let lengths = BTreeMap::<Name, Length>::deserialize(from)?;
        Ok(Self(lengths.into_iter().map(|(Name(name), Length(length))| (name, length)).collect()))
    }
}

fn threshold<'de, D: Deserializer<'de>>(from: D) -> Result<Threshold, D::Error> {
    text(from, "the name of a threshold", |name| {
        let names = Threshold::ALL.into_iter().map(Threshold::name);
        Threshold::parse(name).ok_or_else(|| unknown("threshold", name, names))
    })
}

/// Reads a duration.
pub(super) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    text(from, "a duration such as 7d", parse_duration)
}

/// Reads a duration that may be left out.
pub(super) fn some_duration<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Duration>, D::Error> {
    duration(from).map(Some)
}

mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::{Map, Value};

    use super::{
        LeaseName, NamespaceName, ObjectName, Reason, RuleName, SelectorText, ThresholdSettings,
        Until,
    };
    use crate::model::{Severity, Threshold, format_duration};
    use crate::rules::REGISTRY;

    macro_rules! texts {
        ($($type:ident: $schema:tt)+) => {$(
            impl JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    stringify!($type).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!($schema)
                }
            }
        )+};
    }

    texts! {
        ObjectName: {"type": "string", "pattern": "^[^/]+(/[^/]+){1,2}$"}
        Until: {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?$"}
        SelectorText: {"type": "string"}
        Reason: {"type": "string", "pattern": "\\S"}
        NamespaceName: {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"}
        LeaseName: {
            "type": "string",
            "pattern": "^kubectl-storage-watch(-[a-z0-9-]*[a-z0-9](\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$",
            "maxLength": 253,
        }
    }

    impl JsonSchema for RuleName {
        fn schema_name() -> Cow<'static, str> {
            "RuleName".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            let ids: Vec<_> = REGISTRY.iter().map(|rule| rule.id).collect();
            json_schema!({"enum": ids})
        }
    }

    impl JsonSchema for ThresholdSettings {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "ThresholdSettings".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            let length = |it: Threshold| {
                let of = json_schema!({
                    "type": "string", "pattern": DURATION,
                    "description": format!("{}; default {}", it.about(), format_duration(it.default())),
                });
                (it.name().to_owned(), Value::from(of))
            };
            let properties: Map<_, _> = Threshold::ALL.into_iter().map(length).collect();
            json_schema!({"type": "object", "additionalProperties": false, "properties": properties})
        }
    }

    /// A digit that is not zero, and a unit.
    const DURATION: &str = "^[0-9]*[1-9].*[a-z]$";

    /// Returns the schema of a duration.
    pub fn duration_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": DURATION})
    }

    /// Returns the schema of an address with its port.
    pub fn address(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": ":[0-9]{1,5}$"})
    }

    /// Removes null from the types of keys: a key that is left out is none with nothing behind it.
    pub fn without_null(schema: &mut Schema) {
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for key in properties.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut)
        {
            if let Some(Value::Array(types)) = key.get_mut("type") {
                types.retain(|it| it != "null");
                if let [one] = &types[..] {
                    let one = one.clone();
                    key.insert("type".to_owned(), one);
                }
            }
            let Some(Value::Array(choices)) = key.get_mut("anyOf") else { continue };
            choices.retain(|it| it["type"] != "null");
            if let [Value::Object(one)] = &mut choices[..] {
                let one = std::mem::take(one);
                key.remove("anyOf");
                key.extend(one);
            }
        }
    }

    /// Returns the schema of a severity.
    pub fn severity(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": Severity::ALL.map(Severity::name)})
    }
}

pub(super) use schema::{address, duration_schema, severity, without_null};
