//! `slim!`: declares types that decode from protobuf, JSON and YAML.

use serde::{Deserialize, Deserializer, de::Visitor, forward_to_deserialize_any};

/// Declares types that decode from protobuf, JSON and YAML alike.
///
/// In JSON and YAML every field may be absent or null, unknown fields are not stored, and empty
/// fields are not written. In protobuf the tags are those of Kubernetes.
macro_rules! slim {
    ($(
        $(#[$outer:meta])*
        pub struct $name:ident { $($(#[$inner:meta])* pub $field:ident: $type:ty,)* }
    )*) => {$(
        $(#[$outer])*
        #[derive(Clone, PartialEq, prost::Message, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase", remote = "Self")]
        pub struct $name {
            $(
                $(#[$inner])*
                #[serde(
                    deserialize_with = "crate::objects::slim::or_default",
                    skip_serializing_if = "crate::objects::slim::is_default"
                )]
                pub $field: $type,
            )*
        }

        crate::objects::slim::only_objects!($name);
    )*};
}
pub(super) use slim;

/// Has a struct with `#[serde(remote = "Self")]` decode from objects only. What serde derives also
/// takes a list for a struct, and an empty one for an empty struct.
macro_rules! only_objects {
    ($name:ident $(<$parameter:ident: $bound:path>)?) => {
        impl $(<$parameter: $bound>)? serde::Serialize for $name $(<$parameter>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }

        impl<'de $(, $parameter: $bound)?> serde::Deserialize<'de> for $name $(<$parameter>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(crate::objects::slim::OnlyObjects(deserializer))
            }
        }
    };
}
pub(super) use only_objects;

/// A deserializer that takes only an object for a struct.
pub(super) struct OnlyObjects<D>(pub(super) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for OnlyObjects<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Reads null as the default, as Go does.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Whether a field is empty and need not be written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

slim! {
    /// A message of which only the presence matters.
    #[derive(Copy, Eq)]
    pub struct Present {}
}
