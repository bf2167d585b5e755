//! What `retention reconcile` proposes and refuses: a claim `data-web-1` of the set `web`.

mod add;
mod leftover;
mod remove;

use std::cell::RefCell;

use super::super::finalizers::fixture::{FinalizerFixture, ago, claim, metadata, said, volume};
use super::*;
use crate::facts::PVC_PROTECTION;
use crate::model::{
    Answer, ClaimRef, ClaimTemplate, Labels, Liveness, Metadata, OwnerKey, OwnerReference, PodUse,
    Question, ReclaimPolicy, Retention, Row, Server, Settings, Text, Uid, Volume, Workload,
};

/// One situation; what is not said is a quiet one.
struct Case {
    /// `whenDeleted` and `whenScaled`, such as `RD`; `?`: a value that this version does not know; `--`: no policy.
    policy: &'static str,
    replicas: i32,
    /// The template; the claim is `TEMPLATE-web-1`.
    template: &'static str,
    /// As in [`reference`].
    owners: &'static str,
    /// Of the pod `web-1`: `None` where there is none.
    pod: Option<PodUse>,
    /// Owners that exist, by their names, beside the set and the pod; what is not named is absent.
    exist: &'static str,
    /// Owners of which nothing is known.
    unknown: &'static str,
    /// Owners whose kind is not served.
    unserved: &'static str,
    set: fn(&mut StatefulSet),
    claim: fn(&mut Claim),
    settings: Settings,
    rows: Vec<Row>,
    /// The major and minor version of the server.
    server: Option<(u32, u32)>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            policy: "RR",
            replicas: 1,
            template: "data",
            owners: "",
            pod: None,
            exist: "",
            unknown: "",
            unserved: "",
            set: |_| {},
            claim: |_| {},
            settings: Settings::default(),
            rows: Vec::new(),
            server: Some((1, 36)),
        }
    }
}

/// `set`, `plain set` (without flags), `old set`, `pod`, `old pod`; any other word is an owner of another kind, a
/// controller if it ends with `*`.
fn reference(text: &str) -> OwnerReference {
    let (text, controller) = text.strip_suffix('*').map_or((text, false), |it| (it, true));
    let (api_version, kind, name, uid) = match text {
        "set" | "plain set" => ("apps/v1", "StatefulSet", "web", "web-uid"),
        "old set" => ("apps/v1", "StatefulSet", "web", "old-set"),
        "kruise" => ("apps.kruise.io/v1beta1", "StatefulSet", "web", "kruise"),
        "pod" => ("v1", "Pod", "web-1", "web-1-uid"),
        "old pod" => ("v1", "Pod", "web-1", "old-pod"),
        "volume" => ("v1", "PersistentVolume", "pv-1", "pv-1-uid"),
        other => ("example.com/v1", "App", other, other),
    };
    let controller = controller || ["set", "old set", "pod", "old pod"].contains(&text);
    OwnerReference {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: Uid::parse(uid),
        controller,
        blocks_deletion: controller,
    }
}

fn words(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split(", ").filter(|it| !it.is_empty())
}

fn retention(text: &str) -> Option<RetentionPolicy> {
    let value = |letter| match letter {
        'R' => Retention::Retain,
        'D' => Retention::Delete,
        _ => Retention::Other("Archive".into()),
    };
    let mut letters = text.chars().map(value);
    (text != "--").then(|| RetentionPolicy {
        when_deleted: letters.next().expect("because there are two"),
        when_scaled: letters.next().expect("because there are two"),
    })
}

/// The set, with a template of this name.
fn set(name: &str, template: &str, replicas: i32, policy: Option<RetentionPolicy>) -> StatefulSet {
    StatefulSet {
        metadata: metadata(name, &[], None),
        namespace: "shop".into(),
        generation: 1,
        replicas: Some(replicas),
        start: 0,
        templates: [ClaimTemplate { name: template.into(), class: None, requested: None }].into(),
        match_labels: Labels::default(),
        match_expressions: None,
        retention: policy,
        ordered: Some(true),
        observed_generation: 1,
        pods: replicas,
    }
}

fn row(set: &StatefulSet) -> Row {
    Row::Workload(Box::new(Workload {
        kind: Kind::StatefulSet,
        name: set.metadata.name.clone(),
        uid: set.metadata.uid.clone(),
        replicas: set.replicas,
        set: Some(Box::new(set.clone())),
        ..Workload::sample()
    }))
}

/// The pod `web-1` of the set.
fn pod() -> PodUse {
    PodUse {
        name: "web-1".into(),
        uid: Uid::parse("web-1-uid"),
        created: Some(ago(60)),
        controller: Some(Box::new(reference("set"))),
        node: Some("node-1".into()),
        ..PodUse::sample()
    }
}

/// The volume of a claim.
fn bound(claim: &Claim, policy: ReclaimPolicy) -> Volume {
    let mut volume = volume(policy);
    volume.claim_ref = Some(ClaimRef { key: claim.key(), uid: claim.metadata.uid.clone() });
    volume
}

/// A set `a-web` with a template `data`, whose claims have the names of those of `web` with a template `data-a`.
fn twin() -> Row {
    row(&set("a-web", "data", 1, retention("RR")))
}

impl Case {
    fn claim(&self) -> Claim {
        let mut claim = Claim {
            metadata: Metadata {
                owners: words(self.owners).map(reference).collect(),
                ..metadata(&format!("{}-web-1", self.template), &[PVC_PROTECTION], None)
            },
            ..claim(&[], None)
        };
        (self.claim)(&mut claim);
        claim
    }

    /// What is proposed, or why not.
    fn ask(&self, change: RetentionChange) -> Result<Proposal, String> {
        let claim = self.claim();
        let mut fixture = FinalizerFixture {
            manager: Liveness::Alive,
            provisioner: Liveness::Alive,
            snapshotter: Liveness::Alive,
            settings: self.settings.clone(),
            ..FinalizerFixture::default()
        };
        fixture = fixture.of_claim(&claim, Some(&bound(&claim, ReclaimPolicy::Delete)));
        let mut set = set("web", self.template, self.replicas, retention(self.policy));
        (self.set)(&mut set);
        fixture = fixture.with(row(&set));
        fixture = self.pod.iter().fold(fixture, |it, pod| it.with(Row::Pod(Box::new(pod.clone()))));
        for owner in &claim.metadata.owners {
            fixture.rows.extend(self.answer(owner, &set));
        }
        fixture.rows.extend(self.rows.iter().cloned());
        let mut cluster = fixture.cluster();
        if let Some(version) = self.server {
            let mut dirty = crate::cluster::Dirty::everything();
            let server = Server { version: Some(version), ..Server::default() };
            cluster.apply(crate::cluster::Change::Server(server), &mut dirty);
        }
        let facts = RefCell::default();
        said(change.propose(&Cx::new(&cluster, &self.settings, &facts), &claim))
    }

    /// What the API server answers about an owner.
    fn answer(&self, owner: &OwnerReference, set: &StatefulSet) -> Option<Row> {
        let is = |names: &'static str| words(names).any(|it| reference(it).uid == owner.uid);
        let answer = if is(self.unknown) {
            Answer::Forbidden
        } else if is(self.unserved) {
            Answer::NotServed { elsewhere: None }
        } else if is(self.exist) {
            Answer::Is(owner.uid.clone()?)
        } else {
            match &*owner.kind {
                "StatefulSet" if &*owner.api_version == "apps/v1" => {
                    Answer::Is(set.metadata.uid.clone()?)
                }
                "Pod" => self
                    .pod
                    .as_ref()
                    .map_or(Answer::No, |it| it.uid.clone().map_or(Answer::No, Answer::Is)),
                _ => Answer::No,
            }
        };
        let key = OwnerKey {
            api_version: Text::clone(&owner.api_version),
            kind: Text::clone(&owner.kind),
            namespace: "shop".into(),
            name: owner.name.clone(),
        };
        Some(Row::Answer(Question::OwnerExists(key), answer))
    }
}

#[track_caller]
fn refuses(told: Result<Proposal, String>, words: &str) {
    let reason = told.expect_err("it must be refused");
    assert!(reason.contains(words), "{reason:?} does not contain {words:?}");
}
