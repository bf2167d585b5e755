//! What the objects of somebody else's dump tell besides their rows: that a Secret exists, which
//! custom resources use claims, as of when Leases were listed, and between which versions the server is.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use chrono::TimeDelta;
use serde::Deserialize;

use super::super::intake::Intake;
use crate::cluster::Change;
use crate::dump::DumpObject;
use crate::model::{
    Answer, CUSTOM_KINDS, CustomKind, CustomUser, CustomUsers, Kind, Lease, LeaseMoment, OF_A_DUMP,
    Question, Row, Server, Text, Time, UnlistedKind, parse_time,
};
use crate::objects::CustomObject;

/// How far clocks may be ahead of the time of a dump: as far as that of a Lease of the usual duration.
const AHEAD: TimeDelta = TimeDelta::seconds(45);

/// When each Lease of a list was renewed, by namespace and name.
type Renewals = BTreeMap<(Text, Box<str>), Option<Time>>;

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct SeenBeside {
    /// The custom resources that use claims, by namespace.
    users: BTreeMap<Text, Vec<CustomUser>>,
    /// The Leases of each list: when each was renewed.
    leases: BTreeMap<(Arc<str>, usize), Renewals>,
    /// The versions of kubelets.
    kubelets: BTreeSet<(u32, u32)>,
}

/// The part of a Lease that tells when it was listed.
#[derive(Deserialize)]
struct RenewedLease {
    spec: LeaseRenewal,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseRenewal {
    renew_time: Option<String>,
}

/// The part of a Node that tells the version of its kubelet.
#[derive(Deserialize)]
struct VersionedNode {
    #[serde(default)]
    metadata: NodeLabels,
    status: NodeStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeLabels {
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeStatus {
    node_info: NodeInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeInfo {
    kubelet_version: String,
}

impl SeenBeside {
    /// Takes in an object that has no row. A Secret answers a question; nothing but its name is read.
    pub(super) fn answer(
        &mut self,
        object: &DumpObject<'_>,
        is_foreign: bool,
    ) -> Option<(Question, Answer)> {
        if !is_foreign {
            return None;
        }
        if (object.api_version, object.kind) == ("v1", "Secret") {
            let (namespace, name) = (object.namespace.into(), object.name.into());
            return Some((Question::SecretExists { namespace, name }, Answer::Yes));
        }
        let group = object.api_version.split_once('/')?.0;
        let kind = CustomKind::find(group, object.kind)?;
        let custom: CustomObject = serde_json::from_str(object.body).ok()?;
        let user = custom.user(kind, object.namespace.is_empty())?;
        self.users.entry(object.namespace.into()).or_default().push(user);
        None
    }

    /// Looks at an object that has a row.
    pub(super) fn look(&mut self, kind: Kind, object: &DumpObject<'_>) {
        match kind {
            Kind::Lease => {
                let Some(list) = object.list else { return };
                let renewed = serde_json::from_str::<RenewedLease>(object.body).ok();
                let renewed = renewed.and_then(|it| it.spec.renew_time);
                let renewed = renewed.and_then(|it| parse_time(&it).ok().flatten());
                let leases =
                    self.leases.entry((Arc::clone(&object.origin.file), list)).or_default();
                leases.insert((object.namespace.into(), object.name.into()), renewed);
            }
            Kind::Node => {
                let node = serde_json::from_str::<VersionedNode>(object.body).ok();
                self.kubelets.extend(node.and_then(|it| it.kubelet()));
            }
            _ => {}
        }
    }

    /// Applies what only the end of a dump tells, once its time is known.
    pub(super) fn conclude(&mut self, intake: &mut Intake) {
        let unlisted: Vec<_> = CUSTOM_KINDS
            .iter()
            .map(|kind| UnlistedKind { kind, reason: OF_A_DUMP.into() })
            .collect();
        for (namespace, users) in std::mem::take(&mut self.users) {
            let users = CustomUsers { users, unlisted: unlisted.clone() };
            let answer = Answer::Users(Arc::new(users));
            intake.apply(Change::Seen(Row::Answer(Question::CustomUsers { namespace }, answer)));
        }
        // What replaces an odd one would be taken for a whole one.
        let legible = |it: &&Lease| {
            let (kind, namespace) = (Kind::Lease, &*it.namespace);
            intake.cluster.legible(kind, namespace, &it.metadata.name).is_ok()
        };
        let rows: Vec<_> = intake.cluster.leases().filter(legible).cloned().collect();
        // A time that has not come tells not when a list was read, and anybody with a namespace can
        // write one: against it every other Lease would be old.
        let limit = intake.cluster.clock().and_then(|now| now.checked_add_signed(AHEAD));
        let has_come = |time: &Time| limit.is_none_or(|limit| *time <= limit);
        for mut lease in rows {
            let key = (Text::clone(&lease.namespace), lease.metadata.name.clone());
            let mut lists = self.leases.values().filter(|it| it.contains_key(&key));
            lease.read = match (lists.next(), lists.next()) {
                (Some(list), None) => {
                    let others = list.iter().filter(|(other, _)| **other != key);
                    let latest = others.filter_map(|(_, renewed)| *renewed).filter(has_come).max();
                    latest.map_or(LeaseMoment::Alone, LeaseMoment::Beside)
                }
                _ => LeaseMoment::Alone,
            };
            intake.apply(Change::Seen(Row::Lease(Box::new(lease))));
        }
    }

    /// What the kubelets tell of the server.
    pub(super) fn server(&self) -> Option<Server> {
        Server::of_kubelets(self.kubelets.iter().copied())
    }
}

impl VersionedNode {
    /// The minor version of a kubelet. What calls itself one without running pods on a machine says
    /// any version.
    fn kubelet(&self) -> Option<(u32, u32)> {
        let version = &self.status.node_info.kubelet_version;
        let is_virtual = self.metadata.labels.get("type").is_some_and(|it| it == "virtual-kubelet");
        if is_virtual || version.contains("-vk") {
            return None;
        }
        let mut parts = version.strip_prefix('v')?.split('.');
        let number = |text: Option<&str>| text?.parse().ok();
        Some((number(parts.next())?, number(parts.next())?))
    }
}
