//! Azure Blob Storage: `blob.csi.azure.com`.

use std::borrow::Cow;

use super::{
    azure_file::account,
    cloud::{folder, owned, server_at},
    basis::{NFS, SHARE, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Letters, Name, Part, Place, Provisioner,
    Reference, Snapshots,
};

/// Azure Blob Storage.
pub static FAMILY: Family = Family {
    id: "azure-blob",
    title: "Azure Blob Storage",
    names: &[Name::Is("blob.csi.azure.com")],
    identity: "storage account and container, and the directory in it. Nodes mount by the \
               attributes or else by the handle GROUP#ACCOUNT#CONTAINER…, which deletion reads",
    attributes: &["containerName", "server", "storageAccount", "storageAccountName", "subDir", "protocol"],
    used,
    deletion,
    destroys: "the whole container, never only a directory in it",
    answers_ok: &[
        "a handle with fewer than three fields, as static volumes often have",
        "a container that does not exist or is being deleted",
    ],
    snapshots: Snapshots::all(Fate::None, "the driver makes none"),
    provisioner: Provisioner::csi(&["csi-blob-controller"], &["blob-csi"])
        .hidden("AKS: the pods are hidden, the Leases in kube-system are visible"),
    sources: &[
        "kubernetes-sigs/blob-csi-driver 0744a60b3: pkg/blob/blob.go GetContainerInfo GetAuthEnv, \
         pkg/blob/nodeserver.go, pkg/blob/controllerserver.go DeleteVolume",
    ],
    ..SHARE
};

/// The space of containers.
const SPACE: &str = "Azure container";

/// The account and the container of a handle.
fn read(handle: &str) -> Option<(&str, &str)> {
    match handle.split('#').collect::<Vec<_>>()[..] {
        [_, account, container, ..] => Some((account, container)),
        _ => None,
    }
}

/// A directory of a container, in its own space and as other drivers would mount it.
fn places<'a>(
    account: Part<'a>,
    address: Option<&str>,
    container: &str,
    within: &str,
    protocol: Option<&str>,
) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    if protocol.is_some_and(|it| it.eq_ignore_ascii_case("nfs")) {
        places.push(match &account {
            Part::Is(name) => {
                let usual = || format!("{name}.blob.core.windows.net");
                let address = address.map_or_else(usual, str::to_owned);
                let server = server_at(format!("Azure account {name}"), address);
                folder(NFS, &format!("{name}/{container}"), "").of(server)
            }
            _ => Place::undecided(NFS, container.to_owned(), "the storage account is unknown"),
        });
    }
    let own = folder(SPACE, container, within).of(account);
    places.push(own.letters(Letters::Unclear));
    places
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).map(str::trim).filter(|it| !it.is_empty());
    let handle = if reference.handle == INLINE { None } else { read(reference.handle) };
    let container = value("containerName").or(handle.map(|(_, container)| container));
    let Some(container) = container.filter(|container| !container.is_empty()) else {
        return vec![undecided(SPACE, reference)];
    };
    let written = value("storageAccount").or(value("storageAccountName"));
    let written = written.or(handle.map(|(account, _)| account));
    let account = account(value("server"), "blob", written);
    let within = value("subDir").unwrap_or_default();
    places(account, value("server"), container, within, value("protocol"))
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let reference = &deletion.reference;
    match read(reference.handle) {
        Some((account, container)) if ![account, container].contains(&"") => Destruction::Storage {
            places: owned(places(
                Part::Is(account.into()),
                reference.attribute("server"),
                container,
                "",
                reference.attribute("protocol"),
            )),
            what: format!("the whole container {container} of the storage account {account}").into(),
        },
        Some(_) => Destruction::Fails(Cow::Borrowed(
            "its handle lacks the storage account or the container",
        )),
        None => Destruction::Nothing(Cow::Borrowed("it cannot read the handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::INLINE;
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "blob.csi.azure.com";

    #[test]
    fn account_and_container_are_one_place_however_they_are_written() {
        let one = places(DRIVER, "group#acc#data#uuid", &[]);
        for (handle, pairs, expected) in [
            ("group#acc#data", &[][..], "equal"),
            ("group#acc#logs", &[], "apart"),
            ("group#acd#data", &[], "apart"),
            ("any", &[("containerName", "data"), ("storageAccount", "acc")], "equal"),
            ("any", &[("containerName", "data"), ("storageAccount", "acc"), ("subDir", "a")], "inside"),
            ("any", &[("containerName", "data")], "equal?"),
            ("any", &[("containerName", "logs")], "apart"),
            ("any", &[("containerName", "${pvc.metadata.name}")], "around?"),
            ("any", &[], "equal?"),
            (INLINE, &[("containerName", "data")], "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, pairs)), expected, "{handle} {pairs:?}");
        }
        let by_nfs = [("containerName", "data"), ("storageAccount", "acc"), ("protocol", "nfs")];
        let plain = places("nfs", "acc.blob.core.windows.net:/acc/data/a", &[]);
        assert_eq!(lies(&places(DRIVER, "any", &by_nfs), &plain), "inside");
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("g#acc#data#u"), "deletes the whole container data of the storage account acc");
        assert!(answer("any").starts_with("does nothing"));
        assert!(answer("##").starts_with("fails"));
    }
}
