//! Settings: thresholds, scope and accepted risks.

use std::{collections::BTreeSet, fmt};

use super::{Labels, ObjectKey, Text, Thresholds, Time};

/// Thresholds, scope and accepted risks, as the user gave them. None of it is a fact about the
/// cluster.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, named when it is used"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Durations.
    pub thresholds: Thresholds,
    /// Which findings are reported. Checks of remedies ignore it.
    pub scope: Scope,
    /// Drivers that the user declared absent (`--driver-absent`).
    pub absent_drivers: BTreeSet<Text>,
    /// Provisioners that the user asserts to be at work although nothing shows them
    /// (`--provisioner-alive`).
    pub alive_provisioners: BTreeSet<Text>,
    /// Acting on an age that is unknown or that only one source shows.
    pub include_unknown_age: bool,
    /// Acting on a volume whose claim was recreated.
    pub include_recreated: bool,
    /// The user asserts that a backend volume is intact although its deletion was stopped.
    pub backend_verified: bool,
    /// The user asserts that nothing else uses the storage of these volumes (`pv/NAME`) or drivers.
    pub backend_exclusive: BTreeSet<Text>,
    /// Acting on a volume whose claim a workload still wants, although it is gone.
    pub include_wanted: bool,
    /// Destroying snapshots together with their volume.
    pub destroy_snapshots: bool,
    /// Destroying the data of a volume that any claim can bind.
    pub destroy_data: bool,
    /// Leaking a backend volume on purpose.
    pub accept_leak: bool,
    /// The user asserts that `HonorPVReclaimPolicy` is off in kube-controller-manager.
    pub rolled_back: bool,
    /// Having the driver delete the backend volume instead of leaking it, by a placeholder volume
    /// (`--reclaim`).
    pub reclaim: bool,
    /// Keeping the data of a claim whose last finalizer is removed, whatever the policy of its
    /// volume.
    pub keep_data: bool,
    /// Deleting a claim that the user names although its set retains it out of range; or, by the
    /// policy of its set, what scale-downs left.
    pub delete_leftovers: bool,
    /// Deleting what a scale-down left although the set has no replicas now, or is scaled by itself.
    pub replicas_zero: bool,
    /// Adding owner references with which claims are deleted.
    pub add_owners: bool,
    /// The user asserts that nothing uses a claim but what was looked at: no custom resource that
    /// could not be listed, and no software whose mark it has.
    pub no_other_users: bool,
    /// Taking a snapshot of a claim before it is deleted (`--snapshot-first`).
    pub snapshot_first: Option<SnapshotFirst>,
    /// Removing owner references whose kind the server does not serve any more.
    pub owner_kind_gone: bool,
    /// The one third-party finalizer that is to be removed.
    pub remove_finalizer: Option<Text>,
    /// What the user asserted about the Secret for `DeleteVolume`.
    pub secret: SecretAssertion,
    /// Where kept backend volumes are recorded, besides the journal.
    pub recording: Recording,
}

/// The snapshot that is taken of a claim before it is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotFirst {
    /// The class (`--snapshot-class`); without one, the default class of the driver.
    pub class: Option<Text>,
    /// The last part of its name: when it was planned, by the API server's clock. It is fixed with
    /// the plan, so that every later step knows the snapshot; empty as long as no clock was read.
    pub stamp: Text,
}

/// What the user asserted about the Secret for `DeleteVolume`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SecretAssertion {
    /// Nothing.
    #[default]
    Unsaid,
    /// `--no-secret`: the driver needs none.
    None,
    /// `--secret NAMESPACE/NAME`.
    Named { namespace: Text, name: Text },
}

/// Where what was done is recorded, and kept backend volumes besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The namespace of the record in the cluster (`--record-namespace`).
    pub namespace: Text,
    /// The journal is enough: the record in the cluster is not written.
    pub journal_only: bool,
    /// The namespace of the journal in the cluster (`--cluster-journal`); `None` where it is in the
    /// file of this machine.
    pub cluster_journal: Option<Text>,
}

impl Recording {
    /// The default namespace of the record.
    pub const NAMESPACE: &str = "kube-system";
}

impl Default for Recording {
    fn default() -> Self {
        Self { namespace: Self::NAMESPACE.into(), journal_only: false, cluster_journal: None }
    }
}

/// Which findings are reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Claims of these namespaces, and volumes whose claimRef references one; all if it is empty.
    pub namespaces: BTreeSet<Text>,
    /// Labels of the finding's object.
    pub selector: Selector,
    /// Only these rules, unless empty.
    pub rules: BTreeSet<Text>,
    /// Not these rules.
    pub ignored: BTreeSet<Text>,
    /// Not these findings of these objects.
    pub exemptions: Vec<Exemption>,
}

impl Scope {
    /// The namespace of a command that knows one or all.
    pub fn namespace(&self) -> Option<&Text> {
        self.namespaces.first()
    }

    /// Whether a namespace is reported.
    pub fn includes(&self, namespace: &Text) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(namespace)
    }

    /// When the next exemption ends, after `now`.
    pub fn next_end(&self, now: Time) -> Option<Time> {
        self.exemptions.iter().filter_map(|it| it.until).filter(|until| now < *until).min()
    }
}

/// A finding of one object that is not reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// The rule.
    pub rule: Text,
    /// The object.
    pub object: ObjectKey,
    /// When it ends, by the API server's clock; never without one.
    pub until: Option<Time>,
}

impl Exemption {
    /// Whether it has not ended. Where no clock was read, nothing has.
    pub fn applies_at(&self, now: Option<Time>) -> bool {
        self.until.zip(now).is_none_or(|(until, now)| now < until)
    }
}

/// A label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    /// An operator that this version does not know: nothing matches.
    Unknown(String),
}

/// Why a selector does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid selector at {0:?}: expected key=value, key!=value, key in (a,b), key notin (a,b), \
     key or !key"
)]
pub struct SelectorError(String);

impl Selector {
    /// Parses kubectl's `-l`.
    ///
    /// # Errors
    /// When a requirement is malformed.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for part in split_outside_parentheses(text) {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            requirements
                .push(Requirement::parse(part).ok_or_else(|| SelectorError(part.to_owned()))?);
        }
        Ok(Self { requirements })
    }

    /// Returns the selector of an object, which has all of these labels and matches all of these
    /// expressions.
    pub fn of<'a>(
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        expressions: impl IntoIterator<Item = (&'a str, &'a str, &'a [String])>,
    ) -> Self {
        let has = |(key, value): (&str, &str)| Requirement {
            key: key.to_owned(),
            test: Test::In(vec![value.to_owned()]),
        };
        let matches = |(key, operator, values): (&str, &str, &[String])| Requirement {
            key: key.to_owned(),
            test: match operator {
                "In" => Test::In(values.to_vec()),
                "NotIn" => Test::NotIn(values.to_vec()),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Absent,
                other => Test::Unknown(other.to_owned()),
            },
        };
        let labels = labels.into_iter().map(has);
        Self { requirements: labels.chain(expressions.into_iter().map(matches)).collect() }
    }

    /// Returns the first requirement that a label which is there does not satisfy, in words, with that
    /// label. A label that is absent contradicts nothing.
    pub fn contradicted_by<'l>(&self, labels: &'l Labels) -> Option<(&'l str, &'l str, String)> {
        self.requirements.iter().find_map(|it| {
            let (key, value) = labels.iter().find(|(key, _)| **key == *it.key)?;
            let only = Self { requirements: vec![it.clone()] };
            (!it.matches(labels)).then(|| (&**key, &**value, only.to_string()))
        })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the labels satisfy every requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }
}

impl Requirement {
    fn parse(text: &str) -> Option<Self> {
        let of = |key: &str, test| {
            let key = key.trim();
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
            (!key.is_empty() && key.chars().all(plain)).then(|| Self { key: key.to_owned(), test })
        };
        if let Some((key, value)) = text.split_once("!=") {
            return of(key, Test::NotIn(vec![value.trim().to_owned()]));
        }
        if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return of(key, Test::In(vec![value.trim().to_owned()]));
        }
        if let Some(rest) = text.strip_suffix(')') {
            let (head, values) = rest.split_once('(')?;
            let values = values.split(',').map(|value| value.trim().to_owned()).collect();
            let (key, operator) = head.trim().rsplit_once(char::is_whitespace)?;
            return match operator {
                "in" => of(key, Test::In(values)),
                "notin" => of(key, Test::NotIn(values)),
                _ => None,
            };
        }
        match text.strip_prefix('!') {
            Some(key) => of(key, Test::Absent),
            None => of(text, Test::Exists),
        }
    }

    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.iter().find(|(key, _)| **key == *self.key).map(|(_, value)| &**value);
        match (&self.test, value) {
            (Test::In(values), Some(value)) => values.iter().any(|known| known == value),
            (Test::NotIn(values), Some(value)) => !values.iter().any(|known| known == value),
            (Test::Exists, Some(_)) | (Test::NotIn(_) | Test::Absent, None) => true,
            (Test::In(_) | Test::Exists, None)
            | (Test::Absent, Some(_))
            | (Test::Unknown(_), _) => false,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, test }) in self.requirements.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            match test {
                Test::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0]),
                Test::In(values) => write!(f, "{key} in ({})", values.join(",")),
                Test::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
                Test::Exists => f.write_str(key),
                Test::Absent => write!(f, "!{key}"),
                Test::Unknown(operator) => write!(f, "{key} {operator}"),
            }?;
        }
        Ok(())
    }
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (index, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_as_kubectl_does() {
        let labels: Labels = [("app".into(), "db".into()), ("tier".into(), "a".into())].into();
        for (selector, expected) in [
            ("", true),
            ("app=db", true),
            ("app==db,tier=a", true),
            ("app=web", false),
            ("app!=web", true),
            ("zone!=x", true),
            ("app in (web, db),tier notin (b)", true),
            ("app in (web)", false),
            ("zone notin (x)", true),
            ("app", true),
            ("zone", false),
            ("!zone", true),
            ("!app", false),
        ] {
            let parsed = Selector::parse(selector).expect("valid selector");
            assert_eq!(parsed.matches(&labels), expected, "{selector}");
        }
        for broken in ["=x", "a b", "a in b)", "a like (b)", "!", "a in (b"] {
            assert!(Selector::parse(broken).is_err(), "{broken}");
        }
    }
}
