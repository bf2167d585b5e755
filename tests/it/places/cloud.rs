//! Disks and shares of clouds.

use serde_json::{Value, json};

use super::{
    chance::Chance,
    model::{ACCOUNTS, Fate, Names, PROJECTS, REGION, ZONES, Zone, piece},
    volumes::{Drawn, csi, migrated},
};

fn ebs_id(chance: &mut Chance) -> String {
    format!("vol-0c1d2e3f4a5b6c7d{}", chance.roll(4))
}

fn ebs_disk(id: &str) -> Names {
    Names::Piece(piece(&["ebs", id]))
}

/// How in-tree sources write a disk.
fn ebs_in_tree(chance: &mut Chance, id: &str) -> Value {
    let spelled =
        chance.pick(&[format!("aws://us-east-1a/{id}"), format!("aws:///{id}"), id.to_owned()]);
    let partition = chance.roll(2);
    json!({"volumeID": spelled, "fsType": "ext4", "partition": partition})
}

pub(super) fn aws(chance: &mut Chance) -> Drawn {
    let id = ebs_id(chance);
    let names = ebs_disk(&id);
    let of = |family, driver: &str| csi(family, driver, id.clone(), json!({}), names.clone());
    match chance.roll(8) {
        0..=2 => of("EBS", "ebs.csi.aws.com"),
        3 => of("EBS Auto", "ebs.csi.eks.amazonaws.com"),
        4 | 5 => {
            let source = ("awsElasticBlockStore", ebs_in_tree(chance, &id));
            migrated("EBS in-tree", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", source, names)
        }
        6 => {
            let source = ("awsElasticBlockStore", ebs_in_tree(chance, &id));
            migrated("", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", source, names)
                .by_hand("EBS in-tree, static")
        }
        _ => of("", "ebs.csi.aws.com").by_hand("EBS, static"),
    }
}

pub(super) fn aws_inline(chance: &mut Chance) -> (&'static str, Value, Names) {
    let id = ebs_id(chance);
    ("awsElasticBlockStore", ebs_in_tree(chance, &id), ebs_disk(&id))
}

fn pd_name(chance: &mut Chance) -> String {
    format!("pvc-5d0c{}", chance.roll(4))
}

pub(super) fn google(chance: &mut Chance) -> Drawn {
    let name = pd_name(chance);
    let zone = chance.pick(&ZONES);
    let disk = |project: Option<&str>, zone: Zone| Names::Disk {
        project: project.map(str::to_owned),
        zone,
        disk: name.clone(),
    };
    let of = |family, project: &str, place: &str, names| {
        let handle = format!("projects/{project}/{place}/disks/{name}");
        csi(family, "pd.csi.storage.gke.io", handle, json!({}), names)
    };
    let zonal = format!("zones/{zone}");
    let named = || Zone::Named(zone.to_owned());
    let (acme, number) = (PROJECTS[0], PROJECTS[1]);
    match chance.roll(11) {
        0..=2 => of("PD", acme, &zonal, disk(Some(acme), named())),
        3 => {
            let region = Zone::Region(REGION.to_owned());
            of("PD, regional", acme, "regions/us-central1", disk(Some(acme), region))
        }
        4 => of("", number, &zonal, disk(Some(number), named())).odd("PD, project by number"),
        5 => of("", "UNSPECIFIED", &zonal, disk(None, named())).odd("PD, project UNSPECIFIED"),
        6 => of("", "UNSPECIFIED", "zones/UNSPECIFIED", disk(None, Zone::Unspecified))
            .odd("PD, UNSPECIFIED"),
        7 => {
            let all = of("", acme, "zones/multi-zone", disk(Some(acme), Zone::All));
            Drawn { access: "ReadOnlyMany", ..all.odd("PD, multi-zone") }
        }
        8 => of("", acme, &zonal, disk(Some(acme), named())).by_hand("PD, static"),
        9 => {
            let mut it = pd_in_tree("PD in-tree", &name, disk(None, named()));
            let key = chance
                .pick(&["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"]);
            it.labels.insert(key.to_owned(), zone.into());
            it
        }
        _ => pd_in_tree("", &name, disk(None, Zone::Unspecified)).odd("PD in-tree, without zone"),
    }
}

fn pd_in_tree(family: &'static str, name: &str, names: Names) -> Drawn {
    let source = ("gcePersistentDisk", json!({"pdName": name, "fsType": "ext4"}));
    migrated(family, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", source, names)
}

pub(super) fn google_inline(chance: &mut Chance) -> (&'static str, Value, Names) {
    let disk = pd_name(chance);
    let source = json!({"pdName": disk, "readOnly": true});
    ("gcePersistentDisk", source, Names::Disk { project: None, zone: Zone::Unspecified, disk })
}

/// An ARM id, in one of the ways in which ARM writes it.
fn azure_disk(chance: &mut Chance) -> (String, String, Names) {
    let name = format!("pvc-7e1f{}", chance.roll(3));
    let resource = "providers/Microsoft.Compute/disks";
    let id = format!("/subscriptions/0b1f6471/resourceGroups/MC_acme_shop/{resource}/{name}");
    let names = Names::Piece(piece(&["azure disk", &id.to_lowercase()]));
    let written = match chance.roll(3) {
        0 => id,
        1 => id.to_lowercase(),
        _ => id.replace("resourceGroups", "resourcegroups").replace("MC_acme", "mc_ACME"),
    };
    (name, written, names)
}

/// A share, and how its account is called.
fn azure_share(chance: &mut Chance) -> (&'static str, String) {
    (chance.pick(&ACCOUNTS), format!("share-{}", chance.roll(3)))
}

fn share(account: Option<&str>, path: &str) -> Names {
    Names::Share { account: account.map(str::to_owned), path: path.to_owned() }
}

pub(super) fn azure(chance: &mut Chance) -> Drawn {
    let file = "file.csi.azure.com";
    match chance.roll(12) {
        0..=2 => {
            let (_, id, names) = azure_disk(chance);
            csi("Azure disk", "disk.csi.azure.com", id, json!({}), names)
        }
        3 => {
            let (_, id, names) = azure_disk(chance);
            csi("", "disk.csi.azure.com", id, json!({}), names).by_hand("Azure disk, static")
        }
        4 => {
            let (name, id, names) = azure_disk(chance);
            let source = json!({"diskName": name, "diskURI": id, "kind": "Managed"});
            let plugin = "kubernetes.io/azure-disk";
            let source = ("azureDisk", source);
            migrated("Azure disk in-tree", plugin, "disk.csi.azure.com", source, names)
        }
        5..=7 => {
            let (account, name) = azure_share(chance);
            let group = chance.pick(&["MC_acme_shop", "mc_acme_shop", ""]);
            let tail = chance.pick(&["##shop", "##5d0c#shop", ""]);
            let handle = format!("{group}#{account}#{name}{tail}");
            let names = share(Some(account), &name);
            let it = csi("Azure Files", file, handle, json!({"skuName": "Standard_LRS"}), names);
            // Another group may stand for the driver's own, and snapshots die with a share.
            it.odd("Azure Files").shared()
        }
        8 => {
            let (account, name) = azure_share(chance);
            let folder = chance.pick(&["a", "b"]);
            let handle = format!("MC_acme_shop#{account}#{name}##{folder}#shop");
            let attributes = json!({"shareName": name, "folderName": folder});
            let (all, folder) = (share(Some(account), &name), format!("{name}/{folder}"));
            csi("", file, handle, attributes, all)
                .odd("Azure Files, folder")
                .mounts(share(Some(account), &folder))
                .shared()
        }
        9 => {
            let (account, name) = azure_share(chance);
            let attributes = json!({"shareName": name, "storageAccount": account});
            let handle = format!("unique-{}", chance.roll(9));
            csi("", file, handle, attributes, share(Some(account), &name))
                .by_hand("Azure Files, static")
                .fate(Fate::Keeps)
                .shared()
        }
        _ => {
            let (kind, source, names) = azure_share_inline(chance);
            let source = (kind, source);
            migrated("", "kubernetes.io/azure-file", file, source, names)
                .odd("Azure Files in-tree")
                .fate(Fate::Unknown)
                .shared()
        }
    }
}

fn azure_share_inline(chance: &mut Chance) -> (&'static str, Value, Names) {
    let (account, name) = azure_share(chance);
    let told = format!("azure-storage-account-{account}-secret");
    let secret = if chance.one_in(3) { "shop-files".to_owned() } else { told };
    let account = secret.starts_with("azure-").then_some(account);
    let source = json!({"secretName": secret, "shareName": name});
    ("azureFile", source, share(account, &name))
}

pub(super) fn azure_inline(chance: &mut Chance) -> (&'static str, Value, Names) {
    match chance.roll(4) {
        0 | 1 => {
            let (name, id, names) = azure_disk(chance);
            ("azureDisk", json!({"diskName": name, "diskURI": id, "kind": "Managed"}), names)
        }
        2 => azure_share_inline(chance),
        _ => {
            let (account, name) = azure_share(chance);
            let told = chance.one_in(2);
            let mut attributes = json!({"shareName": name, "secretName": "shop-files"});
            if told {
                attributes["server"] = format!("{account}.file.core.windows.net").into();
            }
            let source = json!({"driver": "file.csi.azure.com", "volumeAttributes": attributes});
            ("csi", source, share(told.then_some(account), &name))
        }
    }
}
