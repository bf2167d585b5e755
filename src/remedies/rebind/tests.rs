//! What `rebind` proposes and refuses, and what no proposal ever does.

mod fit;
mod promises;

use std::cell::RefCell;

use serde_json::json;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::model::{
    Access, AccessModes, BackendKey, ClaimRef, DataSource, Metadata, Phase, ReclaimPolicy, Row,
    Selector, Settings, StorageClass, Text, Time, VolumeSource,
};

const GI: u64 = 1 << 30;

fn now() -> Time {
    Time::from_timestamp(1_800_000_000, 0).expect("in range")
}

fn key(name: &str) -> ClaimKey {
    ClaimKey { namespace: "shop".into(), name: name.into() }
}

fn access(modes: &[&str], is_block: bool) -> Access {
    Access { modes: AccessModes::of(modes), is_block }
}

/// A Released volume of ten gibibytes, whose claim `shop/orders` was deleted.
fn volume() -> Volume {
    let driver = Text::from("ebs.csi.aws.com");
    Volume {
        access: access(&["ReadWriteOnce"], false),
        metadata: Metadata {
            name: "pv-1".into(),
            uid: Uid::parse("pv-uid"),
            ..Metadata::default()
        },
        phase: Phase::Released,
        claim_ref: Some(ClaimRef { key: key("orders"), uid: Uid::parse("gone") }),
        source: VolumeSource::Csi {
            driver: driver.clone(),
            handle: "vol-1".into(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver, handle: "vol-1".into() }),
        class: Some("fast".into()),
        capacity: Some(10 * GI),
        provisioned_by: Some("ebs.csi.aws.com".into()),
        bound_by_controller: false,
        ..Volume::sample()
    }
}

/// A Pending claim that fits.
fn claim() -> Claim {
    Claim {
        access: access(&["ReadWriteOnce"], false),
        metadata: Metadata { name: "orders".into(), uid: Uid::parse("new"), ..Metadata::default() },
        phase: ClaimPhase::Pending,
        volume_name: Some("pv-1".into()),
        class: Some("fast".into()),
        bind_completed: false,
        requested: Some(10 * GI),
        ..Claim::sample()
    }
}

fn lost() -> Claim {
    Claim { phase: ClaimPhase::Lost, bind_completed: true, ..claim() }
}

fn default_class() -> Row {
    Row::Class(Box::new(StorageClass {
        metadata: Metadata { name: "standard".into(), ..Metadata::default() },
        provisioner: "ebs.csi.aws.com".into(),
        reclaim_policy: None,
        is_default: true,
        allows_expansion: false,
        parameters: Box::default(),
        waits_for_consumer: false,
    }))
}

/// Asks, where everything but these kinds was read.
fn ask_without(
    unread: &[Kind],
    settings: &Settings,
    volume: &Volume,
    rows: Vec<Row>,
    rebinding: &Rebinding,
) -> Seen<Result<Proposal, String>> {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    cluster.apply(Change::Clock(now()), &mut dirty);
    for row in [Row::Volume(Box::new(volume.clone()))].into_iter().chain(rows) {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL.into_iter().filter(|it| !unread.contains(it)) {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    let facts = RefCell::default();
    let said = propose(&Cx::new(&cluster, settings, &facts), volume, rebinding);
    said.map(|it| it.map_err(|refusal| refusal.reason))
}

fn ask(volume: &Volume, claims: &[Claim], to: Option<&str>) -> Result<Proposal, String> {
    let rows = claims.iter().map(|it| Row::Claim(Box::new(it.clone()))).collect();
    let rebinding = Rebinding { to: to.map(key), ..Rebinding::default() };
    ask_without(&[], &Settings::default(), volume, rows, &rebinding).expect("everything was read")
}

#[track_caller]
fn refused(volume: &Volume, claims: &[Claim], to: Option<&str>, reason: &str) {
    let said = ask(volume, claims, to).expect_err("it is refused");
    assert!(said.contains(reason), "{said:?} does not say {reason:?}");
}

fn names(proposal: &Proposal) -> Vec<&str> {
    proposal.steps.iter().map(Action::name).collect()
}

#[test]
fn the_plain_cases_need_no_flag() {
    let reserved = Volume {
        phase: Phase::Available,
        claim_ref: Some(ClaimRef { key: key("orders"), uid: None }),
        ..volume()
    };
    let just_reserved = Volume { phase: Phase::Released, ..reserved.clone() };
    for (volume, claims, to, steps) in [
        (&volume(), &[][..], None, &["reserve-volume", "create-claim"][..]),
        (&volume(), &[], Some("copy"), &["reserve-volume", "create-claim"]),
        (&volume(), &[claim()], None, &["reserve-volume"]),
        (&reserved, &[], None, &["create-claim"]),
        (&just_reserved, &[], None, &["create-claim"]),
        (&reserved, &[claim()], None, &[]),
        (&reserved, &[lost()], None, &["bind-volume"]),
        (&volume(), &[lost()], None, &["bind-volume"]),
    ] {
        let proposal = ask(volume, claims, to).expect("nothing speaks against it");
        assert_eq!((names(&proposal), &*proposal.relies_on), (steps.to_vec(), &[][..]));
        assert_eq!(proposal.notices, [""; 0]);
        assert!(proposal.effect.what.contains("the policy remains Retain"), "{proposal:?}");
    }
}

#[test]
fn a_claim_is_created_as_the_volume_requires() {
    let odd = Volume {
        access: access(&["ReadWriteOnce", "ReadOnlyMany"], true),
        capacity: Some(GI + 512),
        class: None,
        attributes_class: Some("gold".into()),
        ..volume()
    };
    let saved = json!({"metadata": {
        "labels": {"app": "shop"},
        "annotations": {
            "pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "n",
            "volume.beta.kubernetes.io/storage-provisioner": "p", "team": "a",
        },
        "ownerReferences": [{"kind": "StatefulSet", "name": "db"}], "finalizers": ["f"],
    }});
    let rebinding = Rebinding { former: Some(FormerClaim::of(&saved)), ..Rebinding::default() };
    let said = ask_without(&[], &Settings::default(), &odd, vec![], &rebinding);
    let proposal = said.expect("everything was read").expect("it is proposed");
    let Some(Action::CreateClaim { claim, manifest }) = proposal.steps.last() else {
        panic!("{proposal:?}")
    };
    assert_eq!(claim.to_string(), "pvc/shop/orders");
    let expected = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "orders", "namespace": "shop",
            "labels": {"app": "shop"}, "annotations": {"team": "a"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "volumeMode": "Block",
            "resources": {"requests": {"storage": "2097153Ki"}}, "storageClassName": "",
            "volumeName": "pv-1", "volumeAttributesClassName": "gold",
        },
    });
    let mut expected = expected;
    expected["spec"]["resources"]["requests"]["storage"] = json!("1073742336");
    assert_eq!(*manifest, expected);
}

#[test]
fn a_volume_that_is_not_free_is_refused() {
    let with = |change: &dyn Fn(&mut Volume)| {
        let mut volume = volume();
        change(&mut volume);
        volume
    };
    let live = || Claim {
        metadata: Metadata { uid: Uid::parse("gone"), ..claim().metadata },
        phase: ClaimPhase::Bound,
        ..claim()
    };
    for (volume, claims, reason) in [
        (
            with(&|it| it.metadata.deleting = Some(now())),
            vec![],
            "it is Terminating, which nothing reverts",
        ),
        (
            with(&|it| it.reclaim_policy = ReclaimPolicy::Delete),
            vec![],
            "`kubectl storage retain pv/pv-1` stops that",
        ),
        (
            with(&|it| it.reclaim_policy = ReclaimPolicy::Recycle),
            vec![],
            "its policy is Recycle, not Retain",
        ),
        (with(&|it| it.phase = Phase::Available), vec![], "its phase is Available, not Released"),
        (with(&|it| it.phase = Phase::Pending), vec![], "its phase is Pending, not Released"),
        (with(&|it| it.phase = Phase::Failed), vec![], "then pass --backend-verified"),
        (
            with(&|it| it.backend_state = Some("unknown".into())),
            vec![],
            "then pass --backend-verified",
        ),
        (with(&|it| it.claim_ref = None), vec![], "spec.claimRef is empty"),
        (with(&|it| it.capacity = None), vec![], "its capacity is unknown"),
        (with(&|it| it.access = access(&[], false)), vec![], "its access modes (none)"),
        (with(&|it| it.access = access(&["ReadWriteSome"], false)), vec![], "an unknown mode"),
        (with(&|it| it.phase = Phase::Bound), vec![live()], "is bound to it already"),
        (volume(), vec![Claim { phase: ClaimPhase::Pending, ..live() }], "binds both by itself"),
        (
            with(&|it| {
                it.claim_ref = Some(ClaimRef { key: key("prime-1"), uid: Uid::parse("gone") });
            }),
            vec![],
            "is that of a volume populator",
        ),
    ] {
        refused(&volume, &claims, None, reason);
    }
    refused(
        &with(&|it| it.phase = Phase::Bound),
        &[live()],
        Some("copy"),
        "--keep-data` releases it first",
    );
    let reserved = Volume {
        phase: Phase::Available,
        claim_ref: Some(ClaimRef { key: key("orders"), uid: None }),
        ..volume()
    };
    refused(&reserved, &[], Some("copy"), "its phase is Available");
}

#[test]
fn doubts_about_the_backend_volume_are_lifted_by_their_flag() {
    let settings = Settings { backend_verified: true, ..Settings::default() };
    for volume in [
        Volume { phase: Phase::Failed, ..volume() },
        Volume { backend_state: Some("unknown".into()), ..volume() },
    ] {
        let said = ask_without(&[], &settings, &volume, vec![], &Rebinding::default());
        let proposal = said.expect("everything was read").expect("it is proposed");
        assert_eq!(proposal.relies_on, ["--backend-verified"]);
    }
    let deleting = Volume { reclaim_policy: ReclaimPolicy::Delete, ..volume() };
    let said = ask_without(&[], &settings, &deleting, vec![], &Rebinding::default());
    assert!(said.expect("everything was read").is_err(), "no flag makes that safe");
}

#[test]
fn storage_that_another_volume_uses_is_shared_only_by_design() {
    let twin = |it: &Volume| {
        Row::Volume(Box::new(Volume {
            metadata: Metadata { name: "pv-2".into(), ..it.metadata.clone() },
            ..it.clone()
        }))
    };
    let said = |volume: &Volume| {
        let rows = vec![twin(volume)];
        ask_without(&[], &Settings::default(), volume, rows, &Rebinding::default())
            .expect("everything was read")
    };
    let device = said(&volume()).expect_err("two claims would have one disk");
    assert!(device.contains("pv/pv-2 references the same backend volume"), "{device}");
    let driver = Text::from("nfs.csi.k8s.io");
    let export = Volume {
        access: access(&["ReadWriteMany"], false),
        is_shared: true,
        source: VolumeSource::Csi {
            driver: driver.clone(),
            handle: "nas#export#a##".into(),
            provisioner_identity: false,
        },
        backend: Some(BackendKey { driver, handle: "nas#export#a##".into() }),
        provisioned_by: None,
        ..volume()
    };
    let shared = said(&export).expect("file systems are shared by design");
    assert!(shared.notices[0].contains("pv/pv-2"), "{:?}", shared.notices);
    // The path of a recreated claim is the old one again.
    let provisioned = Volume {
        source: VolumeSource::Csi {
            driver: "nfs.csi.k8s.io".into(),
            handle: "nas#export#a##".into(),
            provisioner_identity: true,
        },
        ..export
    };
    assert!(said(&provisioned).is_err());
}

#[test]
fn every_cause_of_a_lost_claim_has_an_answer() {
    let claimed = |key: ClaimKey, uid: Option<&str>| Volume {
        phase: Phase::Available,
        claim_ref: Some(ClaimRef { key, uid: uid.and_then(Uid::parse) }),
        ..volume()
    };
    let bind = |volume: &Volume| {
        let proposal = ask(volume, &[lost()], Some("orders")).expect("it is repaired");
        let claim = lost().object();
        assert_eq!(proposal.steps, [Action::BindVolume { volume: volume.object(), claim }]);
    };
    bind(&claimed(key("orders"), None));
    bind(&claimed(key("orders"), Some("earlier")));
    // The name in claimRef was changed too, of a volume whose handle holds the claim's uid: it is that
    // claim's own, and whoever is named now gets it only where people give it.
    let elsewhere = Volume {
        source: VolumeSource::Csi {
            driver: "ebs.csi.aws.com".into(),
            handle: format!("vol-{}", lost().metadata.uid.expect("it has one")).as_str().into(),
            provisioner_identity: true,
        },
        ..claimed(key("elsewhere"), Some("nobody"))
    };
    let proposal = ask(&elsewhere, &[lost()], Some("orders")).expect("it is repaired");
    let object = elsewhere.object();
    let reserve = Action::ReserveVolume {
        volume: object.clone(),
        from: Phase::Available,
        claim: key("orders"),
    };
    let bind_own = Action::BindVolume { volume: object, claim: lost().object() };
    assert_eq!(proposal.steps, [reserve, bind_own]);
    let released = Volume { phase: Phase::Released, ..elsewhere };
    refused(&released, &[lost()], None, "--to shop/orders");
    for (volume, claim, reason) in [
        (claimed(key("other"), Some("x")), lost(), "the volume belongs to claim shop/other"),
        (claimed(key("orders"), Some("new")), lost(), "sets both to Bound by itself"),
        (Volume { claim_ref: None, ..volume() }, lost(), "binds both by itself"),
        (volume(), Claim { volume_name: None, ..lost() }, "its spec.volumeName is empty"),
        (volume(), Claim { volume_name: Some("pv-9".into()), ..lost() }, "the name is taken"),
        (
            volume(),
            Claim { metadata: Metadata { deleting: Some(now()), ..lost().metadata }, ..lost() },
            "is Terminating",
        ),
        (Volume { reclaim_policy: ReclaimPolicy::Delete, ..volume() }, lost(), "not Retain"),
        (Volume { phase: Phase::Failed, ..volume() }, lost(), "its phase is Failed"),
    ] {
        refused(&volume, &[claim], Some("orders"), reason);
    }
    let other = Claim {
        metadata: Metadata {
            name: "second".into(),
            uid: Uid::parse("second"),
            ..Metadata::default()
        },
        ..lost()
    };
    refused(&volume(), &[lost(), other], None, "find out whose data it is");
}

#[test]
fn what_is_worth_knowing_is_said() {
    let other = Rebinding {
        to: Some(ClaimKey { namespace: "bank".into(), name: "copy".into() }),
        ..Rebinding::default()
    };
    let said = ask_without(&[], &Settings::default(), &volume(), vec![], &other);
    let proposal = said.expect("everything was read").expect("it is proposed");
    let told = "pods of namespace bank will read data that was written in namespace shop";
    assert_eq!(proposal.notices, [told]);
    let waiting = Claim {
        metadata: Metadata { name: "copy".into(), uid: Uid::parse("c"), ..Metadata::default() },
        ..claim()
    };
    let proposal = ask(&volume(), &[waiting], None).expect("it is proposed");
    assert_eq!(proposal.notices, ["pvc/shop/copy waits for this volume, and is not bound to it"]);
    let provisioning =
        Claim { volume_name: None, provisioner: Some("ebs.csi.aws.com".into()), ..claim() };
    let proposal = ask(&volume(), &[provisioning], None).expect("it is proposed");
    assert!(proposal.notices[0].contains("may be provisioning a volume"), "{proposal:?}");
    let unread = [Kind::VolumeAttachment, Kind::Node];
    let said = ask_without(&unread, &Settings::default(), &volume(), vec![], &Rebinding::default());
    let proposal = said.expect("enough was read").expect("it is proposed");
    assert!(proposal.notices[0].starts_with("unknown whether it is attached"), "{proposal:?}");
}
