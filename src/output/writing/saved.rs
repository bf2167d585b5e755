//! Reading of a saved plan.

use super::super::publish::thresholds;
use super::plan::{Plan, SavedSettings};
use crate::model::{
    Beside, Recording, SecretAssertion, Settings, SnapshotFirst, Text, Threshold, Time,
    parse_duration, parse_time,
};
use crate::output::wire::API_VERSION;

/// Reason for which a saved plan is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The file is no plan, or only a part of one.
    #[error("it is not a whole plan: {0}")]
    NotAPlan(String),
    /// Another version made the plan.
    #[error("it is a {kind} of {version}, and this version reads a Plan of {API_VERSION}")]
    OtherVersion { kind: String, version: String },
    /// The plan was edited.
    #[error("it was edited after it was made: its digest does not fit")]
    Edited,
    /// A setting in the plan means nothing to this version.
    #[error("its setting {0} cannot be read")]
    Setting(String),
}

/// Reads a saved plan.
///
/// # Errors
/// When it is not whole, of another version, or edited.
pub fn read(text: &str) -> Result<Plan, PlanError> {
    let broken = |error: serde_yaml::Error| PlanError::NotAPlan(error.to_string());
    let value: serde_json::Value = serde_yaml::from_str(text).map_err(broken)?;
    let word = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (kind, version) = (word("kind"), word("apiVersion"));
    if kind.is_empty() || version.is_empty() {
        return Err(PlanError::NotAPlan("there is no apiVersion and kind".to_owned()));
    }
    if kind != "Plan" || version != API_VERSION {
        return Err(PlanError::OtherVersion { kind, version });
    }
    let plan: Plan =
        serde_json::from_value(value).map_err(|error| PlanError::NotAPlan(error.to_string()))?;
    if plan.metadata.digest != plan.digest() {
        return Err(PlanError::Edited);
    }
    Ok(plan)
}

impl Plan {
    /// Returns the time at which the plan was made.
    pub fn made(&self) -> Option<Time> {
        self.metadata.made_at.as_deref().and_then(|text| parse_time(text).ok().flatten())
    }
}

impl SavedSettings {
    /// Returns the saved form of the settings of a plan.
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            thresholds: thresholds(settings),
            driver_absent: settings.absent_drivers.iter().map(ToString::to_string).collect(),
            provisioner_alive: settings
                .alive_provisioners
                .iter()
                .map(ToString::to_string)
                .collect(),
            resizer_alive: settings.alive_resizers.iter().map(ToString::to_string).collect(),
            include_unknown_age: settings.include_unknown_age,
            include_recreated: settings.include_recreated,
            backend_verified: settings.backend_verified,
            backend_exclusive: settings.backend_exclusive.iter().map(ToString::to_string).collect(),
            beside: settings.beside.clusters.iter().map(ToString::to_string).collect(),
            all_clusters: settings.beside.are_all,
            include_wanted: settings.include_wanted,
            destroy_snapshots: settings.destroy_snapshots,
            destroy_data: settings.destroy_data,
            accept_leak: settings.accept_leak,
            rolled_back: settings.rolled_back,
            reclaim: settings.reclaim,
            keep_data: settings.keep_data,
            delete_leftovers: settings.delete_leftovers,
            replicas_zero: settings.replicas_zero,
            add_owners: settings.add_owners,
            no_other_users: settings.no_other_users,
            snapshot_first: settings.snapshot_first.as_ref().map(|it| it.stamp.to_string()),
            snapshot_class: settings
                .snapshot_first
                .as_ref()
                .and_then(|it| it.class.as_ref())
                .map(ToString::to_string),
            owner_kind_gone: settings.owner_kind_gone,
            remove_finalizer: settings.remove_finalizer.as_ref().map(ToString::to_string),
            secret: match &settings.secret {
                SecretAssertion::Unsaid => None,
                SecretAssertion::None => Some(String::new()),
                SecretAssertion::Named { namespace, name } => Some(format!("{namespace}/{name}")),
            },
            record_namespace: settings.recording.namespace.to_string(),
            journal_only: settings.recording.journal_only,
        }
    }

    /// Returns the settings of the plan.
    ///
    /// # Errors
    /// When a threshold is not one that this version has.
    pub fn settings(&self) -> Result<Settings, PlanError> {
        let mut settings = Settings {
            absent_drivers: self.driver_absent.iter().map(|it| Text::from(&**it)).collect(),
            alive_provisioners: self.provisioner_alive.iter().map(|it| Text::from(&**it)).collect(),
            alive_resizers: self.resizer_alive.iter().map(|it| Text::from(&**it)).collect(),
            include_unknown_age: self.include_unknown_age,
            include_recreated: self.include_recreated,
            backend_verified: self.backend_verified,
            backend_exclusive: self.backend_exclusive.iter().map(|it| Text::from(&**it)).collect(),
            beside: Beside {
                clusters: self.beside.iter().map(|it| Text::from(&**it)).collect(),
                are_all: self.all_clusters,
            },
            include_wanted: self.include_wanted,
            destroy_snapshots: self.destroy_snapshots,
            destroy_data: self.destroy_data,
            accept_leak: self.accept_leak,
            rolled_back: self.rolled_back,
            reclaim: self.reclaim,
            keep_data: self.keep_data,
            delete_leftovers: self.delete_leftovers,
            replicas_zero: self.replicas_zero,
            add_owners: self.add_owners,
            no_other_users: self.no_other_users,
            snapshot_first: self.snapshot_first.as_deref().map(|stamp| SnapshotFirst {
                class: self.snapshot_class.as_deref().map(Text::from),
                stamp: stamp.into(),
            }),
            owner_kind_gone: self.owner_kind_gone,
            remove_finalizer: self.remove_finalizer.as_deref().map(Text::from),
            secret: self.secret()?,
            recording: Recording {
                namespace: self.record_namespace.as_str().into(),
                journal_only: self.journal_only,
                // Whoever carries the plan out says where that is recorded.
                cluster_journal: None,
            },
            ..Settings::default()
        };
        for (name, duration) in &self.thresholds {
            let unknown = || PlanError::Setting(format!("{name}={duration}"));
            let threshold = Threshold::parse(name).ok_or_else(unknown)?;
            let duration = parse_duration(duration).map_err(|_| unknown())?;
            settings.thresholds.set(threshold, duration);
        }
        Ok(settings)
    }

    fn secret(&self) -> Result<SecretAssertion, PlanError> {
        let Some(secret) = &self.secret else { return Ok(SecretAssertion::Unsaid) };
        if secret.is_empty() {
            return Ok(SecretAssertion::None);
        }
        let parts = secret.split_once('/');
        let (namespace, name) =
            parts.ok_or_else(|| PlanError::Setting(format!("secret={secret}")))?;
        Ok(SecretAssertion::Named { namespace: namespace.into(), name: name.into() })
    }
}
