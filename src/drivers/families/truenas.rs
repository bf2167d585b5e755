//! The CSI driver of TrueNAS: `csi.truenas.io`.

use std::borrow::Cow;

use super::{
    block_in_tree,
    basis::{SHARE, nfs, undecided, what_it_uses},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// truenas-csi.
pub static FAMILY: Family = Family {
    id: "truenas",
    title: "TrueNAS CSI driver",
    names: &[Name::Is("csi.truenas.io")],
    identity: "the dataset POOL/PATH, which contains those beneath it; and the NFS share or the LUN \
               that nodes mount",
    attributes: &["nfsServer", "nfsPath", "targetPortal", "targetIQN", "lun"],
    used,
    deletion,
    destroys: "the iSCSI target or NFS share, and the dataset with its snapshots and everything beneath \
               it",
    answers_ok: &["a handle that does not parse", "a dataset that does not exist"],
    refuses: &["a dataset with clones elsewhere"],
    snapshots: Snapshots {
        volume_of_handle: Some(|handle| Some(handle.split_once('@')?.0)),
        ..Snapshots::all(Fate::Dies, "the dataset is destroyed with its snapshots")
    },
    clones: Fate::Blocks,
    provisioner: Provisioner::csi(&["truenas-csi-controller"], &["truenas-csi-driver"]),
    sources: &["truenas/truenas-csi 2026-02: pkg/driver/controller.go, deploy/truenas-csi-driver.yaml"],
    ..SHARE
};

/// The space of datasets of TrueNAS.
const SPACE: &str = "TrueNAS dataset";

fn is_dataset(handle: &str) -> bool {
    handle.split_once('/').is_some_and(|(pool, path)| !pool.is_empty() && !path.is_empty())
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = vec![if is_dataset(reference.handle) {
        Place::directory(SPACE, reference.handle)
    } else {
        undecided(SPACE, reference)
    }];
    let attribute = |key| reference.attribute(key);
    let share = attribute("nfsServer").zip(attribute("nfsPath"));
    places.extend(share.map(|(server, path)| nfs(server, path)));
    places.extend(attribute("targetIQN").map(|target| {
        let portal = attribute("targetPortal").unwrap_or_default();
        block_in_tree::lun(portal, target, attribute("lun").unwrap_or("0"))
    }));
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let dataset = deletion.reference.handle;
    if !is_dataset(dataset) {
        return Destruction::Nothing(Cow::Borrowed("it cannot read the handle"));
    }
    what_it_uses(deletion, format!("the dataset {dataset} with everything beneath it"))
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_dataset_contains_those_beneath_it() {
        let driver = "csi.truenas.io";
        let mine = places(driver, "tank/k8s/pvc-a", &[]);
        for (handle, expected) in [
            ("tank/k8s/pvc-a", "equal"),
            ("tank/k8s", "around"),
            ("tank/k8s/pvc-ab", "apart"),
            ("tank/k8s/PVC-a", "apart"),
            ("tank", "equal?"),
        ] {
            assert_eq!(lies(&mine, &places(driver, handle, &[])), expected, "{handle}");
        }
        let pairs = [("nfsServer", "nas"), ("nfsPath", "/mnt/tank/k8s/pvc-a")];
        let shared = places(driver, "tank/k8s/pvc-a", &pairs);
        assert_eq!(lies(&shared, &places("nfs", "nas:/mnt/tank", &[])), "around");
        let odd = answer(&Case { driver, handle: "tank", ..Case::default() });
        assert_eq!(odd, "does nothing: it cannot read the handle");
    }
}
