//! `kubectl storage rbac audit`: the smallest role, or what is lacking.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use futures::future::join_all;
use serde::{Deserialize, Serialize};

use super::{Exit, Failure, args::ConnectionArgs, collect, terminal};
use crate::{
    model::Kind,
    output::list,
    sources::client::{self, Reader, Review},
};

/// Arguments of `rbac`.
#[derive(Debug, Args)]
pub struct RbacArgs {
    /// The command
    command: For,
    /// Say what the current user lacks, instead of printing the role
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum For {
    /// Everything that `audit` and `dump` read
    Audit,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterRole {
    api_version: &'static str,
    kind: &'static str,
    metadata: RoleMetadata,
    rules: Vec<PolicyRule>,
}

#[derive(Serialize)]
struct RoleMetadata {
    name: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyRule {
    api_groups: Vec<&'static str>,
    resources: Vec<&'static str>,
    verbs: Vec<&'static str>,
}

/// One right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
}

/// Everything that an audit asks for, except secrets: whether one exists is worth knowing, but not
/// worth the right to read it.
fn rights() -> Vec<Right> {
    let mut rights = Vec::new();
    let mut add = |verb, kind: Kind| {
        rights.push(Right { verb, group: kind.group().name, resource: kind.plural() });
    };
    for kind in collect::kinds() {
        match kind {
            // An owner may be of any kind: who may not read it learns that it was not seen.
            Kind::Secret | Kind::PartialObjectMetadata => {}
            Kind::SubjectAccessReview => add("create", kind),
            // What is asked about by name: those that others name, and the usual owners of claims.
            Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::Node
            | Kind::StorageClass
            | Kind::VolumeSnapshot
            | Kind::StatefulSet
            | Kind::Pod => {
                // Absence is confirmed one by one where two lists do not prove it.
                add("get", kind);
                add("list", kind);
            }
            _ => add("list", kind),
        }
    }
    // The uid of kube-system is the cluster's identity.
    add("get", Kind::Namespace);
    add("list", Kind::Namespace);
    rights.sort_unstable();
    rights.dedup();
    rights
}

fn role() -> ClusterRole {
    let mut by_resource: BTreeMap<(&str, &str), Vec<&'static str>> = BTreeMap::new();
    for right in rights() {
        by_resource.entry((right.group, right.resource)).or_default().push(right.verb);
    }
    // Resources of one group with the same verbs share a rule.
    let mut rules: Vec<PolicyRule> = Vec::new();
    for ((group, resource), verbs) in by_resource {
        let twin = rules.iter_mut().find(|rule| rule.api_groups == [group] && rule.verbs == verbs);
        match twin {
            Some(rule) => rule.resources.push(resource),
            None => {
                rules.push(PolicyRule {
                    api_groups: vec![group],
                    resources: vec![resource],
                    verbs,
                });
            }
        }
    }
    ClusterRole {
        api_version: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: RoleMetadata { name: "kubectl-storage-audit" },
        rules,
    }
}

impl RbacArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        match (self.command, self.check) {
            (For::Audit, true) => check(connection).await,
            (For::Audit, false) => {
                terminal::print(|out| list::yaml(out, &role())).map_err(Failure::error)?;
                Ok(Exit::Done)
            }
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SelfReview {
    api_version: &'static str,
    kind: &'static str,
    spec: SelfReviewSpec,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SelfReviewSpec {
    resource_attributes: ResourceAttributes,
}

#[derive(Serialize)]
struct ResourceAttributes {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
}

#[derive(Deserialize)]
struct Reviewed {
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    #[serde(default)]
    allowed: bool,
}

async fn check(connection: &ConnectionArgs) -> Result<Exit, Failure> {
    let options = connection.options(None);
    let connected =
        client::connect(&options, concat!("kubectl-storage/", env!("CARGO_PKG_VERSION")))
            .await
            .map_err(|error| {
                let hint = error.hint();
                Failure::error(error).hint(hint)
            })?;
    let reader = Reader::new(&connected);
    let asked = rights().into_iter().map(|right| {
        let reader = reader.clone();
        async move {
            let review = SelfReview {
                api_version: "authorization.k8s.io/v1",
                kind: "SelfSubjectAccessReview",
                spec: SelfReviewSpec {
                    resource_attributes: ResourceAttributes {
                        verb: right.verb,
                        group: right.group,
                        resource: right.resource,
                    },
                },
            };
            let answer = reader.review::<_, Reviewed>(&Review::SelfSubjectAccess, &review).await;
            (right, answer)
        }
    });
    let mut lacking = Vec::new();
    for (right, answer) in join_all(asked).await {
        let answer = answer.map_err(|error| {
            let hint = error.hint();
            Failure::error(error).hint(hint)
        })?;
        if !answer.value.status.allowed {
            lacking.push(right);
        }
    }
    terminal::print(|out| {
        for right in &lacking {
            match right.group {
                "" => writeln!(out, "lacking: {} {}", right.verb, right.resource)?,
                group => writeln!(out, "lacking: {} {}.{group}", right.verb, right.resource)?,
            }
        }
        Ok::<_, std::io::Error>(())
    })
    .map_err(Failure::error)?;
    if lacking.is_empty() {
        terminal::note("nothing is lacking for audit");
        return Ok(Exit::Done);
    }
    terminal::note(
        "an audit would be incomplete; `rbac audit` prints the role that grants everything",
    );
    Ok(Exit::Incomplete)
}
