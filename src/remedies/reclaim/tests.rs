//! What blocks reclaiming a volume whose claim does not exist: whatever may still use it.

use std::{cell::RefCell, sync::Arc};

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::model::{
    Attachment, AttachmentSource, BackendKey, Claim, ClaimKey, ClaimPhase, ClaimRef, CsiDriver,
    FieldOwner, Kind, Labels, Lease, ManagedField, Metadata, MountedClaim, Node, NodeAffinity,
    NodeRequirement, NodeTerm, Phase, PodPhase, PodUse, Row, Settings, Time, Uid, VolumeSource,
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
        is_shared: false,
        attributes_class: None,
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
        message: None,
        reason: None,
        last_phase_transition: Some(ago(9 * DAY)),
        reclaim_policy: ReclaimPolicy::Retain,
        claim_ref: Some(ClaimRef { key: claim_key(), uid: Uid::parse("gone") }),
        source: VolumeSource::Csi {
            driver: DRIVER.into(),
            handle: "vol-1".into(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver: DRIVER.into(), handle: "vol-1".into() }),
        attributes: crate::model::Attributes::default(),
        class: None,
        capacity: None,
        node_affinity: None,
        provisioned_by: Some(DRIVER.into()),
        migrated_to: None,
        bound_by_controller: true,
        deletion_secret: None,
        backend_state: None,
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
        attach_error: None,
        detach_error: None,
    }))
}

fn of_volume() -> AttachmentSource {
    AttachmentSource::Volume("pv-1".into())
}

fn pod(name: &str, node: Option<&str>) -> Row {
    Row::Pod(Box::new(PodUse {
        inline: crate::model::InlineVolumes::default(),
        controller: None,
        created: None,
        forced: false,
        labels: Labels::default(),
        namespace: "shop".into(),
        name: name.into(),
        uid: None,
        deleting: Some(ago(DAY)),
        phase: PodPhase::Running,
        ready: false,
        node: node.map(Text::from),
        claims: [MountedClaim { claim: "orders".into(), ephemeral: false }].into(),
        sidecars: None,
    }))
}

/// A recreated claim, bound to another volume.
fn claim() -> Row {
    Row::Claim(Box::new(Claim {
        attributes_class: None,
        capacity: None,
        conditions: Box::default(),
        provisioner: None,
        resize_status: None,
        selected_node: None,
        source: None,
        metadata: Metadata { name: "orders".into(), ..metadata("new") },
        namespace: "shop".into(),
        phase: ClaimPhase::Bound,
        volume_name: Some("pv-2".into()),
        class: None,
        bind_completed: true,
        requested: None,
    }))
}

/// Returns the notices or the refusal for a volume, with these rows and a running driver.
fn verdict(volume: &Volume, rows: Vec<Row>, settings: &Settings) -> Result<Vec<String>, String> {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    cluster.apply(Change::Clock(ago(0)), &mut dirty);
    let lease = Row::Lease(Box::new(Lease {
        metadata: metadata("ebs-csi-aws-com"),
        namespace: "storage".into(),
        holder: Some("a".into()),
        renewed: Some(ago(1)),
        duration_seconds: Some(15),
    }));
    for row in [Row::Volume(Box::new(volume.clone())), lease].into_iter().chain(rows) {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    let facts = RefCell::default();
    let said = (REMEDY.propose)(&Cx::new(&cluster, settings, &facts), volume);
    let said = said.map_err(|unseen| format!("unseen: {}", unseen.reason))?;
    said.map(|proposal| proposal.notices).map_err(|refusal| refusal.reason)
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
            "no/sick, which its node affinity leads to, is not Ready: a pod may still write there"
        }
        _ => {
            "no/lonely, which its node affinity leads to, is not Ready: a pod may still write there"
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
        (pinned(hostname, &["gone"]), vec![], Err("no node is left from which it can be reached")),
    ]);
}

#[test]
fn a_volume_is_not_reclaimed_while_an_attachment_names_it() {
    let on = |node: &str| vec![attachment("csi-1", node, of_volume())];
    let mut two = on("well");
    two.push(attachment("csi-2", "sick", of_volume()));
    let other = AttachmentSource::Volume("pv-2".into());
    hold([
        (volume(), on("well"), Err("volumeattachment/csi-1 still names it, on node well")),
        (
            volume(),
            on("sick"),
            Err(
                "volumeattachment/csi-1 still names it, on node sick, which is not Ready: it may still be written there",
            ),
        ),
        (
            volume(),
            on("gone"),
            Err(
                "volumeattachment/csi-1 still names it, on node gone, which does not exist: it may still be written there",
            ),
        ),
        (
            volume(),
            two,
            Err(
                "volumeattachment/csi-2 still names it, on node sick, which is not Ready: it may still be written there",
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
            Err("volumeattachment/csi-3 still names its backend volume, on node well"),
        ),
        (volume(), inline(DRIVER, "vol-2"), Ok(())),
        (volume(), inline("other.example", "vol-1"), Ok(())),
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
            Err("no/well says that it has the volume in use"),
        ),
        (
            volume(),
            vec![node("sick", "z", false, &[other, held])],
            Err("no/sick says that it has the volume in use, and is not Ready: it may still write"),
        ),
        (volume(), vec![node("sick", "z", false, &[other])], Ok(())),
    ]);
}

#[test]
fn a_volume_is_not_reclaimed_while_a_pod_names_its_claim() {
    hold([
        (volume(), vec![pod("web-0", Some("well"))], Err("po/shop/web-0 names claim shop/orders")),
        (volume(), vec![pod("web-0", None)], Err("po/shop/web-0 names claim shop/orders")),
        (
            volume(),
            vec![pod("web-0", Some("sick"))],
            Err(
                "po/shop/web-0 names claim shop/orders, and its node sick is not Ready: it may still write",
            ),
        ),
        (
            volume(),
            vec![pod("web-0", Some("gone"))],
            Err(
                "po/shop/web-0 names claim shop/orders, and its node gone does not exist: it may still write",
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
    assert_eq!(says(vec![pod("web-0", Some("well")), pod("web-1", None)]), Ok(vec![]));
    for (node, plight) in [("sick", "is not Ready"), ("gone", "does not exist")] {
        let reason = format!(
            "po/shop/web-1 names claim shop/orders, and its node {node} {plight}: it may still write"
        );
        let pods = vec![pod("web-0", Some("well")), pod("web-1", Some(node))];
        assert_eq!(says(pods), Err(reason));
    }
}

#[test]
fn a_driver_that_attaches_without_a_trace_is_said_to() {
    let driver = |attach_required| {
        Row::CsiDriver(Box::new(CsiDriver { metadata: metadata(DRIVER), attach_required }))
    };
    let says = |rows| verdict(&volume(), rows, &Settings::default());
    assert_eq!(says(vec![driver(true)]), Ok(vec![]));
    let notice = format!(
        "driver {DRIVER} attaches without a trace: no attachment could show that it is still mounted"
    );
    assert_eq!(says(vec![driver(false)]), Ok(vec![notice]));
}
