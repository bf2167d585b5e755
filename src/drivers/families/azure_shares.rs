//! Azure Files and Azure Blob Storage: shares and containers of storage accounts.

use std::borrow::Cow;

use super::{
    basis::{BASE, NFS, folder, owned, server_at, undecided},
    smb,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Letters, Name, Part, Place, Provisioner, Reach,
    Reference, Snapshots,
};

/// Azure Files.
pub(super) static AZURE_FILE: Family = Family {
    id: "azure-file",
    title: "Azure Files",
    names: &[Name::Is("file.csi.azure.com"), Name::Is("azureFile")],
    identity: "storage account and share, and the folder or VHD in it. Nodes mount by the \
               attributes or else by the handle GROUP#ACCOUNT#SHARE[#DISK…], which deletion reads; \
               an account may be known to a Secret only",
    reach: Reach::Provider,
    // A Secret is one of the cluster.
    reach_of: |it| {
        let is_in_tree = it.driver == "azureFile";
        (is_in_tree && it.handle.starts_with("secret ")).then_some(Reach::Cluster)
    },
    attributes: &["shareName", "server", "storageAccount", "folderName", "diskName", "protocol"],
    used: file_used,
    deletion: file_deletion,
    destroys: "the whole share, never only a folder or a VHD in it",
    answers_ok: &[
        "a handle with fewer than three fields, as static volumes often have",
        "a share that does not exist, also because the resource group is missing in the handle",
    ],
    snapshots: Snapshots {
        fate: Fate::Dies,
        of_handle: None,
        // The handle of the volume, a time and the subscription: account and share are where they are
        // in that of the volume.
        volume_of_handle: Some(|handle| file_read(handle).map(|_| handle)),
        note: "Azure deletes share snapshots with their share by default; where the driver uses the account key, Azure refuses",
    },
    provisioner: Provisioner::csi(&["csi-azurefile-controller"], &["azurefile-csi"])
        .hidden("AKS: the pods are hidden, the Leases in kube-system are visible")
        .but_leases(),
    sources: &[
        "kubernetes-sigs/azurefile-csi-driver 7b5ae18e7: pkg/azurefile/azurefile.go GetFileShareInfo GetAccountInfo, \
         pkg/azurefile/nodeserver.go NodeStageVolume, pkg/azurefile/controllerserver.go DeleteVolume CreateSnapshot",
        "kubernetes/csi-translation-lib plugins/azure_file.go",
    ],
    ..BASE
};

/// The space of shares.
const FILE_SPACE: &str = "Azure file share";

/// Reason for which an account is unknown.
const SECRET: &str = "the storage account is in a Secret";

/// Whether a name is that of a VHD, by the suffix that the driver uses.
fn is_disk(name: &str) -> bool {
    name.get(name.len().saturating_sub(4)..) == Some(".vhd")
}

/// Returns the account and the share of a handle, and the VHD in the share.
fn file_read(handle: &str) -> Option<(&str, &str, &str)> {
    let fields: Vec<&str> = handle.split('#').collect();
    match fields[..] {
        [_, account, share, ref rest @ ..] => {
            let disk = rest.first().copied().filter(|it| is_disk(it));
            Some((account, share, disk.unwrap_or_default()))
        }
        _ => None,
    }
}

/// Returns the account of an address `ACCOUNT.[privatelink.]file.core.windows.net`, also in other clouds.
pub(super) fn account_of<'a>(address: &'a str, service: &str) -> Option<&'a str> {
    let (account, rest) = address.split_once('.')?;
    let rest = rest.strip_prefix("privatelink.").unwrap_or(rest);
    rest.strip_prefix(service)?.starts_with(".core.").then_some(account)
}

/// Returns the storage account that a node mounts: that of the server, if there is one.
pub(super) fn account<'a>(
    address: Option<&'a str>,
    service: &str,
    written: Option<&'a str>,
) -> Part<'a> {
    let written = written.filter(|account| !account.is_empty());
    match (address, address.and_then(|address| account_of(address, service)), written) {
        (_, Some(account), None) | (None, _, Some(account)) => Part::Is(account.into()),
        (_, Some(account), Some(written)) if account.eq_ignore_ascii_case(written) => {
            Part::Is(account.into())
        }
        (Some(_), ..) => Part::Unknown("the storage account behind its server is unknown"),
        (None, ..) => Part::Unknown(SECRET),
    }
}

/// Returns a directory of a share, in its own space and as other drivers would mount it.
fn file_places<'a>(
    account: Part<'a>,
    address: Option<&str>,
    share: &str,
    within: &str,
    protocol: Option<&str>,
) -> Vec<Place<'a>> {
    let name = match &account {
        Part::Is(name) => Some(name.clone()),
        _ => None,
    };
    let of_server = |name: &str| {
        let usual = || format!("{name}.file.core.windows.net");
        server_at(format!("Azure account {name}"), address.map_or_else(usual, str::to_owned))
    };
    let is_nfs = protocol.is_some_and(|it| it.eq_ignore_ascii_case("nfs"));
    let mounted = match (&name, is_nfs) {
        (Some(name), true) => folder(NFS, &format!("{name}/{share}"), within).of(of_server(name)),
        (Some(name), false) => folder(smb::SPACE, share, within).of(of_server(name)),
        (None, true) => Place::undecided(NFS, share.to_owned(), "the storage account is unknown"),
        (None, false) => {
            folder(smb::SPACE, share, within).of(Part::Unknown("the storage account is unknown"))
        }
    };
    let own = folder(FILE_SPACE, share, within).of(account);
    vec![own.letters(Letters::Unclear), mounted.letters(Letters::Unclear)]
}

fn file_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    if reference.driver == "azureFile" {
        return in_tree(reference.handle).unwrap_or_else(|| vec![undecided(FILE_SPACE, reference)]);
    }
    let value = |key| reference.attribute(key).map(str::trim).filter(|it| !it.is_empty());
    let handle = if reference.handle == INLINE { None } else { file_read(reference.handle) };
    let share = value("shareName").or(handle.map(|(_, share, _)| share));
    let Some(share) = share.filter(|share| !share.is_empty()) else {
        return vec![undecided(FILE_SPACE, reference)];
    };
    let written = value("storageAccount").or(handle.map(|(account, ..)| account));
    let disk = value("diskName").or(handle.map(|(.., disk)| disk)).filter(|it| is_disk(it));
    let within = [value("folderName").unwrap_or_default(), disk.unwrap_or_default()].join("/");
    let account = account(value("server"), "file", written);
    file_places(account, value("server"), share, &within, value("protocol"))
}

/// Reads `ACCOUNT#SHARE` or `secret NAMESPACE/SECRET#SHARE`. The account is read out of the name of
/// a Secret, so that two names do not prove two accounts.
fn in_tree(handle: &str) -> Option<Vec<Place<'_>>> {
    let (account, share) = handle.split_once('#').filter(|(_, share)| !share.is_empty())?;
    Some(file_places(Part::Named(account.into()), None, share, "", None))
}

fn file_deletion(deletion: &Deletion<'_>) -> Destruction {
    let reference = &deletion.reference;
    let (account, share) = match (reference.driver, file_read(reference.handle)) {
        ("azureFile", _) => match reference.handle.split_once('#') {
            Some((account, share)) if !account.starts_with("secret ") => (account, share),
            // Its name is taken for that of the account.
            _ => return Destruction::Nothing(Cow::Borrowed(SECRET)),
        },
        (_, Some((account, share, _))) => (account, share),
        (_, None) => return Destruction::Nothing(Cow::Borrowed("it cannot read the handle")),
    };
    if account.is_empty() || share.is_empty() {
        return Destruction::Fails(Cow::Borrowed(
            "its handle lacks the storage account or the share",
        ));
    }
    let protocol = reference.attribute("protocol");
    let account_part = Part::Is(account.into());
    Destruction::Storage {
        places: owned(file_places(
            account_part,
            reference.attribute("server"),
            share,
            "",
            protocol,
        )),
        what: format!(
            "the whole share {share} of the storage account {account} with its snapshots"
        )
        .into(),
    }
}

/// Azure Blob Storage.
pub(super) static AZURE_BLOB: Family = Family {
    id: "azure-blob",
    title: "Azure Blob Storage",
    names: &[Name::Is("blob.csi.azure.com")],
    identity: "storage account and container, and the directory in it. Nodes mount by the \
               attributes or else by the handle GROUP#ACCOUNT#CONTAINER…, which deletion reads",
    reach: Reach::Provider,
    attributes: &[
        "containerName",
        "server",
        "storageAccount",
        "storageAccountName",
        "subDir",
        "protocol",
    ],
    used: blob_used,
    deletion: blob_deletion,
    destroys: "the whole container, never only a directory in it",
    answers_ok: &[
        "a handle with fewer than three fields, as static volumes often have",
        "a container that does not exist or is being deleted",
    ],
    snapshots: Snapshots::all(Fate::None, "the driver makes none"),
    provisioner: Provisioner::csi(&["csi-blob-controller"], &["blob-csi"])
        .hidden("AKS: the pods are hidden, the Leases in kube-system are visible")
        .but_leases(),
    sources: &[
        "kubernetes-sigs/blob-csi-driver 0744a60b3: pkg/blob/blob.go GetContainerInfo GetAuthEnv, \
         pkg/blob/nodeserver.go, pkg/blob/controllerserver.go DeleteVolume",
    ],
    ..BASE
};

/// The space of containers.
const BLOB_SPACE: &str = "Azure container";

/// Returns the account and the container of a handle.
fn blob_read(handle: &str) -> Option<(&str, &str)> {
    match handle.split('#').collect::<Vec<_>>()[..] {
        [_, account, container, ..] => Some((account, container)),
        _ => None,
    }
}

/// Returns a directory of a container, in its own space and as other drivers would mount it.
fn blob_places<'a>(
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
    let own = folder(BLOB_SPACE, container, within).of(account);
    places.push(own.letters(Letters::Unclear));
    places
}

fn blob_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).map(str::trim).filter(|it| !it.is_empty());
    let handle = if reference.handle == INLINE { None } else { blob_read(reference.handle) };
    let container = value("containerName").or(handle.map(|(_, container)| container));
    let Some(container) = container.filter(|container| !container.is_empty()) else {
        return vec![undecided(BLOB_SPACE, reference)];
    };
    let written = value("storageAccount").or(value("storageAccountName"));
    let written = written.or(handle.map(|(account, _)| account));
    let account = account(value("server"), "blob", written);
    let within = value("subDir").unwrap_or_default();
    blob_places(account, value("server"), container, within, value("protocol"))
}

fn blob_deletion(deletion: &Deletion<'_>) -> Destruction {
    let reference = &deletion.reference;
    match blob_read(reference.handle) {
        Some((account, container)) if ![account, container].contains(&"") => Destruction::Storage {
            places: owned(blob_places(
                Part::Is(account.into()),
                reference.attribute("server"),
                container,
                "",
                reference.attribute("protocol"),
            )),
            what: format!("the whole container {container} of the storage account {account}")
                .into(),
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

    #[test]
    fn account_and_share_are_one_place_however_they_are_written() {
        const DRIVER: &str = "file.csi.azure.com";
        const ONE: &str = "group#acc#share1###ns";
        let one = places(DRIVER, ONE, &[]);
        for (handle, pairs, expected) in [
            ("GROUP#acc#share1#disk#uuid#", &[][..], "equal"),
            ("group#acc#share2###ns", &[], "apart"),
            ("group#acd#share1###ns", &[], "apart"),
            ("group#acc#share1#a.vhd##", &[], "inside"),
            ("any", &[("shareName", "share1"), ("server", "acc.file.core.windows.net")], "equal"),
            (
                "any",
                &[("shareName", "share1"), ("server", "acc.privatelink.file.core.windows.net")],
                "equal",
            ),
            ("any", &[("shareName", "share1"), ("server", "10.0.0.9")], "equal?"),
            ("any", &[("shareName", "share1"), ("folderName", "a")], "inside?"),
            ("any", &[("shareName", "share2")], "apart"),
            ("any", &[], "equal?"),
            (INLINE, &[("shareName", "share1")], "equal?"),
            (INLINE, &[("shareName", "share2")], "apart"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, pairs)), expected, "{handle} {pairs:?}");
        }
        assert_eq!(lies(&one, &places("azureFile", "acc#share1", &[])), "equal");
        assert_eq!(lies(&one, &places("azureFile", "acc#share2", &[])), "apart");
        assert_eq!(lies(&one, &places("azureFile", "secret n/key#share1", &[])), "equal?");
        let by_nfs = [("shareName", "share1"), ("storageAccount", "acc"), ("protocol", "nfs")];
        let plain = places("nfs", "acc.file.core.windows.net:/acc/share1/a", &[]);
        assert_eq!(lies(&places(DRIVER, "any", &by_nfs), &plain), "inside");
    }

    #[test]
    fn deletion_takes_the_share_of_the_handle() {
        const DRIVER: &str = "file.csi.azure.com";
        let answer = |driver, handle| answer(&Case { driver, handle, ..Case::default() });
        let whole = "deletes the whole share share1 of the storage account acc with its snapshots";
        assert_eq!(answer(DRIVER, "group#acc#share1#a.vhd##"), whole);
        assert_eq!(answer("azureFile", "acc#share1"), whole);
        assert!(answer("azureFile", "secret n/key#share1").starts_with("does nothing"));
        assert!(answer(DRIVER, "any").starts_with("does nothing"));
        assert!(answer(DRIVER, "##").starts_with("fails"));
    }

    #[test]
    fn account_and_container_are_one_place_however_they_are_written() {
        const DRIVER: &str = "blob.csi.azure.com";
        let one = places(DRIVER, "group#acc#data#uuid", &[]);
        for (handle, pairs, expected) in [
            ("group#acc#data", &[][..], "equal"),
            ("group#acc#logs", &[], "apart"),
            ("group#acd#data", &[], "apart"),
            ("any", &[("containerName", "data"), ("storageAccount", "acc")], "equal"),
            (
                "any",
                &[("containerName", "data"), ("storageAccount", "acc"), ("subDir", "a")],
                "inside",
            ),
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
        assert_eq!(
            answer("g#acc#data#u"),
            "deletes the whole container data of the storage account acc"
        );
        assert!(answer("any").starts_with("does nothing"));
        assert!(answer("##").starts_with("fails"));
    }
}
