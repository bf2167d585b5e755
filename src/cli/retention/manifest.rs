//! Manifest of a `StatefulSet`, as far as it decides about claims.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};
use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    cli::{Exit, Failure},
    facts::retention::SetChange,
    model::{Retention, RetentionPolicy, StatefulSet, nearest},
};

/// `StatefulSet` in a manifest; fields that the manifest leaves out are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetManifest {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    replicas: Option<i32>,
    start: Option<i32>,
    when_deleted: Option<Retention>,
    when_scaled: Option<Retention>,
    templates: Vec<String>,
}

/// Reads the sets in manifests; other objects are passed over. Fails if there is none, or one twice.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<SetManifest>, Failure> {
    let mut sets: Vec<SetManifest> = Vec::new();
    for file in files {
        let text = text(file).map_err(Failure::error)?;
        let parsed = parse(&text).with_context(|| format!("failed to read {}", file.display()));
        sets.extend(parsed.map_err(|error| Failure { exit: Exit::Error, error, hint: None })?);
    }
    for (index, set) in sets.iter().enumerate() {
        let same = |it: &SetManifest| it.name == set.name && it.namespace == set.namespace;
        if sets[..index].iter().any(same) {
            let error = anyhow!("StatefulSet {} is in the manifests twice", set.name);
            return Err(Failure { exit: Exit::Error, error, hint: None });
        }
    }
    if sets.is_empty() && !files.is_empty() {
        let error = anyhow!("the manifests contain no StatefulSet of apps/v1");
        return Err(Failure { exit: Exit::Error, error, hint: None });
    }
    Ok(sets)
}

fn text(file: &Path) -> anyhow::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).context("failed to read stdin")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))
}

fn parse(text: &str) -> anyhow::Result<Vec<SetManifest>> {
    let mut sets = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let value = Value::deserialize(document)?;
        match value["items"].as_array() {
            Some(items) => {
                for item in items {
                    sets.extend(SetManifest::of(item)?);
                }
            }
            None => sets.extend(SetManifest::of(&value)?),
        }
    }
    Ok(sets)
}

impl SetManifest {
    /// Returns the set that a document describes, if it is one.
    fn of(document: &Value) -> anyhow::Result<Option<Self>> {
        if document["kind"] != "StatefulSet" || document["apiVersion"] != "apps/v1" {
            return Ok(None);
        }
        let spec = &document["spec"];
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            bail!("a StatefulSet has no metadata.name");
        }
        let number = |field: &str, value: &Value| match value {
            Value::Null => Ok(None),
            value => value
                .as_i64()
                .and_then(|number| i32::try_from(number).ok())
                .filter(|number| *number >= 0)
                .map(Some)
                .ok_or_else(|| {
                    anyhow!("{field} of StatefulSet {name} is {value}, not a number from 0 on")
                }),
        };
        let policy = &spec["persistentVolumeClaimRetentionPolicy"];
        let retention = |field: &str| match &policy[field] {
            Value::Null => Ok(None),
            Value::String(text) => parse_retention(text).map(Some).map_err(|error| {
                anyhow!(
                    "persistentVolumeClaimRetentionPolicy.{field} of StatefulSet {name}: {error}"
                )
            }),
            other => bail!(
                "persistentVolumeClaimRetentionPolicy.{field} of StatefulSet {name} is {other}, not Retain or Delete"
            ),
        };
        let templates = spec["volumeClaimTemplates"].as_array().into_iter().flatten();
        let template = |it: &Value| it["metadata"]["name"].as_str().map(str::to_owned);
        Ok(Some(Self {
            namespace: document["metadata"]["namespace"].as_str().map(str::to_owned),
            name: name.to_owned(),
            replicas: number("spec.replicas", &spec["replicas"])?,
            start: number("spec.ordinals.start", &spec["ordinals"]["start"])?,
            when_deleted: retention("whenDeleted")?,
            when_scaled: retention("whenScaled")?,
            templates: templates.filter_map(template).collect(),
        }))
    }

    /// Fails if the API server would refuse the change of a set.
    pub(super) fn check(&self, set: &StatefulSet) -> anyhow::Result<()> {
        let live: Vec<_> = set.templates.iter().map(|it| it.name.to_string()).collect();
        if live != self.templates {
            bail!(
                "the API server refuses the manifest of {}: spec.volumeClaimTemplates cannot be changed ({} now, {} in the manifest)",
                set.object(),
                named(&live),
                named(&self.templates),
            );
        }
        Ok(())
    }

    /// Returns what applying the manifest changes, if fields that it leaves out stay as they are.
    pub(super) fn kept(&self, set: &StatefulSet) -> SetChange {
        let live = set.retention.as_ref();
        let policy = live.filter(|_| self.when_deleted.is_some() || self.when_scaled.is_some());
        SetChange {
            replicas: self.replicas,
            start: self.start,
            policy: policy.map(|live| RetentionPolicy {
                when_deleted: self.when_deleted.clone().unwrap_or(live.when_deleted.clone()),
                when_scaled: self.when_scaled.clone().unwrap_or(live.when_scaled.clone()),
            }),
        }
    }

    /// Returns what applying the manifest changes, if fields that it leaves out return to their defaults.
    pub(super) fn reset(&self, set: &StatefulSet) -> SetChange {
        let retain = || Retention::Retain;
        SetChange {
            replicas: Some(self.replicas.unwrap_or(1)),
            start: Some(self.start.unwrap_or(0)),
            policy: set.retention.as_ref().map(|_| RetentionPolicy {
                when_deleted: self.when_deleted.clone().unwrap_or_else(retain),
                when_scaled: self.when_scaled.clone().unwrap_or_else(retain),
            }),
        }
    }
}

/// Returns the parts of a change of a set, in words.
pub(super) fn describe_change(set: &StatefulSet, change: &SetChange) -> Vec<String> {
    let mut words = Vec::new();
    let live = set.replicas.unwrap_or(1);
    if let Some(replicas) = change.replicas.filter(|it| *it != live) {
        words.push(format!("replicas {live} to {replicas}"));
    }
    if let Some(start) = change.start.filter(|it| *it != set.start) {
        words.push(format!("ordinals.start {} to {start}", set.start));
    }
    if let (Some(policy), Some(live)) = (&change.policy, &set.retention) {
        for (field, from, to) in [
            ("whenDeleted", &live.when_deleted, &policy.when_deleted),
            ("whenScaled", &live.when_scaled, &policy.when_scaled),
        ] {
            if from != to {
                words.push(format!("{field} {from} to {to}"));
            }
        }
    }
    words
}

/// Parses `Retain` or `Delete`.
pub(super) fn parse_retention(text: &str) -> Result<Retention, String> {
    match text {
        "Retain" => Ok(Retention::Retain),
        "Delete" => Ok(Retention::Delete),
        _ => {
            let text = crate::model::escape_control(text);
            let near = nearest(&text, ["Retain", "Delete"].map(str::to_owned)).into_iter().next();
            let meant = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Err(format!("\"{text}\" is unknown; the API server accepts Retain and Delete{meant}"))
        }
    }
}

fn named(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_found_among_other_objects() {
        let text = "kind: Service\napiVersion: v1\n---\n\
            {kind: StatefulSet, apiVersion: apps/v1, metadata: {name: web}, spec: {replicas: 3}}\n---\n\
            {kind: List, apiVersion: v1, items: [{kind: StatefulSet, apiVersion: apps/v1, \
            metadata: {name: db, namespace: shop}, spec: {ordinals: {start: 2}}}]}\n---\n---\n";
        let sets = parse(text).expect("because it is YAML");
        let shown: Vec<_> = sets.iter().map(|it| (&*it.name, it.replicas, it.start)).collect();
        assert_eq!(shown, [("web", Some(3), None), ("db", None, Some(2))]);
        assert_eq!(sets[1].namespace.as_deref(), Some("shop"));
    }

    #[test]
    fn what_the_server_would_not_accept_is_an_error() {
        let set = |spec: &str| {
            parse(&format!(
                "{{kind: StatefulSet, apiVersion: apps/v1, metadata: {{name: web}}, spec: {spec}}}"
            ))
        };
        for (spec, error) in [
            ("{replicas: many}", "spec.replicas"),
            ("{replicas: -1}", "spec.replicas"),
            ("{replicas: 3000000000}", "spec.replicas"),
            ("{ordinals: {start: 1.5}}", "spec.ordinals.start"),
            ("{persistentVolumeClaimRetentionPolicy: {whenScaled: delete}}", "whenScaled"),
            ("{persistentVolumeClaimRetentionPolicy: {whenDeleted: 1}}", "whenDeleted"),
        ] {
            let told = set(spec).expect_err(spec).to_string();
            assert!(told.contains(error), "{told}");
        }
        assert!(parse("{kind: StatefulSet, apiVersion: apps/v1}").is_err());
        let other =
            "{kind: StatefulSet, apiVersion: apps.kruise.io/v1beta1, metadata: {name: web}}";
        assert_eq!(parse(other).expect("because it is passed over"), []);
    }
}
