//! Effects of a deletion: what happens to a volume and its data when its claim or the volume itself
//! is deleted.
//!
//! The policy decides at the moment at which the claim is deleted (R-2644-7), with the finalizers
//! at that time: `pv_controller.go`, `reclaimVolume`, and the library behind csi-provisioner,
//! `shouldDelete` and `handleProtectionFinalizer`.

use super::{
    EXTERNAL_PROVISIONER, IN_TREE, Owner, PV_PROTECTION, always_honors_reclaim_policy, controller,
    expects_in_tree_finalizer, known_deletable, owner, provisioner::surely_deletes_static_volumes,
};
use crate::cluster::Cx;
use crate::model::{Liveness, Phase, ReclaimPolicy, Volume};

/// The effect on the data of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataEffect {
    /// The backend volume is deleted with everything on it.
    Destroyed,
    /// The backend volume remains, and the volume becomes Released.
    Released,
    /// The backend volume remains, and no volume references it any more.
    Forgotten,
    /// As `Forgotten`, although the policy is Delete: no controller will ever delete it.
    Leaked,
    /// The backend volume and the volume remain until a controller runs that can delete them.
    Waiting,
    /// The data is scrubbed, and any claim can bind the volume.
    Scrubbed,
    /// Reclaiming fails, and the volume becomes Failed; the backend volume remains.
    Failed,
    /// None: nothing changes.
    Unaffected,
    /// Unknown from what was read.
    Unknown,
}

/// The effect of a deletion on a volume, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionEffect {
    /// The effect on the data.
    pub data: DataEffect,
    /// One sentence without a full stop.
    pub because: String,
}

impl DataEffect {
    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Destroyed => "destroyed",
            Self::Released => "released",
            Self::Forgotten => "forgotten",
            Self::Leaked => "leaked",
            Self::Waiting => "destroyed-later",
            Self::Scrubbed => "scrubbed",
            Self::Failed => "failed",
            Self::Unaffected => "unaffected",
            Self::Unknown => "unknown",
        }
    }
}

fn effect(data: DataEffect, because: impl Into<String>) -> DeletionEffect {
    DeletionEffect { data, because: because.into() }
}

/// Returns the effect on the data of a bound volume when its claim is deleted, by the volume and
/// the server's version alone: not whether a controller runs now, since a provisioner can be
/// installed at any time.
pub fn data_effect_without_claim(cx: &Cx, volume: &Volume) -> DataEffect {
    let terminating = volume.metadata.deleting.is_some();
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain if terminating => DataEffect::Forgotten,
        ReclaimPolicy::Retain => DataEffect::Released,
        ReclaimPolicy::Recycle => DataEffect::Scrubbed,
        ReclaimPolicy::Other(_) => DataEffect::Failed,
        ReclaimPolicy::Delete => match owner(volume) {
            Owner::Csi(_) | Owner::External(_)
                if terminating && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) =>
            {
                DataEffect::Leaked
            }
            // Whether csi-provisioner deletes such volumes depends on its version.
            Owner::Csi(_) if !volume.is_dynamic() => DataEffect::Unknown,
            Owner::Csi(_) | Owner::External(_) => DataEffect::Destroyed,
            Owner::InTree(plugin) => in_tree(cx, volume, &plugin).data,
            Owner::StaticInTree(_) => DataEffect::Failed,
        },
    }
}

/// Returns the effect on a bound volume when its claim is deleted.
pub fn when_claim_is_deleted(cx: &Cx, volume: &Volume) -> DeletionEffect {
    let terminating = volume.metadata.deleting.is_some();
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain if terminating => effect(
            DataEffect::Forgotten,
            "its policy is Retain and it is terminating: the object vanishes, the backend volume is kept",
        ),
        ReclaimPolicy::Retain => effect(
            DataEffect::Released,
            "its policy is Retain: it becomes Released, with everything on it",
        ),
        ReclaimPolicy::Recycle => effect(
            DataEffect::Scrubbed,
            "its policy is Recycle: the data is scrubbed and the volume offered to any claim",
        ),
        ReclaimPolicy::Other(policy) => effect(
            DataEffect::Failed,
            format!("nobody knows the policy {policy}: it becomes Failed"),
        ),
        ReclaimPolicy::Delete => match owner(volume) {
            Owner::Csi(driver) => external(cx, volume, &driver, true),
            Owner::External(provisioner) => external(cx, volume, &provisioner, false),
            Owner::InTree(plugin) => in_tree(cx, volume, &plugin),
            Owner::StaticInTree(source) => effect(
                DataEffect::Failed,
                format!(
                    "its policy is Delete, and nobody deletes a hand-made volume ({source}): it becomes Failed"
                ),
            ),
        },
    }
}

fn external(cx: &Cx, volume: &Volume, driver: &crate::model::Text, csi: bool) -> DeletionEffect {
    let protected = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    if volume.metadata.deleting.is_some() && !protected {
        return effect(
            DataEffect::Leaked,
            format!(
                "it is terminating without the finalizer of its provisioner: the object vanishes before {driver} is told to delete anything"
            ),
        );
    }
    if csi && !volume.is_dynamic() {
        // csi-provisioner deletes statically provisioned volumes from version 3.5 on (R-2644-8).
        match surely_deletes_static_volumes(cx, driver) {
            Ok(Some(true)) => {}
            Ok(Some(false)) => {
                return effect(
                    DataEffect::Released,
                    format!(
                        "it was made by hand, and the csi-provisioner of {driver} is too old to delete such volumes: it stays Released"
                    ),
                );
            }
            Ok(None) | Err(_) => {
                return effect(
                    DataEffect::Unknown,
                    format!(
                        "it was made by hand, and whether the csi-provisioner of {driver} deletes such volumes depends on its version, which is not known"
                    ),
                );
            }
        }
    }
    match controller::provisioner(cx, driver).liveness {
        Liveness::Alive => effect(
            DataEffect::Destroyed,
            format!(
                "its policy is Delete: the provisioner of {driver} deletes the backend volume with everything on it"
            ),
        ),
        Liveness::Absent => effect(
            DataEffect::Waiting,
            format!(
                "its policy is Delete and no provisioner of {driver} is there: the backend volume is deleted as soon as one runs"
            ),
        ),
        Liveness::Unknown => effect(
            DataEffect::Destroyed,
            format!(
                "its policy is Delete: the provisioner of {driver} deletes the backend volume, at once or as soon as it runs"
            ),
        ),
    }
}

fn in_tree(cx: &Cx, volume: &Volume, plugin: &str) -> DeletionEffect {
    if known_deletable(plugin, cx.server()) == Some(false) {
        return effect(
            DataEffect::Failed,
            format!(
                "its policy is Delete, and this server has no {plugin} any more: it becomes Failed"
            ),
        );
    }
    let protected = volume.metadata.has_finalizer(IN_TREE);
    if volume.metadata.deleting.is_some() && !protected && expects_in_tree_finalizer(volume) {
        return match always_honors_reclaim_policy(cx) {
            Some(true) => effect(
                DataEffect::Waiting,
                "it is terminating without the finalizer of the volume controller, which can no longer be added: it hangs until its policy becomes Retain",
            ),
            Some(false) => effect(
                DataEffect::Leaked,
                "it is terminating without the finalizer of the volume controller: the object may vanish with nobody having deleted the backend volume",
            ),
            None => effect(
                DataEffect::Unknown,
                "whether the volume controller still deletes it depends on the server's version, which is not known",
            ),
        };
    }
    effect(
        DataEffect::Destroyed,
        format!(
            "its policy is Delete: kube-controller-manager ({plugin}) deletes the backend volume with everything on it"
        ),
    )
}

/// Returns the effect on a volume when it is deleted itself.
pub fn when_volume_is_deleted(cx: &Cx, volume: &Volume) -> DeletionEffect {
    if volume.metadata.deleting.is_some() {
        return effect(DataEffect::Unaffected, "it is terminating already");
    }
    let kept = |because: &str| match volume.reclaim_policy {
        ReclaimPolicy::Delete => effect(DataEffect::Leaked, because),
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            effect(DataEffect::Forgotten, because)
        }
    };
    match &volume.phase {
        Phase::Bound if volume.metadata.has_finalizer(PV_PROTECTION) => {
            let mut then = when_claim_is_deleted(cx, &terminating(volume));
            then.because = format!(
                "it becomes Terminating at once, which nothing takes back, cannot be attached to another node, and waits for its claim; then: {}",
                then.because
            );
            then
        }
        Phase::Bound => kept(
            "nothing protects it: the object vanishes under its claim, which becomes Lost; the backend volume stays",
        ),
        Phase::Released | Phase::Failed
            if volume.reclaim_policy == ReclaimPolicy::Delete
                && (volume.metadata.has_finalizer(EXTERNAL_PROVISIONER)
                    || volume.metadata.has_finalizer(IN_TREE)) =>
        {
            effect(
                DataEffect::Waiting,
                "the finalizer of its provisioner holds the object until the backend volume is deleted",
            )
        }
        Phase::Released | Phase::Failed => {
            kept("the object vanishes, and nobody is told to delete the backend volume")
        }
        Phase::Available | Phase::Pending => {
            kept("the object vanishes; a volume that was never bound is deleted by nobody")
        }
        Phase::Other(phase) => {
            effect(DataEffect::Unknown, format!("its phase {phase} is not known"))
        }
    }
}

/// The volume as it will be after its deletion was requested.
fn terminating(volume: &Volume) -> Volume {
    let mut after = volume.clone();
    // Any time will do: only whether it is set matters here.
    after.metadata.deleting = Some(after.metadata.created.unwrap_or_default());
    after
}

#[cfg(test)]
mod tests {
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
            phase: Phase::Bound,
            message: None,
            reason: None,
            last_phase_transition: None,
            reclaim_policy: policy.clone(),
            claim_ref: None,
            source,
            backend: Some(BackendKey { driver: DRIVER.into(), handle: "h".into() }),
            class: None,
            attributes_class: None,
            capacity: None,
            node_affinity: None,
            provisioned_by: by.map(Text::from),
            migrated_to: None,
            bound_by_controller: false,
            deletion_secret: None,
            backend_state: None,
        }
    }

    fn csi() -> VolumeSource {
        VolumeSource::Csi { driver: DRIVER.into(), handle: "h".into(), provisioner_identity: true }
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
            (&Delete, host(), None, &[], false, true, 36, DataEffect::Failed),
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
}
