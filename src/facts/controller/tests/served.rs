//! Which driver a container serves that does not say so in its arguments.

use super::*;

const NFS: &str = "nfs.csi.k8s.io";
const LOCAL_PATH: &str = "rancher.io/local-path";
const PROVISIONER: &str = "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0";

fn of(driver: &str, rows: Vec<Row>, blind: &[Kind]) -> ControllerState {
    let cluster = cluster(rows, blind);
    state_of(&cluster, &Settings::default(), ControllerRole::Provisioner, driver)
}

/// A ready pod with these sidecars, of this Deployment.
fn pod_of(deployment: &str, sidecars: Sidecars) -> Row {
    let Row::Pod(mut row) = pod(true, sidecars) else { unreachable!("it makes a pod") };
    row.controller = Some(Box::new(OwnerReference {
        api_version: "apps/v1".into(),
        kind: "ReplicaSet".into(),
        name: format!("{deployment}-7d9f8c6b5d").into(),
        uid: None,
        controller: true,
        blocks_deletion: true,
    }));
    Row::Pod(row)
}

/// csi-provisioner without a name, beside a container with this image.
fn beside(image: &str, mentions: &[&str]) -> Sidecars {
    let mut sidecars = sidecars(PROVISIONER, mentions);
    sidecars.images = [image.into()].into();
    sidecars
}

#[test]
fn a_provisioner_in_the_workload_of_a_family_or_beside_its_controller_is_the_familys() {
    let socket = "--csi-address=/csi/csi.sock";
    for (driver, row, expected) in [
        (NFS, pod_of("csi-nfs-controller", sidecars(PROVISIONER, &[socket])), Liveness::Alive),
        (
            NFS,
            pod_of("x", beside("registry.k8s.io/sig-storage/nfsplugin:v4.13.4", &[])),
            Liveness::Alive,
        ),
        (NFS, pod_of("x", beside("example.com/other:v1", &[])), Liveness::Unknown),
        (NFS, pod_of("x", sidecars(PROVISIONER, &[socket])), Liveness::Unknown),
        // It says that it serves another one.
        (
            NFS,
            pod_of("csi-nfs-controller", sidecars(PROVISIONER, &["--drivername=my.nfs.example"])),
            Liveness::Unknown,
        ),
        // Longhorn's Deployment has the name of the sidecar, as that of anybody may have.
        (
            "driver.longhorn.io",
            pod_of("csi-provisioner", sidecars(PROVISIONER, &[socket])),
            Liveness::Unknown,
        ),
        // Rook gives one code several names.
        (
            "a.rbd.csi.ceph.com",
            pod_of("csi-rbdplugin-provisioner", sidecars(PROVISIONER, &[socket])),
            Liveness::Unknown,
        ),
    ] {
        let state = of(driver, vec![csi_volume(driver), row], &[]);
        assert_eq!(state.liveness, expected, "{driver}: {state:?}");
    }
}

#[test]
fn a_provisioner_of_another_family_serves_nobody_else() {
    for (row, expected) in [
        (pod_of("csi-nfs-controller", sidecars(PROVISIONER, &[])), Liveness::Absent),
        (pod_of("x", beside("nfsplugin:v4.13.4", &[])), Liveness::Absent),
        (pod_of("x", sidecars(PROVISIONER, &[])), Liveness::Unknown),
    ] {
        let case = format!("{row:?}");
        let cluster = cluster([csi_volume(DRIVER), row], &[]);
        let state = state_of(&cluster, &declaring(DRIVER), ControllerRole::Provisioner, DRIVER);
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
    }
}

#[test]
fn a_provisioner_beside_the_one_node_plugin_of_its_namespace_is_that_drivers() {
    let plugin = |name: &str, namespace: &str, mention: &str| {
        let row =
            workload(Kind::DaemonSet, 1, sidecars("csi-node-driver-registrar:v2", &[mention]));
        let Row::Workload(mut row) = row else { unreachable!("it makes a workload") };
        (row.name, row.namespace) = (name.into(), namespace.into());
        Row::Workload(row)
    };
    let path = |driver: &str| {
        format!("--kubelet-registration-path=/var/lib/kubelet/plugins/{driver}/csi.sock")
    };
    let (own, other) = (path(DRIVER), path("other.csi.example.com"));
    for (plugins, expected) in [
        (vec![plugin("a", "storage", &own)], Liveness::Alive),
        (vec![plugin("a", "storage", &own), plugin("b", "storage", &own)], Liveness::Alive),
        (vec![plugin("a", "elsewhere", &own)], Liveness::Unknown),
        (vec![plugin("a", "storage", &other)], Liveness::Unknown),
        (vec![plugin("a", "storage", &own), plugin("b", "storage", &other)], Liveness::Unknown),
        (vec![plugin("a", "storage", &own), plugin("b", "storage", "--v=5")], Liveness::Unknown),
        (vec![plugin("b", "storage", "--v=5")], Liveness::Unknown),
    ] {
        let case = format!("{plugins:?}");
        let rows = plugins.into_iter().chain([
            csi_volume(DRIVER),
            pod(true, sidecars(PROVISIONER, &["--csi-address=/csi/csi.sock"])),
        ]);
        let state = of(DRIVER, rows.collect(), &[]);
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
    }
}

fn local_path(name: &str) -> Row {
    Row::Volume(Box::new(volume(name, VolumeSource::HostPath("/opt/pvc-1".into()))))
}

#[test]
fn a_provisioner_that_is_not_csi_is_alive_where_its_configured_name_is_that_of_the_volume() {
    let image = "rancher/local-path-provisioner:v0.0.30";
    let with = |args: &[&str]| {
        let mut own = sidecars(image, args);
        own.containers[0].args = args.iter().map(|it| Text::from(*it)).collect();
        own
    };
    for (name, row, expected) in [
        (LOCAL_PATH, pod(true, with(&[])), Liveness::Alive),
        (LOCAL_PATH, pod(false, with(&[])), Liveness::Unknown),
        (LOCAL_PATH, pod(true, with(&["--provisioner-name=example.com/fast"])), Liveness::Unknown),
        (LOCAL_PATH, pod(true, with(&["--provisioner-name=$(NAME)"])), Liveness::Unknown),
        (LOCAL_PATH, pod(true, sidecars(PROVISIONER, &[])), Liveness::Unknown),
        (
            "example.com/fast",
            pod(true, with(&["--provisioner-name=example.com/fast"])),
            Liveness::Alive,
        ),
        (
            "example.com/fast",
            pod(true, with(&["--provisioner-name", "example.com/fast"])),
            Liveness::Alive,
        ),
        ("example.com/fast", pod(true, with(&[])), Liveness::Unknown),
        (LOCAL_PATH, event("rancher.io/local-path_host_0d9e5b6c", 60), Liveness::Alive),
        (LOCAL_PATH, lease("rancher.io-local-path", "storage", ago(5), Some("a")), Liveness::Alive),
    ] {
        let case = format!("{name} {row:?}");
        let state = of(name, vec![local_path(name), row], &[]);
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
    }
    let idle =
        of(LOCAL_PATH, vec![local_path(LOCAL_PATH), workload(Kind::Deployment, 0, with(&[]))], &[]);
    assert_eq!(idle.stopped.as_deref(), Some("deploy/storage/controller has no replicas"));
    assert_eq!(idle.because, "deploy/storage/controller has no replicas");
}

#[test]
fn another_lock_than_a_lease_is_believed_where_no_lease_is_known() {
    let with = |arg: &str| {
        let args = &["--provisioner-name=example.com/fast", arg];
        let mut own = sidecars("rancher/local-path-provisioner:v0.0.30", args);
        own.containers[0].args = args.iter().map(|it| Text::from(*it)).collect();
        pod(true, own)
    };
    let (name, old) = ("example.com/fast", || lease("example.com-fast", "s", ago(HOUR), Some("a")));
    let elects = "ENABLE_LEADER_ELECTION=true";
    for (rows, blind, expected) in [
        (vec![with("--v=5"), old()], &[][..], Liveness::Alive),
        (vec![with(elects)], &[], Liveness::Alive),
        (vec![with(elects), old()], &[], Liveness::Unknown),
        (vec![with(elects)], &[Kind::Lease], Liveness::Unknown),
    ] {
        let case = format!("{rows:?} {blind:?}");
        let rows = rows.into_iter().chain([local_path(name)]).collect();
        let state = of(name, rows, blind);
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
    }
}

#[test]
fn under_the_word_a_family_that_nothing_hides_is_gone_with_its_pods() {
    for (driver, expected) in [
        (NFS, Liveness::Absent),
        // EKS hides one, and of the other nothing is known.
        ("ebs.csi.eks.amazonaws.com", Liveness::Unknown),
        (DRIVER, Liveness::Unknown),
    ] {
        let said = event(&format!("{driver}_host_0d9e5b6c"), 12 * 60);
        let cluster = cluster([csi_volume(driver), said], &[]);
        let of =
            |settings: &Settings| state_of(&cluster, settings, ControllerRole::Provisioner, driver);
        let (state, undeclared) = (of(&declaring(driver)), of(&Settings::default()));
        assert_eq!(state.liveness, expected, "{driver}: {state:?}");
        assert_eq!(undeclared.liveness, Liveness::Alive, "{driver}: {undeclared:?}");
    }
}
