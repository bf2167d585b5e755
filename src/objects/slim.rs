//! `slim!`: declares types that decode from protobuf, JSON and YAML.

use serde::{Deserialize, Deserializer};

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
        #[serde(default, rename_all = "camelCase")]
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
    )*};
}
pub(super) use slim;

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
