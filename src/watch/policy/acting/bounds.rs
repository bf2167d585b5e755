//! `bounds:` of the policy file: how much reconcilers do, and when they stop.

use std::fmt;
use std::num::NonZeroU32;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

/// How much is done, and when no more is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct BoundsPolicy {
    /// The most changes at a time, of all reconcilers together.
    #[serde(deserialize_with = "count")]
    pub changes_per_run: NonZeroU32,
    /// The most changes within an hour, of all reconcilers together, counted from the journal.
    #[serde(deserialize_with = "count")]
    pub changes_per_hour: NonZeroU32,
    /// How many judgements in a row must propose the same before it is done.
    #[serde(deserialize_with = "count")]
    pub unchanged_judgements: NonZeroU32,
    /// The share of all volumes, in percent: if more become reclaimable within an hour, nothing is reclaimed.
    pub newly_eligible_percent: Percent,
}

impl Default for BoundsPolicy {
    fn default() -> Self {
        let count = |it| NonZeroU32::new(it).unwrap_or(NonZeroU32::MIN);
        Self {
            changes_per_run: count(10),
            changes_per_hour: count(20),
            unchanged_judgements: count(3),
            newly_eligible_percent: Percent(10),
        }
    }
}

/// A share in percent, from 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u8);

impl Percent {
    /// The whole.
    pub(in crate::watch::policy) const ALL: Self = Self(100);

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Reads a whole number, and says what is wrong with others.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    struct Whole;
    impl Visitor<'_> for Whole {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number")
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<u64, E> {
            u64::try_from(number).map_err(|_| E::custom(format!("{number} is negative")))
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }
    }
    from.deserialize_u64(Whole)
}

fn count<'de, D: Deserializer<'de>>(from: D) -> Result<NonZeroU32, D::Error> {
    let number = whole(from)?;
    let small = u32::try_from(number)
        .map_err(|_| de::Error::custom(format!("{number} is more than {}", u32::MAX)))?;
    NonZeroU32::new(small).ok_or_else(|| {
        de::Error::custom(
            "zero would keep every reconciler from acting: write mode: report instead",
        )
    })
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match whole(from)? {
            0 => Err(de::Error::custom(
                "zero would keep the first volume from being reclaimed: write mode: report instead",
            )),
            number => match u8::try_from(number) {
                Ok(share) if share <= Self::ALL.0 => Ok(Self(share)),
                _ => Err(de::Error::custom(format!("{number} is more than 100 percent"))),
            },
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::Percent;

    impl JsonSchema for Percent {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Percent".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({"type": "integer", "minimum": 1, "maximum": 100})
        }
    }
}
