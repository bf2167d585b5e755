//! What `--snapshot-first` proposes and refuses.

use std::cell::RefCell;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::model::{
    BackendKey, ClaimKey, ClaimRef, Lease, Metadata, Phase, ReclaimPolicy, Row, Settings,
    SnapshotSource, Uid, VolumeSource,
};

const EBS: &str = "ebs.csi.aws.com";
const NAME: &str = "data-before-delete-20270115-080000";

fn now() -> Time {
    Time::from_timestamp(1_800_000_000, 0).expect("in range")
}

fn metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), uid: Uid::parse(&format!("{name}-uid")), ..Metadata::default() }
}

fn claim() -> Claim {
    Claim { metadata: metadata("data"), volume_name: Some("pv-1".into()), ..Claim::sample() }
}

fn volume(driver: &str) -> Volume {
    let key = ClaimKey { namespace: "shop".into(), name: "data".into() };
    Volume {
        metadata: metadata("pv-1"),
        reclaim_policy: ReclaimPolicy::Delete,
        claim_ref: Some(ClaimRef { key, uid: Uid::parse("data-uid") }),
        source: VolumeSource::Csi {
            driver: driver.into(),
            handle: "vol-1".into(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver: driver.into(), handle: "vol-1".into() }),
        provisioned_by: Some(driver.into()),
        ..Volume::sample()
    }
}

fn class(name: &str, driver: &str, is_default: bool) -> Row {
    Row::SnapshotClass(Box::new(SnapshotClass {
        metadata: metadata(name),
        driver: driver.into(),
        deletion_policy: Some("Delete".into()),
        is_default,
    }))
}

fn taken() -> VolumeSnapshot {
    VolumeSnapshot {
        metadata: metadata(NAME),
        namespace: "shop".into(),
        source_claim: Some("data".into()),
        content: Some("content".into()),
        ready: true,
        error: None,
        taken_of: Uid::parse("data-uid"),
    }
}

fn content(driver: &str, handle: &str) -> SnapshotContent {
    SnapshotContent {
        kind: Kind::VolumeSnapshotContent,
        metadata: metadata("content"),
        driver: driver.into(),
        source: SnapshotSource::Volumes(["vol-1".into()].into()),
        snapshot: Some(("shop".into(), NAME.into())),
        snapshot_uid: Uid::parse(&format!("{NAME}-uid")),
        ready: true,
        being_created: false,
        deletion_policy: Some("Delete".into()),
        handle: Some(handle.into()),
        size: None,
    }
}

fn lease(name: &str, minutes: i64) -> Row {
    Row::Lease(Box::new(Lease {
        read: crate::model::LeaseMoment::Clock,
        metadata: metadata(name),
        namespace: "kube-system".into(),
        holder: Some("a".into()),
        renewed: now().checked_sub_signed(chrono::Duration::minutes(minutes)),
        duration_seconds: Some(15),
    }))
}

struct World {
    volume: Option<Volume>,
    rows: Vec<Row>,
    class: Option<&'static str>,
    destroys: bool,
    unserved: Option<Kind>,
    unread: Option<Kind>,
    version: Option<&'static str>,
}

impl World {
    fn of(driver: &str) -> Self {
        Self {
            volume: Some(volume(driver)),
            rows: vec![class("daily", driver, true)],
            class: None,
            destroys: true,
            unserved: None,
            unread: None,
            version: None,
        }
    }

    fn with(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    fn taken(self, taken: VolumeSnapshot, content: SnapshotContent) -> Self {
        self.with([Row::VolumeSnapshot(Box::new(taken)), Row::Snapshot(Box::new(content))])
    }

    fn ask(&self) -> Result<FirstSnapshot, String> {
        let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
        let mut apply = |change| cluster.apply(change, &mut dirty);
        apply(Change::Clock(now()));
        let volumes = self.volume.iter().map(|it| Row::Volume(Box::new(it.clone())));
        let claims = [Row::Claim(Box::new(claim()))];
        for row in claims.into_iter().chain(volumes).chain(self.rows.clone()) {
            apply(Change::Seen(row));
        }
        for kind in Kind::ALL {
            let gap = Gap { kind, namespace: None, reason: "forbidden".to_owned() };
            apply(match kind {
                _ if self.unserved == Some(kind) => Change::NotServed(kind),
                _ if self.unread == Some(kind) => Change::Lost(gap),
                _ => Change::Whole(Reach::all(kind)),
            });
        }
        if let Some(version) = self.version {
            apply(Change::Served(Kind::VolumeSnapshot, version.into()));
        }
        let wanted = SnapshotFirst { class: self.class.map(Text::from), stamp: stamp(now()) };
        let settings = Settings { snapshot_first: Some(wanted), ..Settings::default() };
        let facts = RefCell::default();
        let cx = Cx::new(&cluster, &settings, &facts);
        match propose(&cx, &claim(), self.volume.as_ref(), self.destroys) {
            Ok(said) => said.map(|it| it.expect("because one is wanted")),
            Err(unseen) => Err(format!("not seen: {} {}", unseen.kind, unseen.reason)),
        }
    }

    #[track_caller]
    fn refuses(&self, wanted: &str) {
        let reason = self.ask().expect_err(wanted);
        assert!(reason.contains(wanted), "{reason}");
    }
}

#[test]
fn a_snapshot_is_created_with_the_default_class() {
    let world = World::of(EBS).with([class("other", "pd.csi.storage.gke.io", true)]);
    let first = world.ask().expect("proposed");
    let Some(Action::CreateSnapshot { snapshot, claim, manifest }) = &first.step else {
        panic!("{first:?}");
    };
    assert_eq!(snapshot.to_string(), format!("vs/shop/{NAME}"));
    assert_eq!(claim.to_string(), "pvc/shop/data");
    assert_eq!(
        *manifest,
        json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
            "metadata": {
                "name": NAME, "namespace": "shop",
                "annotations": {"storage.kubectl.dev/claim-uid": "data-uid"},
            },
            "spec": {
                "volumeSnapshotClassName": "daily",
                "source": {"persistentVolumeClaimName": "data"},
            },
        })
    );
    assert!(first.notices[0].contains("deletion policy of vsclass/daily is Delete"), "{first:?}");
    assert_eq!(first, world.ask().expect("proposed"), "the proposal is made again before it");
}

#[test]
fn the_version_is_the_one_that_is_served() {
    let world = World { version: Some("v1beta1"), ..World::of(EBS) };
    let first = world.ask().expect("proposed");
    let Some(Action::CreateSnapshot { manifest, .. }) = &first.step else { panic!("{first:?}") };
    assert_eq!(manifest["apiVersion"], "snapshot.storage.k8s.io/v1beta1");
}

#[test]
fn a_ready_snapshot_leaves_the_rest() {
    for destroys in [true, false] {
        let world = World { destroys, ..World::of(EBS) }.taken(taken(), content(EBS, "snap-1"));
        let first = world.ask().expect("the rest");
        assert_eq!((&first.step, first.notices.len()), (&None, 0));
        // What was only needed to take it does not matter any more.
        let without = World { rows: world.rows[1..].to_vec(), ..world };
        assert_eq!(without.ask(), Ok(first));
    }
}

#[test]
fn a_snapshot_that_is_not_what_was_wanted_is_refused() {
    type Case = (fn(&mut VolumeSnapshot, &mut SnapshotContent), &'static str);
    let of_another = SnapshotSource::Volumes(["vol-2".into()].into());
    let cases: [Case; 13] = [
        (|_, content| content.source = SnapshotSource::Existing, "was not taken of pv/pv-1"),
        (|it, _| it.taken_of = None, "exists already"),
        (|it, _| it.taken_of = Uid::parse("earlier"), "exists already"),
        (|it, _| it.source_claim = Some("other".into()), "exists already"),
        (|it, _| it.metadata.deleting = Some(now()), "is Terminating"),
        (|it, _| it.ready = false, "is not ready to use"),
        (|it, _| (it.ready, it.error) = (false, Some("quota".into())), "; error: quota"),
        (|it, _| it.content = None, "is not bound to a VolumeSnapshotContent"),
        (|_, content| content.snapshot_uid = Uid::parse("other"), "is not bound to it"),
        (|_, content| content.ready = false, "vsc/content is not"),
        (|_, content| content.being_created = true, "vsc/content is not"),
        (|_, content| content.handle = None, "references no snapshot"),
        (|_, content| content.metadata.deleting = Some(now()), "vsc/content is not"),
    ];
    for (change, wanted) in cases {
        let (mut taken, mut content) = (taken(), content(EBS, "snap-1"));
        change(&mut taken, &mut content);
        World::of(EBS).taken(taken, content).refuses(wanted);
    }
    let content = SnapshotContent { source: of_another, ..content(EBS, "snap-1") };
    World::of(EBS).taken(taken(), content).refuses("was not taken of pv/pv-1");
    let gone = World::of(EBS).with([Row::VolumeSnapshot(Box::new(taken()))]);
    gone.refuses("VolumeSnapshotContent content is not bound to it");
}

/// Between the deletion of the claim and that of the backend volume, somebody may delete it.
#[test]
fn the_data_is_destroyed_only_while_the_snapshot_is_ready() {
    let taken = || Row::VolumeSnapshot(Box::new(taken()));
    let content = || Row::Snapshot(Box::new(content(EBS, "snap-1")));
    for (phase, rows, wanted) in [
        (Phase::Bound, vec![], None),
        (Phase::Released, vec![], Some("which was to be taken first, does not exist")),
        (Phase::Released, vec![taken()], Some("is not ready")),
        (Phase::Released, vec![taken(), content()], None),
    ] {
        let released = Volume { phase, ..volume(EBS) };
        let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
        for row in rows {
            cluster.apply(Change::Seen(row), &mut dirty);
        }
        for kind in Kind::ALL {
            cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
        }
        let first = SnapshotFirst { class: None, stamp: stamp(now()) };
        let asked = Settings { snapshot_first: Some(first), ..Settings::default() };
        let facts = RefCell::default();
        let reason = remains(&Cx::new(&cluster, &asked, &facts), &released);
        let reason = reason.expect("everything is seen").err().unwrap_or_default();
        match wanted {
            None => assert_eq!(reason, ""),
            Some(wanted) => assert!(reason.contains(wanted), "{reason}"),
        }
        let unasked = Settings::default();
        assert_eq!(remains(&Cx::new(&cluster, &unasked, &facts), &released), Ok(Ok(())));
    }
}

#[test]
fn a_class_is_needed_that_is_of_the_driver() {
    let none = World { rows: Vec::new(), ..World::of(EBS) };
    none.refuses("no VolumeSnapshotClass of ebs.csi.aws.com exists");
    let no_default = || World {
        rows: vec![class("a", EBS, false), class("b", EBS, false), class("x", "other", true)],
        ..World::of(EBS)
    };
    no_default()
        .refuses("requires --snapshot-class; VolumeSnapshotClasses of ebs.csi.aws.com: a, b");
    World { class: Some("b"), ..no_default() }.ask().expect("named");
    World { class: Some("c"), ..no_default() }.refuses(
        "VolumeSnapshotClass c does not exist; VolumeSnapshotClasses of ebs.csi.aws.com: a, b",
    );
    World { class: Some("x"), ..no_default() }
        .refuses("the driver of vsclass/x is other, and that of the volume is ebs.csi.aws.com");
    let two = World::of(EBS).with([class("weekly", EBS, true)]);
    two.refuses("are the default (daily, weekly)");
    World { class: Some("weekly"), ..two }.ask().expect("named");
}

#[test]
fn what_serves_no_snapshots_is_refused() {
    for kind in NEEDS {
        let reason = "which the API server does not serve";
        World { unserved: Some(*kind), ..World::of(EBS) }.refuses(reason);
        World { unread: Some(*kind), ..World::of(EBS) }.refuses("not seen: ");
    }
    World { volume: None, ..World::of(EBS) }.refuses("not bound to a PersistentVolume");
    let mut in_tree = volume(EBS);
    in_tree.source = VolumeSource::InTree("nfs".into());
    World { volume: Some(in_tree), ..World::of(EBS) }.refuses("is not a CSI volume");
    World::of("efs.csi.aws.com").refuses("takes no snapshots");
}

#[test]
fn controllers_that_were_seen_to_have_stopped_take_none() {
    for (name, who) in [
        ("snapshot-controller-leader", "snapshot-controller is not running"),
        ("external-snapshotter-leader-ebs-csi-aws-com", "csi-snapshotter of ebs.csi.aws.com"),
    ] {
        World::of(EBS).with([lease(name, 60)]).refuses(who);
        World::of(EBS).with([lease(name, 0)]).ask().expect("renewed in time");
        // What was asked of them is done.
        let done = World::of(EBS).taken(taken(), content(EBS, "snap-1"));
        done.with([lease(name, 60)]).ask().expect("ready");
    }
}

#[test]
fn a_snapshot_that_does_not_outlive_the_volume_saves_nothing() {
    for (driver, reason, notice) in [
        ("fsx.openzfs.csi.aws.com", "destroyed with their volume", "destroys the snapshot too"),
        ("unknown.example.com", "unknown whether snapshots", "unknown whether the snapshot"),
        ("cinder.csi.openstack.org", "would remain Released", "blocks a later deletion"),
    ] {
        World::of(driver).refuses(reason);
        World::of(driver).refuses("--keep-data keeps both");
        let kept = World { destroys: false, ..World::of(driver) }.ask().expect("kept");
        assert!(kept.notices[0].contains(notice), "{:?}", kept.notices);
        let world = World { destroys: false, ..World::of(driver) };
        let rest = world.taken(taken(), content(driver, "s-1")).ask().expect("the rest");
        assert_eq!((rest.step, rest.notices.len()), (None, 0), "{driver}");
    }
}

/// Longhorn has both sorts, and only the handle tells which one a class makes.
#[test]
fn where_the_handle_decides_the_deletion_waits_for_it() {
    const LONGHORN: &str = "driver.longhorn.io";
    let first = World::of(LONGHORN).ask().expect("not known yet");
    assert!(first.step.is_some() && first.notices[0].contains("and others"), "{first:?}");
    let of = |handle| World::of(LONGHORN).taken(taken(), content(LONGHORN, handle));
    of("bak://pvc-a/b1").ask().expect("outlives it");
    of("snap://pvc-a/s1").refuses("destroyed with their volume");
    of("s1").refuses("unknown whether");
}

#[test]
fn names_fit_into_the_api() {
    let wanted = SnapshotFirst { class: None, stamp: stamp(now()) };
    let name_of = |claim: String, uid: &str| {
        let key = ObjectKey::named(Kind::PersistentVolumeClaim, "shop", &claim);
        name(&wanted, &ObjectRef { key, uid: Uid::parse(uid) })
    };
    assert_eq!(name_of("data".to_owned(), "a"), NAME);
    let uid = "0a1b2c3d-1277-4efe-9d2f-5a6b7c8d9e0f";
    for length in 200..=253 {
        let plain = name_of("a".repeat(length), uid);
        assert!(plain.len() <= LONGEST, "{plain}");
        assert!(plain.ends_with("-before-delete-20270115-080000"), "{plain}");
        let dotted = name_of("a.".repeat(length / 2) + "b", uid);
        assert!(dotted.len() <= LONGEST && !dotted.contains(".-"), "{dotted}");
    }
    let other = "1a1b2c3d-1277-4efe-9d2f-5a6b7c8d9e0f";
    assert_ne!(name_of("a".repeat(253), uid), name_of("a".repeat(252) + "b", other));
}
