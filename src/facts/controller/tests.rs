//! Tests of the state of a controller, for all combinations of probe outcomes.

use std::cell::RefCell;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::model::{
    CsiDriver, CsiNode, Event, FieldOwner, Kind, Lease, ManagedField, Metadata, ObjectKey,
    OwnerReference, PodUse, ReclaimPolicy, Row, Settings, SidecarContainer, Sidecars, Sighting,
    Volume, VolumeSource, Workload,
};

const DRIVER: &str = "disk.csi.example.com";
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The outcome that a test arranges for a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finds {
    Alive,
    Trace,
    Nothing,
    Unseen,
}

use Finds::{Alive, Nothing, Trace, Unseen as NotRead};

fn ago(seconds: i64) -> Time {
    Time::from_timestamp(1_800_000_000 - seconds, 0).expect("in range")
}

fn metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), ..Metadata::default() }
}

fn volume(driver: &str, source: VolumeSource) -> Volume {
    Volume {
        metadata: metadata("pv-1"),
        reclaim_policy: ReclaimPolicy::Delete,
        source,
        provisioned_by: Some(driver.into()),
        ..Volume::sample()
    }
}

fn csi_volume(driver: &str) -> Row {
    let source = VolumeSource::Csi {
        driver: driver.into(),
        handle: "vol-1".into(),
        provisioner_identity: true,
    };
    Row::Volume(Box::new(volume(driver, source)))
}

fn sidecars(image: &str, mentions: &[&str]) -> Sidecars {
    Sidecars {
        images: [].into(),
        containers: [SidecarContainer {
            provisions_itself: false,
            name: "c".into(),
            image: image.into(),
            args: Box::default(),
        }]
        .into(),
        mentions: mentions.iter().map(|text| Text::from(*text)).collect(),
        service_account: None,
        of_cluster: Box::default(),
    }
}

/// Sidecars whose image shows no role.
fn nameless(container: &str, mentions: &[&str]) -> Sidecars {
    let image = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:00";
    let mut sidecars = sidecars(image, mentions);
    sidecars.containers[0].name = container.into();
    sidecars
}

fn registered(driver: &str) -> Row {
    Row::CsiDriver(Box::new(CsiDriver { metadata: metadata(driver), attach_required: true }))
}

fn on_a_node(driver: &str) -> Row {
    Row::CsiNode(Box::new(CsiNode {
        metadata: metadata("node-1"),
        drivers: [driver.into()].into(),
    }))
}

fn pod(ready: bool, sidecars: Sidecars) -> Row {
    Row::Pod(Box::new(PodUse {
        namespace: "storage".into(),
        name: "controller-0".into(),
        ready,
        sidecars: Some(Box::new(sidecars)),
        ..PodUse::sample()
    }))
}

fn workload(kind: Kind, replicas: i32, sidecars: Sidecars) -> Row {
    Row::Workload(Box::new(Workload {
        kind,
        namespace: "storage".into(),
        name: "controller".into(),
        replicas: Some(replicas),
        sidecars: Some(Box::new(sidecars)),
        ..Workload::sample()
    }))
}

fn lease(name: &str, namespace: &str, renewed: Time, holder: Option<&str>) -> Row {
    Row::Lease(Box::new(Lease {
        read: crate::model::LeaseMoment::default(),
        metadata: metadata(name),
        namespace: namespace.into(),
        holder: holder.map(Into::into),
        renewed: Some(renewed),
        duration_seconds: Some(15),
    }))
}

fn event(component: &str, seconds: i64) -> Row {
    Row::Event(Box::new(Event {
        namespace: "default".into(),
        name: "e".into(),
        about: ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-9"),
        about_uid: None,
        reason: "Provisioning".into(),
        message: "".into(),
        warning: false,
        component: component.into(),
        count: 1,
        first_seen: Some(ago(seconds)),
        last_seen: Some(ago(seconds)),
    }))
}

fn sighting(role: ControllerRole, driver: &str, seconds: i64) -> Row {
    Row::Sighting(Sighting { role, driver: driver.into(), absent_since: ago(seconds) })
}

/// A cluster with these rows, read completely except for some kinds.
fn cluster(rows: impl IntoIterator<Item = Row>, blind: &[Kind]) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    cluster.apply(Change::Clock(ago(0)), &mut dirty);
    for row in rows {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL {
        let change = if blind.contains(&kind) {
            Change::Lost(Gap { kind, namespace: None, reason: "forbidden".to_owned() })
        } else {
            Change::Whole(Reach::all(kind))
        };
        cluster.apply(change, &mut dirty);
    }
    cluster
}

fn state_of(
    cluster: &Cluster,
    settings: &Settings,
    role: ControllerRole,
    driver: &str,
) -> ControllerState {
    let facts = RefCell::default();
    state(&Cx::new(cluster, settings, &facts), role, &driver.into())
}

fn declaring(driver: &str) -> Settings {
    Settings { absent_drivers: [driver.into()].into(), ..Settings::default() }
}

/// The rows that lead to these outcomes, and the kinds that are not read.
fn scene(
    [lease_finds, pods, workloads, registration, action]: [Finds; 5],
) -> (Vec<Row>, Vec<Kind>) {
    let image = "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0";
    let own = || sidecars(image, &["--drivername=disk.csi.example.com"]);
    let (mut rows, mut blind) = (vec![csi_volume(DRIVER)], Vec::new());
    match lease_finds {
        Alive => rows.push(lease("disk-csi-example-com", "storage", ago(5), Some("a"))),
        Trace => rows.push(lease("disk-csi-example-com", "storage", ago(9 * DAY), Some("a"))),
        Nothing => {}
        NotRead => blind.push(Kind::Lease),
    }
    match pods {
        Alive => rows.push(pod(true, own())),
        Trace => rows.push(pod(false, own())),
        Nothing => {}
        NotRead => blind.push(Kind::Pod),
    }
    match workloads {
        Alive | Trace => rows.push(workload(Kind::Deployment, 0, own())),
        Nothing => {}
        NotRead => blind.push(Kind::DaemonSet),
    }
    match registration {
        Alive | Trace => rows.push(Row::CsiDriver(Box::new(CsiDriver {
            metadata: metadata(DRIVER),
            attach_required: true,
        }))),
        Nothing => {}
        NotRead => blind.push(Kind::CsiNode),
    }
    match action {
        Alive => rows.push(event("disk.csi.example.com_host_0d9e5b6c", HOUR / 2)),
        Trace => rows.push(event("disk.csi.example.com_host_0d9e5b6c", 2 * HOUR)),
        Nothing => {}
        NotRead => blind.push(Kind::Event),
    }
    (rows, blind)
}

#[test]
fn every_combination_of_probes() {
    let mut absent = 0;
    // An old Lease and an old action are no trace: see below for what they mean.
    for lease_finds in [Alive, Nothing, NotRead] {
        for pods in [Alive, Trace, Nothing, NotRead] {
            for workloads in [Trace, Nothing, NotRead] {
                for registration in [Trace, Nothing, NotRead] {
                    for action in [Alive, Nothing, NotRead] {
                        let scene = [lease_finds, pods, workloads, registration, action];
                        absent += every_word_about(scene);
                    }
                }
            }
        }
    }
    // Two scenes without a fresh sign, registered or not, each declared under three records, and one
    // that is negative throughout and was seen so for long enough.
    assert_eq!(absent, 2 * 3 + 1);
}

/// Checks one scene under every setting, and returns how often the state was "absent".
fn every_word_about(scene: [Finds; 5]) -> usize {
    let any = |what| scene.contains(&what);
    let [lease, pods, workloads, _, action] = scene;
    let mut absent = 0;
    for declared in [false, true] {
        for seen_so in [None, Some(HOUR), Some(2 * DAY)] {
            let (mut rows, blind) = self::scene(scene);
            rows.extend(seen_so.map(|age| sighting(ControllerRole::Provisioner, DRIVER, age)));
            let cluster = cluster(rows, &blind);
            let settings = if declared { declaring(DRIVER) } else { Settings::default() };
            let state = state_of(&cluster, &settings, ControllerRole::Provisioner, DRIVER);
            // It acted, and was scaled to zero since.
            let ended = pods == Nothing && workloads == Trace;
            // It acted out of sight, or the user knows better.
            let disputed = declared && pods == Nothing && workloads == Nothing && lease != Alive;
            let acts = action == Alive && !ended;
            let alive = lease == Alive || pods == Alive || acts && !disputed;
            let expected = if alive {
                Liveness::Alive
            } else if any(NotRead) {
                Liveness::Unknown
            } else if declared && pods == Nothing && workloads == Nothing && !acts
                || scene == [Nothing; 5] && seen_so == Some(2 * DAY)
            {
                Liveness::Absent
            } else {
                Liveness::Unknown
            };
            let case = format!("{scene:?} declared {declared} seen so {seen_so:?}: {state:?}");
            assert_eq!(state.liveness, expected, "{case}");
            assert_eq!(state.unseen.is_some(), !alive && any(NotRead), "{case}");
            assert_eq!(state.all_negative, scene == [Nothing; 5], "{case}");
            assert_eq!(state.probes.len(), 5, "{case}");
            absent += usize::from(expected == Liveness::Absent);
        }
    }
    absent
}

#[test]
fn an_old_sign_of_life_is_no_trace_but_starts_the_wait_anew() {
    for (last_sign, seen_so, expected) in [
        (9 * DAY, Some(2 * DAY), Liveness::Absent),
        // It had a sign of life after an earlier run found no trace: reinstalled, and removed
        // again.
        (HOUR, Some(2 * DAY), Liveness::Unknown),
        (2 * DAY, Some(9 * DAY), Liveness::Absent),
        (9 * DAY, None, Liveness::Unknown),
    ] {
        let old = lease("disk-csi-example-com", "storage", ago(last_sign), Some("a"));
        let said = event("disk.csi.example.com_host_0d9e5b6c", last_sign + HOUR);
        for sign in [vec![old], vec![said.clone()]] {
            let rows = sign.into_iter().chain([csi_volume(DRIVER)]);
            let sightings = seen_so.map(|age| sighting(ControllerRole::Provisioner, DRIVER, age));
            let cluster = cluster(rows.chain(sightings), &[]);
            let state =
                state_of(&cluster, &Settings::default(), ControllerRole::Provisioner, DRIVER);
            assert_eq!(state.liveness, expected, "{last_sign} {seen_so:?}: {state:?}");
            assert!(state.all_negative);
        }
    }
}

#[test]
fn a_lease_whose_holder_let_go_is_not_held() {
    for (holder, renewed, expected) in [
        (Some("a"), 44, Liveness::Alive),
        (Some("a"), 46, Liveness::Unknown),
        (Some(""), 5, Liveness::Unknown),
        (None, 5, Liveness::Unknown),
    ] {
        let lease = lease("disk-csi-example-com", "any", ago(renewed), holder);
        let cluster = cluster([csi_volume(DRIVER), lease], &[]);
        let state = state_of(&cluster, &Settings::default(), ControllerRole::Provisioner, DRIVER);
        assert_eq!(state.liveness, expected, "{holder:?} {renewed}");
    }
}

#[test]
fn a_pod_that_does_not_say_whose_it_is_may_be_anybodys() {
    let image = "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0";
    for (mentions, expected) in [
        (&["--drivername=disk.csi.example.com"][..], Liveness::Alive),
        (&["/var/lib/kubelet/plugins/disk.csi.example.com"], Liveness::Alive),
        (&["--drivername=other.csi.example.com"], Liveness::Absent),
        (&["/var/lib/kubelet/plugins/other.csi.example.com/csi.sock"], Liveness::Absent),
        (&["--drivername=$(DRIVER_NAME)"], Liveness::Unknown),
        (&["/var/lib/kubelet/plugins/kubernetes.io"], Liveness::Unknown),
        (&["--csi-address=$(ADDRESS)"], Liveness::Unknown),
        (&[], Liveness::Unknown),
    ] {
        let cluster = cluster([csi_volume(DRIVER), pod(true, sidecars(image, mentions))], &[]);
        let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
        assert_eq!(state.liveness, expected, "{mentions:?}: {state:?}");
    }
}

#[test]
fn a_provisioner_that_is_not_csi_is_never_absent() {
    let local_path = "rancher.io/local-path";
    let row = volume(local_path, VolumeSource::HostPath("/opt/pvc-1".into()));
    let rows =
        [Row::Volume(Box::new(row)), sighting(ControllerRole::Provisioner, local_path, 2 * DAY)];
    let cluster = cluster(rows, &[]);
    for settings in [Settings::default(), declaring(local_path)] {
        let state = state_of(&cluster, &settings, ControllerRole::Provisioner, local_path);
        assert_eq!(state.liveness, Liveness::Unknown, "{state:?}");
    }
}

#[test]
fn a_driver_that_needs_no_attacher_is_no_sign_of_one() {
    for (attach_required, expected) in [(false, Liveness::Absent), (true, Liveness::Unknown)] {
        let driver = CsiDriver { metadata: metadata(DRIVER), attach_required };
        let seen_so = |role| sighting(role, DRIVER, 2 * DAY);
        let rows = [
            csi_volume(DRIVER),
            Row::CsiDriver(Box::new(driver)),
            seen_so(ControllerRole::Attacher),
            seen_so(ControllerRole::Provisioner),
        ];
        let cluster = cluster(rows, &[]);
        let of = |role| state_of(&cluster, &Settings::default(), role, DRIVER);
        let state = of(ControllerRole::Attacher);
        assert_eq!(state.liveness, expected, "{state:?}");
        let provisioner = of(ControllerRole::Provisioner);
        assert_eq!(provisioner.liveness, Liveness::Unknown, "{provisioner:?}");
    }
}

#[test]
fn a_controller_manager_without_a_lease_is_never_absent_by_itself() {
    let old = || lease("kube-controller-manager", "kube-system", ago(9 * DAY), Some("a"));
    let foreign = lease("kube-controller-manager", "elsewhere", ago(5), Some("a"));
    let fresh = lease("kube-controller-manager", "kube-system", ago(5), Some("a"));
    let long_ago = || sighting(ControllerRole::ControllerManager, "", 2 * DAY);
    let manager = "kube-controller-manager";
    for (rows, declared, expected) in [
        (vec![fresh, long_ago()], true, Liveness::Alive),
        (vec![old(), long_ago()], false, Liveness::Absent),
        (vec![old()], false, Liveness::Unknown),
        (vec![long_ago()], false, Liveness::Unknown),
        (vec![foreign, long_ago()], false, Liveness::Unknown),
        (vec![], true, Liveness::Absent),
        (vec![old(), long_ago(), event("persistentvolume-controller", 60)], true, Liveness::Alive),
    ] {
        let settings = if declared { declaring(manager) } else { Settings::default() };
        let case = format!("{rows:?} {declared}");
        let state = state_of(&cluster(rows, &[]), &settings, ControllerRole::ControllerManager, "");
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
    }
}

#[test]
fn an_old_lease_proves_nothing_while_others_of_its_name_may_be_unseen() {
    for (role, name) in [
        (ControllerRole::Provisioner, "disk-csi-example-com"),
        (ControllerRole::Attacher, "external-attacher-leader-disk-csi-example-com"),
    ] {
        let old = lease(name, "storage", ago(9 * DAY), Some("a"));
        let cluster = cluster([csi_volume(DRIVER), old], &[Kind::Lease]);
        let state = state_of(&cluster, &declaring(DRIVER), role, DRIVER);
        assert_eq!(state.liveness, Liveness::Unknown, "{state:?}");
        assert!(state.unseen.is_some() && !state.all_negative);
    }
}

#[test]
fn a_lease_of_a_time_that_has_not_come_says_nothing_of_another() {
    let name = "disk-csi-example-com";
    let fresh = || lease(name, "storage", ago(5), Some("a"));
    let old = || lease(name, "storage", ago(9 * DAY), Some("a"));
    for ahead in [ago(-HOUR / 2), Time::from_timestamp(253_370_764_800, 0).expect("year 9999")] {
        let odd = || lease(name, "apart", ahead, Some("a"));
        for (rows, expected) in [
            (vec![fresh(), odd()], Liveness::Alive),
            (vec![odd(), fresh()], Liveness::Alive),
            // It proves no absence: the controller may be where it was written.
            (vec![old(), odd()], Liveness::Unknown),
            (vec![odd()], Liveness::Unknown),
        ] {
            let case = format!("{rows:?}");
            let rows = rows.into_iter().chain([csi_volume(DRIVER)]);
            let cluster = cluster(rows, &[]);
            let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
            assert_eq!(state.liveness, expected, "{case}: {state:?}");
        }
        let cluster = cluster([csi_volume(DRIVER), odd(), old()], &[]);
        let state = state_of(&cluster, &Settings::default(), ControllerRole::Provisioner, DRIVER);
        let stopped = state.stopped.expect("its other Lease was not renewed");
        assert!(stopped.contains("lease/storage/"), "{stopped}");
    }
}

#[test]
fn what_a_wrong_clock_stamped_is_neither_life_nor_death() {
    let of_tomorrow = lease("disk-csi-example-com", "storage", ago(-DAY), Some("a"));
    let ahead = lease("disk-csi-example-com", "storage", ago(-30), Some("a"));
    let said = event("disk.csi.example.com_host_0d9e5b6c", -DAY);
    for (row, expected) in
        [(of_tomorrow, Liveness::Unknown), (ahead, Liveness::Alive), (said, Liveness::Unknown)]
    {
        let cluster = cluster([csi_volume(DRIVER), row], &[]);
        let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
        assert_eq!(state.liveness, expected, "{state:?}");
        assert!(!state.all_negative);
    }
}

#[test]
fn without_a_clock_nothing_is_alive_or_absent() {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    let fresh = lease("disk-csi-example-com", "storage", ago(5), Some("a"));
    for row in [csi_volume(DRIVER), fresh] {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
    assert_eq!(state.liveness, Liveness::Unknown, "{state:?}");
}

#[test]
fn a_pod_with_more_provisioners_than_named_drivers_may_serve_anybody() {
    let image = "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0";
    let mut both = sidecars(image, &["--drivername=other.csi.example.com"]);
    both.containers = [both.containers[0].clone(), both.containers[0].clone()].into();
    let cluster = cluster([csi_volume(DRIVER), pod(true, both)], &[]);
    let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
    assert_eq!(state.liveness, Liveness::Unknown, "{state:?}");
}

#[test]
fn an_image_of_an_unusual_name_keeps_its_driver_from_being_absent_but_proves_no_life() {
    let image = "mirror.example.com/csi-provisioner-arm64:v6.3.0";
    let pod = pod(true, sidecars(image, &["--drivername=disk.csi.example.com"]));
    let cluster = cluster([csi_volume(DRIVER), pod], &[]);
    let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
    assert_eq!(state.liveness, Liveness::Unknown, "{state:?}");
}

#[test]
fn a_pod_that_names_another_registered_driver_in_any_way_is_that_ones() {
    let image = "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0";
    let other = "other.csi.example.com";
    for (mention, rows, expected) in [
        ("--csi-address=/run/other.csi.example.com/csi.sock", vec![registered(other)], true),
        ("--csi-address=/run/other.csi.example.com/csi.sock", vec![on_a_node(other)], true),
        ("--extra=name:other.csi.example.com,a", vec![registered(other)], true),
        // No driver of that name is registered: the word may be anything.
        ("--csi-address=/run/other.csi.example.com/csi.sock", vec![], false),
        ("--csi-address=/run/my-other.csi.example.com/csi.sock", vec![registered(other)], false),
        // A word without a dot is too common to be the name of a driver.
        ("--namespace=nfs", vec![registered("nfs")], false),
    ] {
        let case = format!("{mention} {rows:?}");
        let pod = pod(true, sidecars(image, &[mention]));
        let cluster = cluster([csi_volume(DRIVER), pod].into_iter().chain(rows), &[]);
        let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
        let liveness = if expected { Liveness::Absent } else { Liveness::Unknown };
        assert_eq!(state.liveness, liveness, "{case}: {state:?}");
    }
    // Two sidecars, one of which belongs to the other driver.
    let mut both = sidecars(image, &["--csi-address=/run/other.csi.example.com/csi.sock"]);
    both.containers = [both.containers[0].clone(), both.containers[0].clone()].into();
    let cluster = cluster([csi_volume(DRIVER), pod(true, both), registered(other)], &[]);
    let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
    assert_eq!(state.liveness, Liveness::Unknown, "{state:?}");
}

#[test]
fn a_sidecar_whose_image_says_nothing_is_known_by_its_name() {
    use ControllerRole::{Attacher, Provisioner};
    let own = &["--drivername=disk.csi.example.com"][..];
    for (role, container, mentions, ready, expected) in [
        (Provisioner, "csi-provisioner", own, true, Liveness::Alive),
        (Provisioner, "csi-provisioner", own, false, Liveness::Unknown),
        (Provisioner, "csi-provisioner", &[], true, Liveness::Unknown),
        (
            Provisioner,
            "csi-provisioner",
            &["--drivername=other.example.com"],
            true,
            Liveness::Absent,
        ),
        (Provisioner, "ebs-csi-provisioner", own, true, Liveness::Alive),
        (Provisioner, "csi-attacher", own, true, Liveness::Absent),
        (Provisioner, "csi-provisioner-kube-rbac-proxy", own, true, Liveness::Absent),
        (Attacher, "csi-attacher", own, true, Liveness::Alive),
        (Attacher, "csi-attacher", &[], false, Liveness::Unknown),
    ] {
        let row = pod(ready, nameless(container, mentions));
        let cluster = cluster([csi_volume(DRIVER), row], &[]);
        let state = state_of(&cluster, &declaring(DRIVER), role, DRIVER);
        assert_eq!(state.liveness, expected, "{container} {mentions:?} {ready}: {state:?}");
    }
    let row = workload(Kind::Deployment, 0, nameless("csi-provisioner", own));
    let cluster = cluster([csi_volume(DRIVER), row], &[]);
    let state = state_of(&cluster, &declaring(DRIVER), Provisioner, DRIVER);
    assert_eq!(state.liveness, Liveness::Unknown, "{state:?}");
}

#[test]
fn whoever_is_alive_is_so_by_evidence() {
    let image = "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0";
    let own = || sidecars(image, &["--drivername=disk.csi.example.com"]);
    let mut written = volume(
        DRIVER,
        VolumeSource::Csi {
            driver: DRIVER.into(),
            handle: "vol-1".into(),
            provisioner_identity: true,
        },
    );
    let by = |manager: &str, seconds| FieldOwner {
        field: ManagedField::Finalizer("f".into()),
        manager: manager.into(),
        time: Some(ago(seconds)),
    };
    written.metadata.managers =
        [by("my-csi-provisioner", 70), by("csi-provisioner", 900), by("kubectl", 2)].into();
    let fresh = || lease("disk-csi-example-com", "storage", ago(5), Some("a"));
    for (rows, expected) in [
        (
            vec![fresh(), pod(true, own())],
            "running: lease/storage/disk-csi-example-com has not expired: last renewed at \
             2027-01-15T07:59:55Z by a",
        ),
        (vec![pod(true, own())], "running: po/storage/controller-0 is running and ready"),
        (
            vec![Row::Volume(Box::new(written))],
            "running: it wrote to one of its volumes: pv/pv-1, as my-csi-provisioner, at \
             2027-01-15T07:58:50Z",
        ),
        (
            vec![event("disk.csi.example.com_host_0d9e5b6c", 60)],
            "running: it wrote an Event: Provisioning about pv/pv-9, at 2027-01-15T07:59:00Z",
        ),
    ] {
        let case = format!("{rows:?}");
        let cluster = cluster([csi_volume(DRIVER)].into_iter().chain(rows), &[]);
        let state = state_of(&cluster, &Settings::default(), ControllerRole::Provisioner, DRIVER);
        assert_eq!(state.describe(), expected, "{case}");
    }
}

#[test]
fn a_lease_says_when_it_was_renewed_last() {
    for (row, expected) in [
        (
            lease("disk-csi-example-com", "storage", ago(40), Some("a")),
            "lease/storage/disk-csi-example-com has not expired: last renewed at 2027-01-15T07:59:20Z by a",
        ),
        (
            lease("disk-csi-example-com", "storage", ago(HOUR), Some("a")),
            "lease/storage/disk-csi-example-com has expired: last renewed at 2027-01-15T07:00:00Z by a",
        ),
        (
            lease("disk-csi-example-com", "storage", ago(5), Some("")),
            "lease/storage/disk-csi-example-com has no holder: last renewed at 2027-01-15T07:59:55Z",
        ),
        (
            lease("disk-csi-example-com", "storage", ago(-DAY), Some("a")),
            "lease/storage/disk-csi-example-com was renewed at a time that may be in the future: last renewed at 2027-01-16T08:00:00Z by a",
        ),
    ] {
        let cluster = cluster([csi_volume(DRIVER), row], &[]);
        let state = state_of(&cluster, &Settings::default(), ControllerRole::Provisioner, DRIVER);
        assert_eq!(state.probes[0].describe(), expected);
    }
}

#[test]
fn the_latest_evidence_is_no_other_state() {
    let of = |seconds| {
        let row = lease("disk-csi-example-com", "storage", ago(seconds), Some("a"));
        state_of(
            &cluster([csi_volume(DRIVER), row], &[]),
            &Settings::default(),
            ControllerRole::Provisioner,
            DRIVER,
        )
    };
    assert_ne!(of(5), of(6));
    assert!(of(5).agrees_with(&of(6)), "merely renewed");
    assert!(!of(5).agrees_with(&of(HOUR)), "expired");
}

mod served;
mod stopped;

#[test]
fn a_provisioner_is_scaled_to_zero_when_nothing_else_runs_it() {
    let image = "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0";
    let own = || sidecars(image, &["--drivername=disk.csi.example.com"]);
    let others = sidecars(image, &["--drivername=other.csi.example.com"]);
    let scaled = |kind, replicas| workload(kind, replicas, own());
    for (rows, expected) in [
        (vec![scaled(Kind::Deployment, 0)], Some("deploy/storage/controller")),
        (vec![scaled(Kind::StatefulSet, 0)], Some("sts/storage/controller")),
        (
            vec![scaled(Kind::ReplicaSet, 0), scaled(Kind::Deployment, 0)],
            Some("deploy/storage/controller"),
        ),
        (vec![scaled(Kind::Deployment, 1)], None),
        (vec![scaled(Kind::StatefulSet, 0), scaled(Kind::Deployment, 1)], None),
        (vec![scaled(Kind::Deployment, 0), scaled(Kind::ReplicaSet, 1)], None),
        (vec![scaled(Kind::ReplicaSet, 0)], None),
        (vec![workload(Kind::Deployment, 0, others)], None),
        (vec![], None),
    ] {
        let case = format!("{rows:?}");
        let cluster = cluster([csi_volume(DRIVER)].into_iter().chain(rows), &[]);
        let state = state_of(&cluster, &Settings::default(), ControllerRole::Provisioner, DRIVER);
        let scaled = state.scaled_to_zero.map(|it| it.to_string());
        assert_eq!(scaled.as_deref(), expected, "{case}");
    }
}
