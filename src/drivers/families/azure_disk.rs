//! Azure managed disks: `disk.csi.azure.com`, and the in-tree volumes that were migrated to it.

use std::borrow::Cow;

use super::basis::{BASE, device};
use crate::drivers::{
    Deletion, Destruction, Expansion, Family, Fate, Name, Place, Provisioner, Reach, Reference,
    Snapshots,
};

/// Azure managed disks.
pub(super) static AZURE_DISK: Family = Family {
    id: "azure-disk",
    title: "Azure disks",
    names: &[Name::Is("disk.csi.azure.com")],
    identity: "the id /subscriptions/…/Microsoft.Compute/disks/NAME, in upper or lower case; shared with in-tree \
               azureDisk",
    reach: Reach::Provider,
    used,
    deletion,
    destroys: "the managed disk; the driver does not wait until Azure has deleted it",
    answers_ok: &["a handle without /subscriptions/", "a disk that does not exist"],
    refuses: &["a disk that is attached to any virtual machine"],
    snapshots: Snapshots::all(Fate::Independent, "they are separate resources"),
    provisioner: Provisioner::csi(&["csi-azuredisk-controller"], &["azuredisk-csi"])
        .hidden("AKS: the pods are hidden, the Leases in kube-system are visible")
        .but_leases(),
    expansion: Expansion::IN_GIB,
    sources: &[
        "kubernetes-sigs/azuredisk-csi-driver d983d613b: pkg/azuredisk/azure_managedDiskController.go, \
         pkg/azuredisk/controllerserver.go, pkg/azureconstants/azure_constants.go",
        "kubernetes/csi-translation-lib plugins/azure_disk.go",
    ],
    ..BASE
};

/// The space of managed disks.
const SPACE: &str = "Azure disk";

/// Returns the id of a disk, whose parts have these names in any case.
fn disk(handle: &str) -> Option<&str> {
    let handle = handle.trim_matches('/');
    let [a, subscription, b, group, c, provider, d, name] =
        handle.split('/').collect::<Vec<_>>().try_into().ok()?;
    let names = [
        (a, "subscriptions"),
        (b, "resourceGroups"),
        (c, "providers"),
        (provider, "Microsoft.Compute"),
        (d, "disks"),
    ];
    let whole = names.iter().all(|(mine, name)| mine.eq_ignore_ascii_case(name))
        && ![subscription, group, name].contains(&"");
    whole.then_some(handle)
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match disk(reference.handle) {
        Some(id) => device(SPACE, id),
        None => Place::undecided(
            SPACE,
            reference.handle,
            "its handle is not the id of a managed \
                                                           disk",
        ),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let handle = deletion.reference.handle;
    match disk(handle) {
        Some(id) => {
            let name = id.rsplit('/').next().unwrap_or_default();
            Destruction::of(device(SPACE, id).into_owned(), format!("the Azure disk {name}"))
        }
        None if !handle.to_ascii_lowercase().contains("/subscriptions/") => {
            Destruction::Nothing(Cow::Borrowed("its handle is not the id of a managed disk"))
        }
        None => Destruction::Undecided(Cow::Borrowed("its handle is not the id of a managed disk")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn upper_and_lower_case_are_one_disk() {
        const DRIVER: &str = "disk.csi.azure.com";
        const ONE: &str =
            "/subscriptions/s/resourceGroups/mc_r/providers/Microsoft.Compute/disks/pvc-1";
        let one = places(DRIVER, ONE, &[]);
        for (handle, expected) in [
            (ONE.to_uppercase(), "equal"),
            (ONE.replace("mc_r", "MC_R"), "equal"),
            (ONE.replace("pvc-1", "pvc-2"), "apart"),
            (ONE.replace("mc_r", "mc_q"), "apart"),
            ("https://account.blob.core.windows.net/vhds/a.vhd".to_owned(), "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, &handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer(ONE), "deletes the Azure disk pvc-1");
        assert!(answer("pvc-1").starts_with("does nothing"));
        assert!(answer("/subscriptions/s/disks/d").starts_with("undecided"));
    }
}
