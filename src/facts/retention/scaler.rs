//! Who sets the number of replicas of a `StatefulSet` by itself: an autoscaler or a schedule.

use std::fmt;

use crate::cluster::{Cx, Seen};
use crate::model::{Kind, ManagedField, ObjectKey, ObjectRef, StatefulSet, Text};

/// KEDA names its autoscalers so, unless it is told another name.
const KEDA_AUTOSCALER: &str = "keda-hpa-";
/// Managers of `spec.replicas` that scale by themselves, with the name of the tool.
const MANAGERS: [(&str, &str); 6] = [
    ("keda", "KEDA"),
    ("kube-downscaler", "kube-downscaler"),
    ("py-kube-downscaler", "py-kube-downscaler"),
    ("pykube", "kube-downscaler"),
    ("kube-green", "kube-green"),
    ("sablier", "Sablier"),
];

/// What sets the number of replicas of a set by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scaler {
    /// A `HorizontalPodAutoscaler`; of KEDA, if its name says so.
    Autoscaler {
        /// The autoscaler.
        object: ObjectRef,
        /// Whether it is one of KEDA's.
        of_keda: bool,
    },
    /// A tool that has set `spec.replicas`, by the managers of the field.
    Manager(&'static str),
    /// A downscaler, by the annotations of the set.
    Downscaler,
}

impl fmt::Display for Scaler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Autoscaler { object, of_keda: true } => write!(f, "KEDA ({object})"),
            Self::Autoscaler { object, of_keda: false } => write!(f, "{object}"),
            Self::Manager(tool) => f.write_str(tool),
            Self::Downscaler => f.write_str("a downscaler (annotation downscaler/…)"),
        }
    }
}

/// Returns what scales a set by itself, as far as the set and autoscalers show it.
///
/// # Errors
/// When autoscalers of its namespace were not read, and nothing else shows a scaler.
pub fn scalers(cx: &Cx, set: &StatefulSet) -> Seen<Vec<Scaler>> {
    let mut found = Vec::new();
    if set.metadata.is_scheduled_by_downscaler() {
        found.push(Scaler::Downscaler);
    }
    for manager in set.metadata.managers_of(&ManagedField::Replicas) {
        let of = |name: &str| {
            manager
                .manager
                .strip_prefix(name)
                .is_some_and(|it| it.is_empty() || !it.starts_with(char::is_alphanumeric))
        };
        let tool = MANAGERS.iter().find(|(name, _)| of(name)).map(|(_, tool)| *tool);
        found.extend(tool.map(Scaler::Manager).filter(|it| !found.contains(it)));
    }
    let autoscalers = match cx.autoscalers_of(&set.namespace, &set.metadata.name) {
        Ok(autoscalers) => autoscalers,
        Err(unseen) if found.is_empty() => return Err(unseen),
        Err(_) => Vec::new(),
    };
    let autoscaler = |name: &str| Scaler::Autoscaler {
        object: ObjectRef {
            key: ObjectKey {
                kind: Kind::HorizontalPodAutoscaler,
                namespace: Some(Text::clone(&set.namespace)),
                name: name.into(),
            },
            uid: None,
        },
        of_keda: name.starts_with(KEDA_AUTOSCALER),
    };
    let listed = autoscalers.iter().map(|it| autoscaler(&it.name));
    Ok(listed.chain(found).collect())
}
