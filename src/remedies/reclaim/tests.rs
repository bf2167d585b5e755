//! What blocks reclaiming a volume whose claim does not exist: whatever may still use it.

use std::{cell::RefCell, sync::Arc};

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::model::{
    Answer, Attachment, AttachmentSource, BackendKey, Claim, ClaimKey, ClaimRef, CsiDriver,
    FieldOwner, Kind, Lease, ManagedField, Metadata, MountedClaim, Node, NodeAffinity,
    NodeRequirement, NodeTerm, Phase, PodPhase, PodUse, Question, Row, Settings, SidecarContainer,
    Sidecars, Time, Uid, VolumeSource, Workload,
};

const DRIVER: &str = "ebs.csi.aws.com";
const DAY: i64 = 24 * 3600;

fn ago(seconds: i64) -> Time {
    Time::from_timestamp(1_800_000_000 - seconds, 0).expect("in range")
}

fn metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), uid: Uid::parse(name), ..Metadata::default() }
}

/// A volume that can be reclaimed.
fn volume() -> Volume {
    Volume {
        metadata: Metadata {
            managers: [FieldOwner {
                field: ManagedField::Phase,
                manager: "kube-controller-manager".into(),
                time: Some(ago(9 * DAY)),
            }]
            .into(),
            ..metadata("pv-1")
        },
        phase: Phase::Released,
        last_phase_transition: Some(ago(9 * DAY)),
        claim_ref: Some(ClaimRef { key: claim_key(), uid: Uid::parse("gone") }),
        source: VolumeSource::Csi {
            driver: DRIVER.into(),
            handle: "vol-1".into(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver: DRIVER.into(), handle: "vol-1".into() }),
        provisioned_by: Some(DRIVER.into()),
        ..Volume::sample()
    }
}

fn claim_key() -> ClaimKey {
    ClaimKey { namespace: "shop".into(), name: "orders".into() }
}

/// A volume whose node affinity requires one of these values of a label.
fn pinned(key: &str, values: &[&str]) -> Volume {
    let requirement = NodeRequirement {
        key: key.into(),
        operator: "In".into(),
        values: values.iter().map(|it| Text::from(*it)).collect(),
    };
    let (labels, fields): (Box<[_]>, Box<[_]>) = match key {
        "metadata.name" => (Box::default(), Box::new([requirement])),
        _ => (Box::new([requirement]), Box::default()),
    };
    let terms = Box::new([NodeTerm { labels, fields }]);
    Volume { node_affinity: Some(Arc::new(NodeAffinity { terms })), ..volume() }
}

fn node(name: &str, zone: &str, ready: bool, volumes: &[&str]) -> Row {
    let labels = [
        ("ebs.csi.aws.com/node".into(), Text::from(name)),
        ("kubernetes.io/hostname".into(), Text::from(name)),
        ("zone".into(), Text::from(zone)),
    ];
    Row::Node(Box::new(Node {
        out_of_service: false,
        provider_id: None,
        unschedulable: false,
        metadata: Metadata { labels: labels.into(), ..metadata(name) },
        ready,
        volumes: volumes.iter().map(|it| Box::from(*it)).collect(),
    }))
}

/// Two nodes in zone `z` and one in zone `y`; `sick` is not Ready.
fn nodes() -> Vec<Row> {
    vec![
        node("well", "z", true, &[]),
        node("sick", "z", false, &[]),
        node("lonely", "y", false, &[]),
    ]
}

fn attachment(name: &str, node: &str, source: AttachmentSource) -> Row {
    Row::Attachment(Box::new(Attachment {
        metadata: metadata(name),
        attacher: DRIVER.into(),
        node: node.into(),
        source,
        attached: false,
        ..Attachment::sample()
    }))
}

fn of_volume() -> AttachmentSource {
    AttachmentSource::Volume("pv-1".into())
}

fn pod(name: &str, node: Option<&str>) -> Row {
    Row::Pod(Box::new(PodUse {
        name: name.into(),
        deleting: Some(ago(DAY)),
        ready: false,
        node: node.map(Text::from),
        claims: [MountedClaim { claim: "orders".into(), ephemeral: false }].into(),
        ..PodUse::sample()
    }))
}

/// A recreated claim, bound to another volume.
fn claim() -> Row {
    Row::Claim(Box::new(Claim {
        metadata: Metadata {
            name: "orders".into(),
            created: Some(ago(8 * DAY)),
            ..metadata("new")
        },
        volume_name: Some("pv-2".into()),
        ..Claim::sample()
    }))
}

/// A pod of a Ready node that is younger than the recreated claim.
fn young(name: &str) -> Row {
    created(pod(name, Some("well")), Some(8 * DAY - 1))
}

fn created(row: Row, seconds: Option<i64>) -> Row {
    let Row::Pod(pod) = row else { panic!("it is a pod") };
    Row::Pod(Box::new(PodUse { created: seconds.map(ago), ..*pod }))
}

/// Returns the notices or the refusal for a volume, with these rows and a running driver.
fn verdict(volume: &Volume, rows: Vec<Row>, settings: &Settings) -> Result<Vec<String>, String> {
    let rows = rows.into_iter().chain([lease("ebs-csi-aws-com", 1)]).collect();
    proposed(volume, rows, &[], settings).map(|proposal| proposal.notices)
}

fn lease(name: &str, renewed: i64) -> Row {
    Row::Lease(Box::new(Lease {
        read: crate::model::LeaseMoment::Clock,
        metadata: metadata(name),
        namespace: "storage".into(),
        holder: Some("a".into()),
        renewed: Some(ago(renewed)),
        duration_seconds: Some(15),
    }))
}

/// Returns the proposal or the refusal for a volume, with these rows and nothing read of some kinds.
fn proposed(
    volume: &Volume,
    rows: Vec<Row>,
    blind: &[Kind],
    settings: &Settings,
) -> Result<Proposal, String> {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    cluster.apply(Change::Clock(ago(0)), &mut dirty);
    for row in [Row::Volume(Box::new(volume.clone()))].into_iter().chain(rows) {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL {
        let change = match blind.contains(&kind) {
            true => Change::Lost(Gap { kind, namespace: None, reason: "forbidden".to_owned() }),
            false => Change::Whole(Reach::all(kind)),
        };
        cluster.apply(change, &mut dirty);
    }
    let facts = RefCell::default();
    let said = (REMEDY.propose)(&Cx::new(&cluster, settings, &facts), volume);
    let said = said.map_err(|unseen| format!("unseen: {}", unseen.reason))?;
    let mut proposal = said.map_err(|refusal| refusal.reason)?;
    // Whether a finalizer is added has tests of its own: here nobody sees a csi-provisioner.
    proposal
        .notices
        .retain(|it| !it.starts_with("the patch adds no deletion-protection finalizer"));
    Ok(proposal)
}

#[track_caller]
fn hold(cases: impl IntoIterator<Item = (Volume, Vec<Row>, Result<(), &'static str>)>) {
    for (volume, rows, expected) in cases {
        let case = format!("{:?} {rows:?}", volume.node_affinity);
        let said =
            verdict(&volume, nodes().into_iter().chain(rows).collect(), &Settings::default());
        assert_eq!(said, expected.map(|()| vec![]).map_err(str::to_owned), "{case}");
    }
}

#[test]
fn a_volume_is_not_reclaimed_while_the_node_that_had_it_cannot_be_asked() {
    let silent = |node: &'static str| match node {
        "sick" => {
            "node sick, which matches its node affinity, is not Ready: a pod there may still write"
        }
        _ => {
            "node lonely, which matches its node affinity, is not Ready: a pod there may still write"
        }
    };
    let hostname = "kubernetes.io/hostname";
    hold([
        (volume(), vec![], Ok(())),
        (pinned(hostname, &["well"]), vec![], Ok(())),
        (pinned(hostname, &["sick"]), vec![], Err(silent("sick"))),
        (pinned(hostname, &["well", "sick"]), vec![], Err(silent("sick"))),
        (pinned("metadata.name", &["well"]), vec![], Ok(())),
        (pinned("metadata.name", &["sick"]), vec![], Err(silent("sick"))),
        // Drivers choose the names of their nodes; what counts is that no other node matches.
        (pinned("ebs.csi.aws.com/node", &["well"]), vec![], Ok(())),
        (pinned("ebs.csi.aws.com/node", &["sick"]), vec![], Err(silent("sick"))),
        (pinned("zone", &["y"]), vec![], Err(silent("lonely"))),
        // Any node of the zone may have had it, and the others are Ready.
        (pinned("zone", &["z"]), vec![], Ok(())),
        // Its controller deletes it without a node.
        (pinned(hostname, &["gone"]), vec![], Ok(())),
    ]);
}

#[test]
fn a_volume_is_not_reclaimed_while_an_attachment_names_it() {
    let on = |node: &str| vec![attachment("csi-1", node, of_volume())];
    let mut two = on("well");
    two.push(attachment("csi-2", "sick", of_volume()));
    let other = AttachmentSource::Volume("pv-2".into());
    hold([
        (volume(), on("well"), Err("volumeattachment/csi-1 references it on node well")),
        (
            volume(),
            on("sick"),
            Err(
                "volumeattachment/csi-1 references it on node sick, which is not Ready: a pod there may still write",
            ),
        ),
        (
            volume(),
            on("gone"),
            Err(
                "volumeattachment/csi-1 references it on node gone, which does not exist: a pod there may still write",
            ),
        ),
        (
            volume(),
            two,
            Err(
                "volumeattachment/csi-2 references it on node sick, which is not Ready: a pod there may still write",
            ),
        ),
        (volume(), vec![attachment("csi-1", "sick", other)], Ok(())),
    ]);
    // An inline volume, with the same handle or another one.
    let inline = |driver: &str, handle: &str| {
        let source = AttachmentSource::Inline { driver: driver.into(), handle: handle.into() };
        vec![attachment("csi-3", "well", source)]
    };
    hold([
        (
            volume(),
            inline(DRIVER, "vol-1"),
            Err("volumeattachment/csi-3 references its backend volume on node well"),
        ),
        (volume(), inline(DRIVER, "vol-2"), Ok(())),
        (volume(), inline("other.example", "vol-2"), Ok(())),
    ]);
}

#[test]
fn a_volume_is_not_reclaimed_while_a_node_says_that_it_has_it() {
    let held = "kubernetes.io/csi/ebs.csi.aws.com^vol-1";
    let other = "kubernetes.io/csi/ebs.csi.aws.com^vol-2";
    hold([
        (
            volume(),
            vec![node("well", "z", true, &[held])],
            Err("node well lists it in volumesInUse or volumesAttached"),
        ),
        (
            volume(),
            vec![node("sick", "z", false, &[other, held])],
            Err(
                "node sick lists it in volumesInUse or volumesAttached and is not Ready: a pod there may still write",
            ),
        ),
        (volume(), vec![node("sick", "z", false, &[other])], Ok(())),
    ]);
}

#[test]
fn a_volume_is_not_reclaimed_while_a_pod_names_its_claim() {
    hold([
        (volume(), vec![pod("web-0", Some("well"))], Err("po/shop/web-0 uses claim shop/orders")),
        (volume(), vec![pod("web-0", None)], Err("po/shop/web-0 uses claim shop/orders")),
        (
            volume(),
            vec![pod("web-0", Some("sick"))],
            Err(
                "po/shop/web-0 uses claim shop/orders, and its node sick is not Ready: it may still write",
            ),
        ),
        (
            volume(),
            vec![pod("web-0", Some("gone"))],
            Err(
                "po/shop/web-0 uses claim shop/orders, and its node gone does not exist: it may still write",
            ),
        ),
    ]);
}

#[test]
fn pods_of_a_claim_that_was_made_again_use_its_new_volume_unless_their_node_is_silent() {
    let settings = Settings { include_recreated: true, ..Settings::default() };
    let says = |pods: Vec<Row>| {
        let rows = nodes().into_iter().chain([claim()]).chain(pods);
        verdict(&volume(), rows.collect(), &settings)
    };
    assert_eq!(says(vec![young("web-0"), pod("web-1", None)]), Ok(vec![]));
    for (node, plight) in [("sick", "is not Ready"), ("gone", "does not exist")] {
        let reason = format!(
            "po/shop/web-1 uses claim shop/orders, and its node {node} {plight}: it may still write"
        );
        let pods = vec![young("web-0"), pod("web-1", Some(node))];
        assert_eq!(says(pods), Err(reason));
    }
}

/// The deletion of the first claim was forced under its running pod, and the manifest applied again.
#[test]
fn a_pod_that_may_be_older_than_a_recreated_claim_may_still_use_the_volume() {
    let settings = Settings { include_recreated: true, ..Settings::default() };
    let says = |pod: Row| {
        let rows = nodes().into_iter().chain([claim(), pod]);
        verdict(&volume(), rows.collect(), &settings)
    };
    let running = |seconds| created(pod("web-0", Some("well")), seconds);
    let refused =
        Err("po/shop/web-0 may be older than claim shop/orders, which was recreated: it may \
                       still use this volume"
            .to_owned());
    assert_eq!(says(running(Some(9 * DAY))), refused);
    assert_eq!(says(running(Some(8 * DAY + 1))), refused);
    assert_eq!(says(running(None)), refused);
    // A set makes the claim and its pod within one second.
    assert_eq!(says(running(Some(8 * DAY))), Ok(vec![]));
    let Row::Pod(ended) = running(Some(9 * DAY)) else { panic!("it is a pod") };
    assert_eq!(
        says(Row::Pod(Box::new(PodUse { phase: PodPhase::Succeeded, ..*ended }))),
        Ok(vec![])
    );
}

/// Another machine may have kept a backend volume that lies in the directory of this one.
#[test]
fn nothing_is_reclaimed_while_the_record_of_kept_backend_volumes_cannot_be_read() {
    let record = || Question::KeptBackends { namespace: "kube-system".into() };
    for (answer, why) in [
        (Answer::Forbidden, Some("forbidden")),
        (Answer::Unanswered("timed out".into()), Some("timed out")),
        (Answer::Yes, None),
    ] {
        let answered = Row::Answer(record(), answer);
        let rows = nodes().into_iter().chain([lease("ebs-csi-aws-com", 1), answered]);
        let said = proposed(&volume(), rows.collect(), &[], &Settings::default());
        let reason = why
            .map(|why| format!("unseen: the record of kept backend volumes was not read: {why}"));
        assert_eq!(said.err(), reason);
    }
}

#[test]
fn a_volume_whose_claim_ref_was_changed_is_kept_for_its_own_claim_whatever_the_flags_are() {
    let settings = Settings {
        include_recreated: true,
        include_unknown_age: true,
        include_wanted: true,
        ..Settings::default()
    };
    let uid = "2f5a1b7c-0d3e-4f60-8a9b-0c1d2e3f4a5b";
    let Row::Claim(mut own) = claim() else { panic!("it is a claim") };
    own.metadata.uid = Uid::parse(uid);
    own.volume_name = Some("pvc-other".into());
    let named = Volume {
        metadata: Metadata { name: format!("pvc-{uid}").into(), ..volume().metadata },
        ..volume()
    };
    let handle = format!("vol-{uid}");
    let held = Volume {
        source: VolumeSource::Csi {
            driver: DRIVER.into(),
            handle: handle.as_str().into(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver: DRIVER.into(), handle: handle.as_str().into() }),
        ..volume()
    };
    for changed in [named, held] {
        let rows = nodes().into_iter().chain([Row::Claim(own.clone())]).collect();
        let said = verdict(&changed, rows, &settings).expect_err("its own claim exists");
        assert!(said.starts_with("its own claim pvc/shop/orders still exists"), "{said}");
        assert!(said.contains("`kubectl storage rebind pv/"), "{said}");
    }
    // A recreated claim with another volume is none of that.
    assert_eq!(verdict(&volume(), vec![Row::Claim(own)], &settings).err(), None);
}

#[test]
fn a_driver_that_attaches_without_a_trace_is_said_to() {
    let driver = |attach_required| {
        Row::CsiDriver(Box::new(CsiDriver { metadata: metadata(DRIVER), attach_required }))
    };
    let says = |rows| verdict(&volume(), rows, &Settings::default());
    assert_eq!(says(vec![driver(true)]), Ok(vec![]));
    let notice = format!(
        "CSIDriver {DRIVER} has attachRequired: false, so no VolumeAttachment can show a mount"
    );
    assert_eq!(says(vec![driver(false)]), Ok(vec![notice]));
}

fn trusting(driver: &str) -> Settings {
    Settings { alive_provisioners: [driver.into()].into(), ..Settings::default() }
}

/// A workload of the provisioner without replicas.
fn scaled_to_zero() -> Row {
    let container = SidecarContainer {
        provisions_itself: false,
        name: "csi-provisioner".into(),
        image: "csi-provisioner:v6.3.0".into(),
        args: Box::default(),
    };
    Row::Workload(Box::new(Workload {
        namespace: "storage".into(),
        name: "controller".into(),
        replicas: Some(0),
        sidecars: Some(Box::new(Sidecars {
            containers: [container].into(),
            mentions: [Text::from(format!("--drivername={DRIVER}").as_str())].into(),
            images: Box::default(),
            service_account: None,
            of_cluster: Box::default(),
        })),
        ..Workload::sample()
    }))
}

#[test]
fn the_word_that_a_provisioner_is_alive_beats_only_what_is_not_seen() {
    let registered = || {
        Row::CsiDriver(Box::new(CsiDriver { metadata: metadata(DRIVER), attach_required: true }))
    };
    let lifts = format!("--provisioner-alive {DRIVER} asserts that it is");
    for (rows, blind, without) in [
        (vec![registered()], &[][..], "may not be running: no evidence shows that it is running ("),
        (vec![], &[], "may not be running: no trace found"),
        (
            vec![registered()],
            &[Kind::Lease],
            "unseen: forbidden; unknown whether csi-provisioner of",
        ),
        (vec![registered()], &[Kind::Pod], "unseen: forbidden; unknown whether csi-provisioner of"),
    ] {
        let case = format!("{rows:?} {blind:?}");
        let asked = |settings: &Settings| proposed(&volume(), rows.clone(), blind, settings);
        if blind != [Kind::Pod] {
            let proposal = asked(&trusting(DRIVER)).expect("on the word");
            assert_eq!(proposal.relies_on, ["--provisioner-alive"], "{case}");
            assert!(
                proposal.notices[0].contains("no evidence shows that its provisioner is running"),
                "{case}"
            );
            let refused = asked(&Settings::default()).expect_err("unknown");
            assert!(refused.contains(without) && refused.ends_with(&lifts), "{case}: {refused}");
        }
        let refused = asked(&trusting("other.example")).expect_err("of another driver");
        assert!(!refused.is_empty(), "{case}");
    }
    for (rows, reason) in [
        (
            vec![lease("ebs-csi-aws-com", 660)],
            "is not running: lease/storage/ebs-csi-aws-com was not renewed since",
        ),
        (vec![scaled_to_zero()], "is not running: deploy/storage/controller has no replicas"),
    ] {
        let refused = proposed(&volume(), rows, &[], &trusting(DRIVER)).expect_err("it is stopped");
        assert!(refused.contains(reason), "{refused}");
        assert!(!refused.contains("--provisioner-alive"), "{refused}");
    }
    // Where it is seen at work, nothing relies on the word.
    let rows = vec![lease("ebs-csi-aws-com", 1)];
    let proposal = proposed(&volume(), rows, &[], &trusting(DRIVER)).expect("it is alive");
    assert!(proposal.relies_on.is_empty() && proposal.notices.is_empty(), "{proposal:?}");
}

#[test]
fn another_provisioner_is_believed_when_it_is_seen_or_by_the_word() {
    let name = "cluster.local/nfs";
    let source = VolumeSource::InTree("nfs".into());
    let volume =
        || Volume { source: source.clone(), provisioned_by: Some(name.into()), ..volume() };
    // Nothing shows what it is, so neither what it deletes is known nor whether it runs.
    let exclusive =
        |settings: Settings| Settings { backend_exclusive: [name.into()].into(), ..settings };
    let settings = exclusive(Settings::default());
    let refused = proposed(&volume(), vec![], &[], &Settings::default()).expect_err("unknown");
    assert!(refused.contains("its provisioner is unknown; --backend-exclusive"), "{refused}");
    assert!(refused.ends_with("--provisioner-alive cluster.local/nfs asserts that it is"));
    let refused = proposed(&volume(), vec![], &[], &settings).expect_err("not running");
    assert!(refused.starts_with("external provisioner cluster.local/nfs may not be"), "{refused}");
    for (rows, settings, relies_on) in [
        (vec![], exclusive(trusting(name)), &["--backend-exclusive", "--provisioner-alive"][..]),
        (vec![lease("cluster.local-nfs", 1)], settings, &["--backend-exclusive"]),
    ] {
        let proposal = proposed(&volume(), rows, &[], &settings).expect("it is believed");
        assert_eq!(proposal.relies_on, relies_on);
    }
}
