//! A look at a cluster that watches keep current.

use std::collections::BTreeSet;
use std::time::Duration;

use kubectl_storage::client::{ConnectionOptions, Reader, connect};
use kubectl_storage::cluster::Dirty;
use kubectl_storage::model::{Kind, PodPhase, ReclaimPolicy, Settings, Threshold};
use kubectl_storage::rules::{Assessor, REGISTRY};
use kubectl_storage::sources::intake::Intake;
use kubectl_storage::sources::live::{self, LiveOptions, Return, Watches};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::{Cluster, Options, PersistentVolume, Scenario, claim, eventually, pod};

/// An owner of a cluster, as a writing command is one.
struct Owner {
    intake: Intake,
    watches: Watches,
    runtime: Runtime,
}

fn options() -> LiveOptions {
    let kinds: BTreeSet<Kind> = REGISTRY.iter().flat_map(|rule| rule.looks_at()).collect();
    LiveOptions { kinds: kinds.into_iter().collect(), ..LiveOptions::default() }
}

async fn reader(cluster: &Cluster) -> Reader {
    let options = ConnectionOptions {
        kubeconfig: Some(cluster.kubeconfig().to_owned()),
        ..ConnectionOptions::default()
    };
    Reader::new(&connect(&options, "watching").await.expect("because the cluster has started"))
}

impl Owner {
    fn of(cluster: &Cluster) -> Self {
        let runtime = Runtime::new().expect("because the machine has threads");
        let mut intake = Intake::new(None);
        let watches = runtime.block_on(async {
            let reader = reader(cluster).await;
            live::read_and_watch(&reader, &options(), &mut intake, Return::Never, &mut |_| {})
                .await
                .expect("because the administrator may read everything")
        });
        Self { intake, watches, runtime }
    }

    fn sees(&mut self, what: &str, so: impl Fn(&Intake) -> bool) {
        eventually(what, || {
            self.watches.drain(&mut self.intake).expect("because nothing is saved");
            so(&self.intake)
        });
    }

    /// What somebody sees who looks now.
    fn fresh(&self, cluster: &Cluster) -> Intake {
        let mut intake = Intake::new(None);
        self.runtime.block_on(async {
            live::read(&reader(cluster).await, &options(), &mut intake, &mut |_| {})
                .await
                .expect("because the administrator may read everything");
        });
        intake
    }
}

/// Every volume, claim, attachment and pod that is kept, with its fields.
fn rows(intake: &Intake) -> BTreeSet<String> {
    let cluster = &intake.cluster;
    let mut rows: BTreeSet<String> = cluster.volumes().map(|(_, row)| format!("{row:?}")).collect();
    rows.extend(cluster.claims().map(|(_, row)| format!("{row:?}")));
    rows.extend(cluster.attachments().map(|(_, row)| format!("{row:?}")));
    rows.extend(cluster.pods().map(|(_, row)| format!("{row:?}")));
    rows
}

fn findings(intake: &Intake) -> BTreeSet<String> {
    let mut settings = Settings::default();
    for threshold in Threshold::ALL {
        settings.thresholds.set(threshold, Duration::from_secs(1));
    }
    let mut assessor = Assessor::default();
    assessor.update(&intake.cluster, &settings, Dirty::everything());
    let of = |finding: kubectl_storage::model::Finding| {
        format!("{} of {}: {:?}", finding.rule, finding.object, finding.verdict)
    };
    assessor.findings(&intake.cluster, &settings).map(of).collect()
}

fn attachment(name: &str, volume: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {"attacher": "none.example", "nodeName": "none", "source": {"persistentVolumeName": volume}},
    })
}

#[test]
fn what_kubectl_does_is_seen_soon() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let mut owner = Owner::of(&cluster);
    assert_eq!(owner.intake.cluster.gaps().collect::<Vec<_>>(), Vec::<&_>::new());
    let is_claim = |intake: &Intake| intake.cluster.claims().next().is_some();
    assert!(!is_claim(&owner.intake));

    let (volume, attached) = (on.named("volume"), on.named("attachment"));
    on.create(&claim("data", "none"));
    on.create(&PersistentVolume::csi(&volume, "none.example", "h").0);
    on.create(&attachment(&attached, &volume));
    on.create(&pod("user", "data"));
    owner.sees("the claim", is_claim);
    owner.sees("the volume", |intake| intake.cluster.volume_named(&volume).is_some());
    owner.sees("the attachment", |intake| intake.cluster.attachments().count() == 1);
    owner.sees("the pod", |intake| intake.cluster.pods().any(|(_, pod)| pod.claims.len() == 1));

    on.set_policy(&volume, "Delete");
    on.patch("pvc/data", &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    on.patch_status(
        &format!("volumeattachment/{attached}"),
        &json!({"status": {"attached": true}}),
    );
    on.patch_status("pod/user", &json!({"status": {"phase": "Succeeded"}}));
    owner.sees("the policy", |intake| {
        let seen = intake.cluster.volume_named(&volume);
        seen.is_some_and(|seen| seen.reclaim_policy == ReclaimPolicy::Delete)
    });
    owner.sees("the finalizer", |intake| {
        intake.cluster.claims().all(|(_, claim)| claim.metadata.has_finalizer("example.com/held"))
    });
    owner.sees("the status", |intake| intake.cluster.attachments().all(|(_, it)| it.attached));
    owner.sees("the phase", |intake| {
        intake.cluster.pods().any(|(_, pod)| pod.phase == PodPhase::Succeeded)
    });

    on.patch("pvc/data", &json!({"metadata": {"finalizers": null}}));
    on.delete("pod/user");
    on.delete("pvc/data");
    on.delete(&format!("volumeattachment/{attached}"));
    on.delete(&format!("pv/{volume}"));
    owner.sees("no pod", |intake| intake.cluster.pods().all(|(_, pod)| &*pod.name != "user"));
    owner.sees("no claim", |intake| !is_claim(intake));
    owner.sees("no attachment", |intake| intake.cluster.attachments().count() == 0);

    let left = on.named("left");
    on.create(&PersistentVolume::csi(&left, "none.example", "h-2").left_by(&on.name, "gone").0);
    on.create(&claim("waits", "none"));
    on.create(&pod("also-waits", "waits"));
    on.wait_phase(&format!("pv/{left}"), "Released");
    eventually("both see the same", || {
        owner.watches.drain(&mut owner.intake).expect("because nothing is saved");
        let fresh = owner.fresh(&cluster);
        owner.watches.drain(&mut owner.intake).expect("because nothing is saved");
        let found = findings(&owner.intake);
        // It takes a second, by a clock that goes on without any list.
        found.iter().any(|it| it.starts_with("pv-released-past-threshold"))
            && rows(&owner.intake) == rows(&fresh)
            && found == findings(&fresh)
    });
    // Everything is seen still, leases and events among it.
    assert_eq!(owner.intake.cluster.gaps().collect::<Vec<_>>(), Vec::<&_>::new());
    assert!(owner.watches.count() > 15, "{} watches", owner.watches.count());
}
