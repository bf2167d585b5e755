//! Azure Managed Lustre: `azurelustre.csi.azure.com`.

use std::borrow::Cow;

use super::{
    cloud::{LUSTRE, address, folder, server},
    basis::{SHARE, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// Azure Managed Lustre.
pub static FAMILY: Family = Family {
    id: "azure-lustre",
    title: "Azure Managed Lustre",
    names: &[Name::Is("azurelustre.csi.azure.com")],
    identity: "the address of the file system and the directory in it: the attributes mgs-ip-address and sub-dir, or \
               the handle NAME#LUSTRE#ADDRESS#DIRECTORY#t#GROUP, where t stands for created dynamically",
    attributes: &["mgs-ip-address", "sub-dir"],
    used,
    deletion,
    destroys: "the whole file system, if the handle marks it as created dynamically",
    answers_ok: &["every other volume", "a handle that does not parse"],
    refuses: &["a handle that was created dynamically and contains no resource group"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown whether there are any"),
    provisioner: Provisioner::csi(&["csi-azurelustre-controller"], &["azurelustre-csi"]),
    sources: &[
        "kubernetes-sigs/azurelustre-csi-driver 26f644207: pkg/azurelustre/azurelustre.go getLustreVolFromID, \
         pkg/azurelustre/controllerserver.go DeleteVolume, pkg/azurelustre/nodeserver.go newLustreVolume",
    ],
    ..SHARE
};

/// A handle, split as the driver does.
struct Handle<'a> {
    name: &'a str,
    address: &'a str,
    directory: &'a str,
    dynamic: bool,
    group: &'a str,
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        let fields: Vec<&str> = handle.split('#').collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        (fields.len() >= 3).then(|| Self {
            name: field(0),
            address: field(2),
            directory: field(3),
            dynamic: field(4) == "t",
            group: field(5),
        })
    }

    fn within(&self, address: Option<&'a str>, directory: &str) -> Place<'a> {
        let place = folder(LUSTRE, "", directory);
        match (self.dynamic, address) {
            (true, _) => place.of(server(format!("Azure {}/{}", self.group, self.name), address)),
            (false, Some(it)) => place.of(super::cloud::address(it)),
            (false, None) => place.of(Part::Unknown("its handle contains no address")),
        }
    }
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).filter(|it| !it.is_empty());
    let (mounted, directory) = (value("mgs-ip-address"), value("sub-dir"));
    vec![match (Handle::read(reference.handle), mounted) {
        (Some(handle), mounted) => {
            let address = mounted.or(Some(handle.address).filter(|it| !it.is_empty()));
            handle.within(address, directory.unwrap_or(handle.directory))
        }
        (None, Some(it)) => folder(LUSTRE, "", directory.unwrap_or_default()).of(address(it)),
        (None, None) => undecided(LUSTRE, reference),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match Handle::read(deletion.reference.handle) {
        Some(it) if it.dynamic && it.group.is_empty() => {
            Destruction::Fails(Cow::Borrowed("its handle contains no resource group"))
        }
        Some(it) if it.dynamic => Destruction::of(
            it.within(Some(it.address).filter(|it| !it.is_empty()), "").into_owned(),
            format!("the whole Lustre file system {} of the resource group {}", it.name, it.group),
        ),
        Some(_) => Destruction::Nothing(Cow::Borrowed("its handle does not mark it as created \
                                                       dynamically")),
        None => Destruction::Nothing(Cow::Borrowed("it cannot read the handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "azurelustre.csi.azure.com";
    const ONE: &str = "pvc-1#lustrefs#10.0.0.4##t#group";

    #[test]
    fn only_what_was_created_dynamically_is_deleted() {
        let one = places(DRIVER, ONE, &[]);
        for (handle, pairs, expected) in [
            ("any#lustrefs#10.0.0.4#a", &[][..], "inside"),
            ("pvc-2#lustrefs#10.0.0.5##t#group", &[], "apart"),
            ("any", &[("mgs-ip-address", "10.0.0.4")], "equal"),
            ("any", &[("mgs-ip-address", "10.0.0.4"), ("sub-dir", "a")], "inside"),
            ("any", &[("mgs-ip-address", "10.0.0.5"), ("sub-dir", "a")], "inside?"),
            ("any", &[], "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, pairs)), expected, "{handle} {pairs:?}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer(ONE), "deletes the whole Lustre file system pvc-1 of the resource group group");
        assert!(answer("pvc-1#lustrefs#10.0.0.4##t").starts_with("fails"));
        assert!(answer("any#lustrefs#10.0.0.4").starts_with("does nothing"));
        assert!(answer("any").starts_with("does nothing"));
    }
}
