//! Sections `reconcilers:` and `bounds:` of the policy file: what is done besides reporting, how much of it, and when
//! it stops.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, de};

use super::values;
use crate::model::{RuleId, format_duration};
use crate::plan;

/// What each reconciler does besides reporting: nothing, unless the policy says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct ReconcilersPolicy {
    /// Saves data without delay: sets volumes of claims that are Terminating but in use to Retain, and
    /// removes owner references to owners that do not exist, or that contradict the policy Retain of
    /// their StatefulSet.
    #[serde(default)]
    pub rescue: ReconcilerPolicy,
    /// Removes owner references as `retention reconcile` does without flags.
    #[serde(default)]
    pub retention: ReconcilerPolicy,
    /// Removes finalizers as `fix-finalizers` does without danger flags, where that destroys nothing.
    #[serde(default)]
    pub finalizers: ReconcilerPolicy,
    /// Announces volumes that are Released, and reclaims what was announced for the grace period.
    #[serde(default)]
    #[schemars(with = "ReclaimingKeys")]
    pub reclaim: ReclaimingPolicy,
}

/// Name of a reconciler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReconcilerName {
    /// The reconciler that saves data without delay.
    Rescue,
    /// The reconciler that makes claims follow the retention policy of their sets.
    Retention,
    /// The reconciler that unblocks deletions that are stuck.
    Finalizers,
    /// The reconciler that reclaims what was announced.
    Reclaim,
}

impl ReconcilerName {
    /// All reconcilers.
    pub const ALL: [Self; 4] = [Self::Rescue, Self::Retention, Self::Finalizers, Self::Reclaim];

    /// Returns the key of the reconciler in a policy, which is its name everywhere else.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rescue => "rescue",
            Self::Retention => "retention",
            Self::Finalizers => "finalizers",
            Self::Reclaim => "reclaim",
        }
    }

    /// Returns the reconciler of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the rules whose findings the reconciler answers.
    pub const fn answers(self) -> &'static [RuleId] {
        match self {
            Self::Rescue => &plan::RESCUED,
            // R-1847-15: what is removed without a flag.
            Self::Retention => &[
                "sts-ownerref-contradicts-retain",
                "sts-stale-ownerref",
                "sts-claim-owned-by-pod-in-range",
            ],
            Self::Finalizers => &plan::FINALIZER_FINDINGS,
            Self::Reclaim => &["pv-released-past-threshold"],
        }
    }
}

impl fmt::Display for ReconcilerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a reconciler does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(rename_all = "camelCase", inline)]
pub enum ReconcilerMode {
    /// Nothing.
    #[default]
    Off,
    /// It reports what it would do, and does nothing.
    Report,
    /// It does it.
    Act,
}

impl ReconcilerMode {
    const NAMES: &[&str] = &["off", "report", "act"];

    /// Returns the name of the mode in a policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::Act => "act",
        }
    }
}

impl<'de> Deserialize<'de> for ReconcilerMode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Named;
        impl Visitor<'_> for Named {
            type Value = ReconcilerMode;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("off, report or act")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<ReconcilerMode, E> {
                match name {
                    "off" => Ok(ReconcilerMode::Off),
                    "report" => Ok(ReconcilerMode::Report),
                    "act" => Ok(ReconcilerMode::Act),
                    _ => Err(E::unknown_variant(name, ReconcilerMode::NAMES)),
                }
            }

            /// Accepts the boolean that a tool with YAML 1.1 makes of `off` and `on` without quotes.
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<ReconcilerMode, E> {
                Err(E::custom(match value {
                    false => {
                        "expected off, report or act, found false: a tool with YAML 1.1 may have \
                         made it of off; write \"off\" in quotes"
                    }
                    true => {
                        "expected off, report or act, found true: nothing acts without being told \
                         so; write report or act"
                    }
                }))
            }
        }
        from.deserialize_str(Named)
    }
}

/// A reconciler of which the policy says only whether it acts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct ReconcilerPolicy {
    /// Whether it does nothing (`off`, the default), reports what it would do, or does it (`act`).
    #[serde(default)]
    pub mode: ReconcilerMode,
}

/// The reconciler `reclaim`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReclaimingPolicy {
    mode: ReconcilerMode,
    times: Option<ReclaimTimes>,
}

/// Times of the reconciler `reclaim`: when a volume is announced, and when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReclaimTimes {
    /// Time for which a volume must have been Released before it is announced; at least a second.
    pub older_than: Duration,
    /// Time for which a volume stays announced before it is reclaimed; at least a second.
    pub grace: Duration,
}

impl ReclaimingPolicy {
    /// Returns the mode of the reconciler.
    pub const fn mode(&self) -> ReconcilerMode {
        self.mode
    }

    /// Returns the times of the reconciler; `None` only where it is off.
    pub const fn times(&self) -> Option<ReclaimTimes> {
        match self.mode {
            ReconcilerMode::Off => None,
            ReconcilerMode::Report | ReconcilerMode::Act => self.times,
        }
    }
}

/// What the reconciler `reclaim` does, and after which times.
#[derive(Deserialize, schemars::JsonSchema)]
#[schemars(rename = "ReclaimingPolicy")]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
struct ReclaimingKeys {
    /// Whether it does nothing (`off`, the default), reports what it would do, or does it (`act`).
    #[serde(default)]
    mode: ReconcilerMode,
    /// How long a volume must have been Released before it is announced; required unless it is off.
    #[serde(default, deserialize_with = "age")]
    #[schemars(schema_with = "values::duration_schema", transform = no_default)]
    older_than: Option<Duration>,
    /// How long a volume stays announced, and can be vetoed, before it is reclaimed; required unless it is off.
    #[serde(default, deserialize_with = "grace")]
    #[schemars(schema_with = "values::duration_schema", transform = no_default)]
    grace: Option<Duration>,
}

/// Removes defaults from a schema: what only some modes require has none.
fn no_default(schema: &mut schemars::Schema) {
    schema.remove("default");
}

/// The shortest grace period and age: announcements are dated in whole seconds.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest grace period: years that are no dates count as never.
const LONGEST_GRACE: Duration = Duration::from_secs(10 * 366 * 24 * 3600);
/// Shortest grace period that is usual: people need that long to veto, since Events, metrics and alerts take minutes.
pub(super) const USUAL_GRACE: Duration = Duration::from_secs(3600);

fn age<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    match values::some_duration(from)? {
        Some(it) if it < SHORTEST => Err(de::Error::custom("the age of a volume is at least 1s")),
        age => Ok(age),
    }
}

fn grace<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    match values::some_duration(from)? {
        Some(it) if it < SHORTEST => Err(de::Error::custom("a grace period is at least 1s")),
        Some(it) if it > LONGEST_GRACE => {
            Err(de::Error::custom("a grace period is at most ten years"))
        }
        grace => Ok(grace),
    }
}

impl<'de> Deserialize<'de> for ReclaimingPolicy {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let ReclaimingKeys { mode, older_than, grace } = Deserialize::deserialize(from)?;
        match (older_than, grace) {
            (Some(older_than), Some(grace)) => {
                Ok(Self { mode, times: Some(ReclaimTimes { older_than, grace }) })
            }
            _ if mode == ReconcilerMode::Off => Ok(Self { mode, times: None }),
            (None, _) => Err(de::Error::missing_field("olderThan")),
            (_, None) => Err(de::Error::missing_field("grace")),
        }
    }
}

impl ReconcilersPolicy {
    /// Returns the mode of a reconciler.
    pub const fn mode(&self, name: ReconcilerName) -> ReconcilerMode {
        match name {
            ReconcilerName::Rescue => self.rescue.mode,
            ReconcilerName::Retention => self.retention.mode,
            ReconcilerName::Finalizers => self.finalizers.mode,
            ReconcilerName::Reclaim => self.reclaim.mode,
        }
    }

    /// Returns the reconcilers with this mode.
    pub fn of_mode(&self, mode: ReconcilerMode) -> impl Iterator<Item = ReconcilerName> {
        ReconcilerName::ALL.into_iter().filter(move |it| self.mode(*it) == mode)
    }

    /// Whether any reconciler changes something.
    pub fn acts(&self) -> bool {
        self.of_mode(ReconcilerMode::Act).next().is_some()
    }

    /// Whether all reconcilers are off.
    pub fn is_off(&self) -> bool {
        ReconcilerName::ALL.iter().all(|it| self.mode(*it) == ReconcilerMode::Off)
    }
}

/// How much is done, and when no more is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
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
    #[schemars(schema_with = "values::duration_schema", transform = default_interval)]
    pub judgement_interval: Duration,
    /// The circuit breaker: if more than so many percent of all volumes become reclaimable within an hour, nothing is announced or reclaimed.
    pub newly_eligible_percent: Percent,
}

/// Greatest age of a look on which changes may rest.
pub(crate) const OLDEST_LOOK: Duration = Duration::from_secs(300);

impl BoundsPolicy {
    /// Whether the look at the cluster would be too old before its last judgement is made.
    pub(in super::super::policy) fn never_settles(&self) -> bool {
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
    /// The whole: 100 percent.
    pub(in super::super::policy) const ALL: Self = Self(100);

    /// Returns the number of percent.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Reads a whole number, and explains what is wrong with others.
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

/// Reads a number that is not zero, of any size.
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

/// Sets the default of the interval in a schema, as it is written in a policy.
fn default_interval(schema: &mut schemars::Schema) {
    let interval = BoundsPolicy::default().judgement_interval;
    schema.insert("default".to_owned(), format_duration(interval).into());
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
