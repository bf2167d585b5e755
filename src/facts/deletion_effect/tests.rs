use std::cell::RefCell;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::model::{
    BackendKey, Kind, Lease, Metadata, Row, Server, Settings, Text, Time, VolumeSource,
};

const DRIVER: &str = "d.example";

fn volume(
    policy: &ReclaimPolicy,
    source: VolumeSource,
    by: Option<&str>,
    finalizers: &[&str],
    deleting: bool,
) -> Volume {
    Volume {
        metadata: Metadata {
            name: "v".into(),
            finalizers: finalizers.iter().map(|it| Text::from(*it)).collect(),
            deleting: deleting.then(Time::default),
            ..Metadata::default()
        },
        reclaim_policy: policy.clone(),
        source,
        backend: Some(BackendKey { driver: DRIVER.into(), handle: "h".into() }),
        provisioned_by: by.map(Text::from),
        bound_by_controller: false,
        ..Volume::sample()
    }
}

fn csi() -> VolumeSource {
    VolumeSource::Csi { driver: DRIVER.into(), handle: "h".into(), provisioner_identity: true }
}

/// An in-tree plugin that became a CSI driver.
const EBS: &str = "kubernetes.io/aws-ebs";

fn data() -> VolumeSource {
    VolumeSource::HostPath("/data/x".into())
}

fn of(field: &str) -> VolumeSource {
    VolumeSource::InTree(field.into())
}

/// Whether the data may be lost afterwards.
fn may_destroy(effect: DataEffect) -> bool {
    match effect {
        DataEffect::Destroyed
        | DataEffect::Waiting
        | DataEffect::Scrubbed
        | DataEffect::Unknown => true,
        DataEffect::Released
        | DataEffect::Forgotten
        | DataEffect::Leaked
        | DataEffect::Failed
        | DataEffect::Unaffected => false,
    }
}

/// A cluster with a provisioner that renews its Lease, or with none.
fn cluster(alive: bool, minor: u32) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::default());
    cluster.apply(Change::Clock(Time::default()), &mut dirty);
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_listed()) {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    let server = Server { version: Some((1, minor)), ..Server::default() };
    cluster.apply(Change::Server(server), &mut dirty);
    if alive {
        let lease = Lease {
            read: crate::model::LeaseMoment::default(),
            metadata: Metadata { name: "d-example".into(), ..Metadata::default() },
            namespace: "storage".into(),
            holder: Some("somebody".into()),
            renewed: Some(Time::default()),
            duration_seconds: Some(15),
        };
        cluster.apply(Change::Seen(Row::Lease(Box::new(lease))), &mut dirty);
    }
    cluster
}

#[test]
fn the_policy_at_the_moment_decides() {
    use ReclaimPolicy::{Delete, Recycle, Retain};
    const HOST: &str = "kubernetes.io/host-path";
    let host = || VolumeSource::HostPath("/tmp/a".into());
    let odd = ReclaimPolicy::Other("Odd".into());
    let (ext, own) = (&[EXTERNAL_PROVISIONER][..], &[IN_TREE][..]);
    for (policy, source, by, finalizers, deleting, alive, minor, fate) in [
        (&Retain, csi(), Some(DRIVER), &[][..], false, true, 36, DataEffect::Released),
        (&Retain, csi(), Some(DRIVER), &[], true, true, 36, DataEffect::Forgotten),
        (&Retain, csi(), Some(DRIVER), ext, true, true, 36, DataEffect::Forgotten),
        (&Recycle, host(), None, &[], false, true, 36, DataEffect::Scrubbed),
        (&odd, csi(), Some(DRIVER), &[], false, true, 36, DataEffect::Failed),
        (&Delete, csi(), Some(DRIVER), ext, false, true, 36, DataEffect::Destroyed),
        (&Delete, csi(), Some(DRIVER), &[], false, true, 36, DataEffect::Destroyed),
        (&Delete, csi(), Some(DRIVER), ext, true, true, 36, DataEffect::Destroyed),
        (&Delete, csi(), Some(DRIVER), &[], true, true, 36, DataEffect::Leaked),
        (&Delete, csi(), Some(DRIVER), own, true, true, 36, DataEffect::Leaked),
        // No trace of the driver was found; it may be installed later.
        (&Delete, csi(), Some(DRIVER), ext, false, false, 36, DataEffect::Destroyed),
        (&Delete, csi(), None, ext, false, true, 36, DataEffect::Unknown),
        (
            &Delete,
            host(),
            Some("rancher.io/local-path"),
            &[],
            false,
            true,
            36,
            DataEffect::Destroyed,
        ),
        (&Delete, host(), Some(HOST), own, false, true, 36, DataEffect::Destroyed),
        (&Delete, host(), Some(HOST), own, true, true, 36, DataEffect::Destroyed),
        (&Delete, host(), Some(HOST), &[], true, true, 36, DataEffect::Waiting),
        (&Delete, host(), Some(HOST), &[], true, true, 32, DataEffect::Leaked),
        (&Delete, host(), Some("kubernetes.io/rbd"), own, false, true, 36, DataEffect::Failed),
        // The deleter of hostPath takes paths under /tmp.
        (&Delete, host(), None, &[], false, true, 36, DataEffect::Destroyed),
        (&Delete, data(), None, &[], false, true, 36, DataEffect::Failed),
        (&Delete, of("nfs"), None, &[], false, true, 36, DataEffect::Failed),
        (&Delete, of("rbd"), None, &[], false, true, 30, DataEffect::Destroyed),
        (&Delete, of("rbd"), None, &[], false, true, 31, DataEffect::Failed),
        (&Delete, of("awsElasticBlockStore"), None, &[], false, true, 24, DataEffect::Destroyed),
        (&Delete, of("awsElasticBlockStore"), None, &[], false, true, 26, DataEffect::Unknown),
        // In-tree volumes that are not migrated, or may not be: no finalizer of csi-provisioner.
        (&Delete, of("x"), Some(EBS), &[], false, true, 24, DataEffect::Destroyed),
        (&Delete, of("x"), Some(EBS), &[], true, true, 24, DataEffect::Leaked),
        (&Delete, of("x"), Some(EBS), own, true, true, 25, DataEffect::Leaked),
    ] {
        let cluster = cluster(alive, minor);
        let (settings, facts) = (Settings::default(), RefCell::default());
        let cx = Cx::new(&cluster, &settings, &facts);
        let volume = volume(policy, source, by, finalizers, deleting);
        let got = when_claim_is_deleted(&cx, &volume);
        let alone = data_effect_without_claim(&cx, &volume);
        assert!(alone == fate || may_destroy(alone), "{policy} by {by:?}: {alone:?}");
        assert!(may_destroy(alone) || !may_destroy(fate), "{policy} by {by:?}: {alone:?}");
        assert_eq!(
            got.data, fate,
            "{policy} by {by:?} {finalizers:?} deleting {deleting} alive {alive} 1.{minor}: {}",
            got.because
        );
    }
}

#[test]
fn deleting_the_object_leaks_unless_somebody_holds_it() {
    use ReclaimPolicy::{Delete, Retain};
    for (policy, phase, finalizers, fate) in [
        (&Retain, Phase::Bound, &[PV_PROTECTION][..], DataEffect::Forgotten),
        (&Delete, Phase::Bound, &[PV_PROTECTION, EXTERNAL_PROVISIONER], DataEffect::Destroyed),
        (&Delete, Phase::Bound, &[PV_PROTECTION], DataEffect::Leaked),
        (&Delete, Phase::Bound, &[], DataEffect::Leaked),
        (&Retain, Phase::Bound, &[], DataEffect::Forgotten),
        (&Delete, Phase::Released, &[EXTERNAL_PROVISIONER], DataEffect::Waiting),
        (&Delete, Phase::Released, &[PV_PROTECTION], DataEffect::Leaked),
        (&Retain, Phase::Released, &[PV_PROTECTION], DataEffect::Forgotten),
        (&Delete, Phase::Available, &[PV_PROTECTION], DataEffect::Leaked),
        (&Retain, Phase::Available, &[PV_PROTECTION], DataEffect::Forgotten),
        (&Retain, Phase::Other("Odd".into()), &[], DataEffect::Unknown),
    ] {
        let cluster = cluster(true, 36);
        let (settings, facts) = (Settings::default(), RefCell::default());
        let cx = Cx::new(&cluster, &settings, &facts);
        let volume = Volume { phase, ..volume(policy, csi(), Some(DRIVER), finalizers, false) };
        let got = when_volume_is_deleted(&cx, &volume);
        assert_eq!(got.data, fate, "{policy} {} {finalizers:?}: {}", volume.phase, got.because);
    }
}

#[test]
fn plugins_are_migrated_from_their_versions_on() {
    let of_plugin = |by: &str| volume(&ReclaimPolicy::Delete, of("x"), Some(by), &[], false);
    let server = |minor| Server { version: Some((1, minor)), ..Server::default() };
    for (plugin, minor, certain) in [
        ("kubernetes.io/aws-ebs", 24, Some(true)),
        ("kubernetes.io/aws-ebs", 25, None),
        ("kubernetes.io/azure-disk", 23, Some(true)),
        ("kubernetes.io/azure-disk", 24, None),
        ("kubernetes.io/vsphere-volume", 25, Some(true)),
        ("kubernetes.io/portworx-volume", 30, Some(true)),
        ("kubernetes.io/portworx-volume", 32, Some(false)),
        ("kubernetes.io/portworx-volume", 33, None),
        ("kubernetes.io/rbd", 20, None),
        ("ebs.csi.aws.com", 20, None),
    ] {
        let found = unmigrated(&of_plugin(plugin), Some(&server(minor)));
        assert_eq!(found.map(|it| it.certain), certain, "{plugin} 1.{minor}");
        let migrated = Volume { migrated_to: Some("driver".into()), ..of_plugin(plugin) };
        assert_eq!(unmigrated(&migrated, Some(&server(minor))), None);
    }
    let said = describe_owner(&of_plugin("kubernetes.io/gce-pd"), None);
    for part in ["kube-controller-manager", "csi-provisioner of pd.csi.storage.gke.io"] {
        assert!(said.contains(part), "{said}");
    }
}
