//! `bounds:` of the policy file: how much reconcilers do, and when they stop.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

use super::{SHORTEST, values};

/// How much is done, and when no more is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct BoundsPolicy {
    /// The most changes after one look at the cluster.
    #[serde(deserialize_with = "count")]
    pub changes_per_run: NonZeroUsize,
    /// The most changes within an hour, of all reconcilers but `rescue` together, counted from the journal.
    #[serde(deserialize_with = "count")]
    pub changes_per_hour: NonZeroUsize,
    /// How many judgements in a row must propose the same before it is done.
    #[serde(deserialize_with = "count")]
    pub unchanged_judgements: NonZeroU32,
    /// How long after each other these judgements are made.
    #[serde(deserialize_with = "interval")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "values::duration_schema"))]
    pub judgement_interval: Duration,
    /// The circuit breaker: if more than so many percent of all volumes become reclaimable within an hour, nothing is announced or reclaimed.
    pub newly_eligible_percent: Percent,
}

/// How old a look may be that is acted on.
pub(crate) const OLDEST_LOOK: Duration = Duration::from_secs(300);

impl BoundsPolicy {
    /// Whether the look at the cluster is too old before its last judgement is made.
    pub(in crate::watch::policy) fn never_settles(&self) -> bool {
        let intervals = self.unchanged_judgements.get() - 1;
        self.judgement_interval.checked_mul(intervals).is_none_or(|it| it >= OLDEST_LOOK)
    }
}

impl Default for BoundsPolicy {
    fn default() -> Self {
        let changes = |it| NonZeroUsize::new(it).unwrap_or(NonZeroUsize::MIN);
        Self {
            changes_per_run: changes(10),
            changes_per_hour: changes(20),
            unchanged_judgements: NonZeroU32::new(3).unwrap_or(NonZeroU32::MIN),
            judgement_interval: Duration::from_secs(5),
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

/// Reads a number that is not zero, of whichever size.
fn count<'de, D: Deserializer<'de>, T: TryFrom<NonZeroU32>>(from: D) -> Result<T, D::Error> {
    let number = whole(from)?;
    let small = u32::try_from(number)
        .map_err(|_| de::Error::custom(format!("{number} is more than {}", u32::MAX)))?;
    let count = NonZeroU32::new(small).and_then(|it| T::try_from(it).ok());
    count.ok_or_else(|| {
        de::Error::custom(
            "zero would keep every reconciler from acting: write mode: report instead",
        )
    })
}

fn interval<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    match values::duration(from)? {
        short if short < SHORTEST => Err(de::Error::custom("an interval is at least 1s")),
        interval => Ok(interval),
    }
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
