//! What becomes of a volume and its data when its claim goes, or when it is deleted itself.
//!
//! The policy at the moment at which the claim disappears decides (R-2644-7), with the finalizers
//! that are there by then; `pv_controller.go`, `reclaimVolume`, and the library behind
//! csi-provisioner, `shouldDelete` and `handleProtectionFinalizer`.

use super::{
    EXTERNAL_PROVISIONER, IN_TREE, Owner, PV_PROTECTION, always_honors_reclaim_policy, controller,
    expects_in_tree_finalizer, known_deletable, owner, provisioner::surely_deletes_static_volumes,
};
use crate::cluster::Cx;
use crate::model::{Liveness, Phase, ReclaimPolicy, Volume};

/// What becomes of the data of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// The backend volume is deleted with everything on it.
    Destroyed,
    /// The backend volume stays, and so does its volume, which becomes Released.
    Released,
    /// The backend volume stays, and no volume names it any more: whoever wants it has to know it.
    Forgotten,
    /// As `Forgotten`, although the policy says Delete: nobody will ever delete it.
    Leaked,
    /// The backend volume stays for now, the volume waits: it is deleted as soon as somebody can.
    Waiting,
    /// The data is scrubbed, and the volume is free for any claim.
    Scrubbed,
    /// Reclaiming fails, and the volume becomes Failed; the backend volume stays.
    Failed,
    /// The volume is bound to nothing: its claim's going does not bear on it.
    Unaffected,
    /// What was read does not decide it.
    Unknown,
}

/// What becomes of a volume, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consequence {
    /// What becomes of the data.
    pub fate: Fate,
    /// One sentence without a full stop.
    pub because: String,
}

impl Fate {
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

fn so(fate: Fate, because: impl Into<String>) -> Consequence {
    Consequence { fate, because: because.into() }
}

/// What becomes of a bound volume when its claim goes, by the volume and the server's version alone:
/// whether somebody is there to do it now is not asked, and a provisioner may come at any time.
pub fn fate_without_claim(cx: &Cx, volume: &Volume) -> Fate {
    let terminating = volume.metadata.deleting.is_some();
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain if terminating => Fate::Forgotten,
        ReclaimPolicy::Retain => Fate::Released,
        ReclaimPolicy::Recycle => Fate::Scrubbed,
        ReclaimPolicy::Other(_) => Fate::Failed,
        ReclaimPolicy::Delete => match owner(volume) {
            Owner::Csi(_) | Owner::External(_)
                if terminating && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) =>
            {
                Fate::Leaked
            }
            // Which of them are deleted depends on the provisioner's version.
            Owner::Csi(_) if !volume.is_dynamic() => Fate::Unknown,
            Owner::Csi(_) | Owner::External(_) => Fate::Destroyed,
            Owner::InTree(plugin) => in_tree(cx, volume, &plugin).fate,
            Owner::StaticInTree(_) => Fate::Failed,
        },
    }
}

/// What happens to a bound volume when its claim's object disappears.
pub fn when_claim_goes(cx: &Cx, volume: &Volume) -> Consequence {
    let terminating = volume.metadata.deleting.is_some();
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain if terminating => so(
            Fate::Forgotten,
            "its policy is Retain and it is terminating: the object vanishes, the backend volume is kept",
        ),
        ReclaimPolicy::Retain => {
            so(Fate::Released, "its policy is Retain: it becomes Released, with everything on it")
        }
        ReclaimPolicy::Recycle => so(
            Fate::Scrubbed,
            "its policy is Recycle: the data is scrubbed and the volume offered to any claim",
        ),
        ReclaimPolicy::Other(policy) => {
            so(Fate::Failed, format!("nobody knows the policy {policy}: it becomes Failed"))
        }
        ReclaimPolicy::Delete => match owner(volume) {
            Owner::Csi(driver) => external(cx, volume, &driver, true),
            Owner::External(provisioner) => external(cx, volume, &provisioner, false),
            Owner::InTree(plugin) => in_tree(cx, volume, &plugin),
            Owner::StaticInTree(source) => so(
                Fate::Failed,
                format!(
                    "its policy is Delete, and nobody deletes a hand-made volume ({source}): it becomes Failed"
                ),
            ),
        },
    }
}

fn external(cx: &Cx, volume: &Volume, driver: &crate::model::Text, csi: bool) -> Consequence {
    let protected = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    if volume.metadata.deleting.is_some() && !protected {
        return so(
            Fate::Leaked,
            format!(
                "it is terminating without the finalizer of its provisioner: the object vanishes before {driver} is told to delete anything"
            ),
        );
    }
    if csi && !volume.is_dynamic() {
        // csi-provisioner deletes volumes that were made by hand from 3.5 on (R-2644-8).
        match surely_deletes_static_volumes(cx, driver) {
            Ok(Some(true)) => {}
            Ok(Some(false)) => {
                return so(
                    Fate::Released,
                    format!(
                        "it was made by hand, and the csi-provisioner of {driver} is too old to delete such volumes: it stays Released"
                    ),
                );
            }
            Ok(None) | Err(_) => {
                return so(
                    Fate::Unknown,
                    format!(
                        "it was made by hand, and whether the csi-provisioner of {driver} deletes such volumes depends on its version, which is not known"
                    ),
                );
            }
        }
    }
    match controller::provisioner(cx, driver).liveness {
        Liveness::Alive => so(
            Fate::Destroyed,
            format!(
                "its policy is Delete: the provisioner of {driver} deletes the backend volume with everything on it"
            ),
        ),
        Liveness::Absent => so(
            Fate::Waiting,
            format!(
                "its policy is Delete and no provisioner of {driver} is there: the backend volume is deleted as soon as one runs"
            ),
        ),
        Liveness::Unknown => so(
            Fate::Destroyed,
            format!(
                "its policy is Delete: the provisioner of {driver} deletes the backend volume, at once or as soon as it runs"
            ),
        ),
    }
}

fn in_tree(cx: &Cx, volume: &Volume, plugin: &str) -> Consequence {
    if known_deletable(plugin, cx.server()) == Some(false) {
        return so(
            Fate::Failed,
            format!(
                "its policy is Delete, and this server has no {plugin} any more: it becomes Failed"
            ),
        );
    }
    let protected = volume.metadata.has_finalizer(IN_TREE);
    if volume.metadata.deleting.is_some() && !protected && expects_in_tree_finalizer(volume) {
        return match always_honors_reclaim_policy(cx) {
            Some(true) => so(
                Fate::Waiting,
                "it is terminating without the finalizer of the volume controller, which can no longer be added: it hangs until its policy becomes Retain",
            ),
            Some(false) => so(
                Fate::Leaked,
                "it is terminating without the finalizer of the volume controller: the object may vanish with nobody having deleted the backend volume",
            ),
            None => so(
                Fate::Unknown,
                "whether the volume controller still deletes it depends on the server's version, which is not known",
            ),
        };
    }
    so(
        Fate::Destroyed,
        format!(
            "its policy is Delete: kube-controller-manager ({plugin}) deletes the backend volume with everything on it"
        ),
    )
}

/// What happens when somebody deletes the volume's object.
pub fn when_volume_is_deleted(cx: &Cx, volume: &Volume) -> Consequence {
    if volume.metadata.deleting.is_some() {
        return so(Fate::Unaffected, "it is terminating already");
    }
    let kept = |because: &str| match volume.reclaim_policy {
        ReclaimPolicy::Delete => so(Fate::Leaked, because),
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            so(Fate::Forgotten, because)
        }
    };
    match &volume.phase {
        Phase::Bound if volume.metadata.has_finalizer(PV_PROTECTION) => {
            let mut then = when_claim_goes(cx, &terminating(volume));
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
            so(
                Fate::Waiting,
                "the finalizer of its provisioner holds the object until the backend volume is deleted",
            )
        }
        Phase::Released | Phase::Failed => {
            kept("the object vanishes, and nobody is told to delete the backend volume")
        }
        Phase::Available | Phase::Pending => {
            kept("the object vanishes; a volume that was never bound is deleted by nobody")
        }
        Phase::Other(phase) => so(Fate::Unknown, format!("its phase {phase} is not known")),
    }
}

/// The volume as it will be once somebody has deleted it.
fn terminating(volume: &Volume) -> Volume {
    let mut after = volume.clone();
    // Any time at all: only whether it is set matters here.
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

    /// Whether the data may be destroyed.
    const fn may_destroy(fate: Fate) -> bool {
        match fate {
            Fate::Destroyed | Fate::Waiting | Fate::Scrubbed | Fate::Unknown => true,
            Fate::Released | Fate::Forgotten | Fate::Leaked | Fate::Failed | Fate::Unaffected => {
                false
            }
        }
    }

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
            (&Retain, csi(), Some(DRIVER), &[][..], false, true, 36, Fate::Released),
            (&Retain, csi(), Some(DRIVER), &[], true, true, 36, Fate::Forgotten),
            (&Retain, csi(), Some(DRIVER), ext, true, true, 36, Fate::Forgotten),
            (&Recycle, host(), None, &[], false, true, 36, Fate::Scrubbed),
            (&odd, csi(), Some(DRIVER), &[], false, true, 36, Fate::Failed),
            (&Delete, csi(), Some(DRIVER), ext, false, true, 36, Fate::Destroyed),
            (&Delete, csi(), Some(DRIVER), &[], false, true, 36, Fate::Destroyed),
            (&Delete, csi(), Some(DRIVER), ext, true, true, 36, Fate::Destroyed),
            (&Delete, csi(), Some(DRIVER), &[], true, true, 36, Fate::Leaked),
            (&Delete, csi(), Some(DRIVER), own, true, true, 36, Fate::Leaked),
            // Nothing of the driver was ever there; it may be installed tomorrow.
            (&Delete, csi(), Some(DRIVER), ext, false, false, 36, Fate::Destroyed),
            (&Delete, csi(), None, ext, false, true, 36, Fate::Unknown),
            (&Delete, host(), Some("rancher.io/local-path"), &[], false, true, 36, Fate::Destroyed),
            (&Delete, host(), Some(HOST), own, false, true, 36, Fate::Destroyed),
            (&Delete, host(), Some(HOST), own, true, true, 36, Fate::Destroyed),
            (&Delete, host(), Some(HOST), &[], true, true, 36, Fate::Waiting),
            (&Delete, host(), Some(HOST), &[], true, true, 32, Fate::Leaked),
            (&Delete, host(), Some("kubernetes.io/rbd"), own, false, true, 36, Fate::Failed),
            (&Delete, host(), None, &[], false, true, 36, Fate::Failed),
        ] {
            let cluster = cluster(alive, minor);
            let (settings, facts) = (Settings::default(), RefCell::default());
            let cx = Cx::new(&cluster, &settings, &facts);
            let volume = volume(policy, source, by, finalizers, deleting);
            let got = when_claim_goes(&cx, &volume);
            let alone = fate_without_claim(&cx, &volume);
            assert!(alone == fate || may_destroy(alone), "{policy} by {by:?}: {alone:?}");
            assert!(may_destroy(alone) || !may_destroy(fate), "{policy} by {by:?}: {alone:?}");
            assert_eq!(
                got.fate, fate,
                "{policy} by {by:?} {finalizers:?} deleting {deleting} alive {alive} 1.{minor}: {}",
                got.because
            );
        }
    }

    #[test]
    fn deleting_the_object_leaks_unless_somebody_holds_it() {
        use ReclaimPolicy::{Delete, Retain};
        for (policy, phase, finalizers, fate) in [
            (&Retain, Phase::Bound, &[PV_PROTECTION][..], Fate::Forgotten),
            (&Delete, Phase::Bound, &[PV_PROTECTION, EXTERNAL_PROVISIONER], Fate::Destroyed),
            (&Delete, Phase::Bound, &[PV_PROTECTION], Fate::Leaked),
            (&Delete, Phase::Bound, &[], Fate::Leaked),
            (&Retain, Phase::Bound, &[], Fate::Forgotten),
            (&Delete, Phase::Released, &[EXTERNAL_PROVISIONER], Fate::Waiting),
            (&Delete, Phase::Released, &[PV_PROTECTION], Fate::Leaked),
            (&Retain, Phase::Released, &[PV_PROTECTION], Fate::Forgotten),
            (&Delete, Phase::Available, &[PV_PROTECTION], Fate::Leaked),
            (&Retain, Phase::Available, &[PV_PROTECTION], Fate::Forgotten),
            (&Retain, Phase::Other("Odd".into()), &[], Fate::Unknown),
        ] {
            let cluster = cluster(true, 36);
            let (settings, facts) = (Settings::default(), RefCell::default());
            let cx = Cx::new(&cluster, &settings, &facts);
            let volume = Volume { phase, ..volume(policy, csi(), Some(DRIVER), finalizers, false) };
            let got = when_volume_is_deleted(&cx, &volume);
            assert_eq!(got.fate, fate, "{policy} {} {finalizers:?}: {}", volume.phase, got.because);
        }
    }
}
