//! What `retain` and `add-protection` propose and refuse, and what exempts a volume from `rebind`.

use std::cell::RefCell;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::facts::{EXTERNAL_PROVISIONER, PV_PROTECTION};
use crate::model::{
    Action, BackendKey, ClaimKey, ClaimRef, FinalizerEdit, Metadata, Phase, ReclaimPolicy, Row,
    Settings, Time, Uid, Undo, VolumeSource,
};

fn now() -> Time {
    Time::from_timestamp(1_800_000_000, 0).expect("in range")
}

/// Returns a Released volume with policy Retain whose claim does not exist.
fn volume() -> Volume {
    let key = ClaimKey { namespace: "shop".into(), name: "orders".into() };
    Volume {
        metadata: Metadata {
            name: "pv-1".into(),
            finalizers: [PV_PROTECTION.into()].into(),
            ..Metadata::default()
        },
        phase: Phase::Released,
        claim_ref: Some(ClaimRef { key, uid: Uid::parse("gone") }),
        source: VolumeSource::Csi {
            driver: "ebs.csi.aws.com".into(),
            handle: "vol-1".into(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver: "ebs.csi.aws.com".into(), handle: "vol-1".into() }),
        provisioned_by: Some("ebs.csi.aws.com".into()),
        ..Volume::sample()
    }
}

fn ask(remedy: &Remedy, volume: &Volume, rows: Vec<Row>) -> Result<Proposal, String> {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    cluster.apply(Change::Clock(now()), &mut dirty);
    for row in [Row::Volume(Box::new(volume.clone()))].into_iter().chain(rows) {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    let (settings, facts) = (Settings::default(), RefCell::default());
    let said = (remedy.propose)(&Cx::new(&cluster, &settings, &facts), volume);
    said.expect("everything is seen").map_err(|refusal| refusal.reason)
}

fn exempted() -> [(Metadata, &'static str); 2] {
    let metadata = || volume().metadata;
    [
        (
            Metadata {
                rare_annotations: Some(Box::new(crate::model::RareAnnotations {
                    ignore: Some("all legal hold".into()),
                    ..Default::default()
                })),
                ..metadata()
            },
            "annotation storage.kubectl.dev/ignore: all legal hold",
        ),
        (
            Metadata {
                rare_annotations: Some(Box::new(crate::model::RareAnnotations {
                    keep_until: Some("2027-06-01".into()),
                    ..Default::default()
                })),
                ..metadata()
            },
            "annotation storage.kubectl.dev/keep-until: 2027-06-01",
        ),
    ]
}

#[test]
fn a_stop_says_where_the_backend_may_be_half_gone() {
    use Phase::{Available, Bound, Failed, Released};
    use ReclaimPolicy::{Delete, Recycle, Retain};
    for (policy, phase, terminating, doubts) in [
        (Delete, Available, false, false),
        (Delete, Bound, false, false),
        // No controller deletes the backend volume of a Bound volume, and the patch tests the
        // phase.
        (Delete, Bound, true, false),
        (Delete, Available, true, false),
        (Delete, Released, false, true),
        (Delete, Released, true, true),
        (Delete, Failed, false, true),
        (Delete, Phase::Other("Later".into()), false, true),
        // Scrubbing begins like deleting.
        (Recycle, Released, false, true),
        (Recycle, Failed, false, true),
        (Recycle, Available, false, false),
        (Recycle, Bound, true, false),
    ] {
        let case = format!("{policy} {phase} {terminating}");
        let mut volume = Volume { phase, reclaim_policy: policy.clone(), ..volume() };
        volume.metadata.deleting = terminating.then(now);
        let proposal = ask(&RETAIN, &volume, vec![]).expect("it is never wrong to stop");
        let step = Action::SetReclaimPolicy {
            volume: volume.object(),
            from: policy,
            to: Retain,
            doubts_backend: doubts,
            finalizer: FinalizerEdit::Untouched,
        };
        assert_eq!(proposal.steps, [step], "{case}");
        assert_eq!(matches!(proposal.undo, Undo::Never(_)), doubts, "{case}");
        assert_eq!(proposal.notices.len(), usize::from(doubts), "{case}");
    }
    assert_eq!(ask(&RETAIN, &volume(), vec![]), Err("its policy is already Retain".to_owned()));
}

#[test]
fn a_stop_removes_a_finalizer_of_ours_and_no_other() {
    let held = |terminating: bool| {
        let mut volume = Volume { reclaim_policy: ReclaimPolicy::Delete, ..volume() };
        volume.metadata.uid = Uid::parse("u");
        volume.metadata.finalizers = [EXTERNAL_PROVISIONER.into()].into();
        volume.metadata.deleting = terminating.then(now);
        volume
    };
    let ours = || {
        let uid = Uid::parse("u").expect("it is not empty");
        vec![Row::AddedFinalizer(uid, EXTERNAL_PROVISIONER.into())]
    };
    for (volume, rows, removed) in [
        (held(false), ours(), Some(EXTERNAL_PROVISIONER)),
        (held(false), vec![], None),
        (held(true), ours(), None),
        (Volume { reclaim_policy: ReclaimPolicy::Delete, ..volume() }, ours(), None),
    ] {
        let proposal = ask(&RETAIN, &volume, rows).expect("it is never wrong to stop");
        let [step] = &*proposal.steps else { panic!("{:?}", proposal.steps) };
        assert_eq!(step.removed_finalizer(), removed, "{volume:?}");
    }
}

#[test]
fn a_volume_that_is_exempt_is_given_to_no_claim() {
    for (metadata, reason) in exempted() {
        let volume = Volume { metadata, ..volume() };
        assert_eq!(ask(&REBIND, &volume, vec![]), Err(reason.to_owned()));
    }
}

#[test]
fn protection_is_added_once_and_only_where_it_can_be() {
    let bare = || {
        let mut volume = volume();
        volume.metadata.finalizers = [].into();
        volume
    };
    let proposal = ask(&ADD_PROTECTION, &bare(), vec![]).expect("nothing speaks against it");
    let step = Action::AddFinalizer { object: bare().object(), finalizer: PV_PROTECTION.into() };
    assert_eq!(proposal.steps, [step]);
    let mut terminating = bare();
    terminating.metadata.deleting = Some(now());
    for (volume, reason) in [
        (volume(), "it has the finalizer"),
        (terminating, "the API server allows no new finalizer on a terminating object"),
    ] {
        assert_eq!(ask(&ADD_PROTECTION, &volume, vec![]), Err(reason.to_owned()));
    }
    for (metadata, reason) in exempted() {
        let metadata = Metadata { finalizers: [].into(), ..metadata };
        let volume = Volume { metadata, ..volume() };
        assert_eq!(ask(&ADD_PROTECTION, &volume, vec![]), Err(reason.to_owned()));
    }
}
