//! Keys of backend volumes: driver and handle, with in-tree sources translated to their CSI driver.

use std::fmt;

use super::Text;

/// The identity of a backend volume: handles are unique per driver only.
///
/// In-tree sources are translated to the driver they migrate to, as csi-translation-lib does, so
/// that an in-tree volume and a CSI volume of the same disk are equal (semantics#backend-volume).
/// Sources other than CSI carry the kind of their source as driver and everything that makes the
/// path unique, such as the node, in the handle.
///
/// Equality compares the text: [`BackendKey::same`] also compares keys with unknown parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendKey {
    /// The CSI driver, or the kind of source.
    pub driver: Text,
    /// The volume handle.
    pub handle: Text,
}

/// The nodes of a path whose nodes are unknown.
const ANY: &str = "any";
/// The project of a GCE disk in an in-tree volume, which does not contain it; of one that a pod
/// describes itself, also the zone (csi-translation-lib `gce_pd.go`,
/// `TranslateInTreeInlineVolumeToCSI`).
const UNSPECIFIED: &str = "UNSPECIFIED";
/// The driver of in-tree Azure shares, whose CSI handle is unknown.
const AZURE_FILE: &str = "azureFile";
const GCE_DRIVER: &str = "pd.csi.storage.gke.io";

impl BackendKey {
    /// Returns the part by which equal keys can be looked up: everything except the GCE project and
    /// location, which in-tree volumes may lack, and the nodes of a path.
    ///
    /// An Azure share is identified by its storage account and its name alone.
    pub fn lookup(&self) -> (&str, &str) {
        if let Some(share) = self.azure_share() {
            return (AZURE_FILE, share);
        }
        let disk = || self.gce().map(|[_, _, disk]| disk);
        let sure = self.path().map(|(path, _)| path).or_else(disk);
        (&self.driver, sure.unwrap_or(&self.handle))
    }

    /// Whether it can be compared with the keys of all other volumes. An in-tree Azure share whose
    /// account is only in a Secret cannot.
    pub fn is_comparable(&self) -> bool {
        !(&*self.driver == AZURE_FILE && self.handle.starts_with("secret "))
    }

    /// Returns `account#share` of the CSI handle `group#account#share[#disk[#anything]]`, unless it
    /// is a disk within a share.
    fn azure_share(&self) -> Option<&str> {
        if &*self.driver != "file.csi.azure.com" {
            return None;
        }
        let (_, rest) = self.handle.split_once('#')?;
        let mut parts = rest.split('#');
        let (account, share) = (parts.next()?, parts.next()?);
        let extension = parts.next().and_then(|disk| disk.rsplit_once('.'));
        let disk = extension.is_some_and(|(_, it)| it.eq_ignore_ascii_case("vhd"));
        let known = !account.is_empty() && !share.is_empty() && !disk;
        known.then(|| &rest[..account.len() + 1 + share.len()])
    }

    /// Whether both reference the same backend volume, as far as is known. A part that one of them
    /// lacks counts as equal, so that this is not transitive.
    pub fn same(&self, other: &Self) -> bool {
        if self.lookup() != other.lookup() {
            return false;
        }
        if let (Some((_, mine)), Some((_, theirs))) = (self.path(), other.path()) {
            return mine == theirs || mine == ANY || theirs == ANY;
        }
        let open = |text: &str| text == UNSPECIFIED || text.ends_with("/UNSPECIFIED");
        match (self.gce(), other.gce()) {
            (Some([mine, here, _]), Some([theirs, there, _])) => {
                let alike = |a: &str, b: &str| a == b || open(a) || open(b);
                alike(mine, theirs) && alike(here, there)
            }
            _ => true,
        }
    }

    /// Splits `projects/P/zones/Z/disks/D` into project, location and disk.
    fn gce(&self) -> Option<[&str; 3]> {
        if &*self.driver != GCE_DRIVER {
            return None;
        }
        let (project, rest) = self.handle.strip_prefix("projects/")?.split_once('/')?;
        let (place, disk) = rest.rsplit_once("/disks/")?;
        Some([project, place, disk])
    }

    /// Splits a folder of nodes into its path and the nodes.
    fn path(&self) -> Option<(&str, &str)> {
        matches!(&*self.driver, "hostPath" | "local").then(|| self.handle.rsplit_once('@'))?
    }
}

impl fmt::Display for BackendKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.driver, self.handle)
    }
}

/// Returns the CSI driver that an in-tree provisioner was migrated to
/// (csi-translation-lib 0.36).
pub fn migrated_driver(in_tree: &str) -> Option<&'static str> {
    Some(match in_tree {
        "kubernetes.io/gce-pd" => GCE_DRIVER,
        "kubernetes.io/aws-ebs" => "ebs.csi.aws.com",
        "kubernetes.io/cinder" => "cinder.csi.openstack.org",
        "kubernetes.io/azure-disk" => "disk.csi.azure.com",
        "kubernetes.io/azure-file" => "file.csi.azure.com",
        "kubernetes.io/vsphere-volume" => "csi.vsphere.vmware.com",
        "kubernetes.io/portworx-volume" => "pxd.portworx.com",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(driver: &str, handle: &str) -> BackendKey {
        BackendKey { driver: driver.into(), handle: handle.into() }
    }

    #[test]
    fn handles_are_compared_within_one_driver() {
        assert!(key("a", "vol-1").same(&key("a", "vol-1")));
        assert!(!key("a", "vol-1").same(&key("b", "vol-1")));
        assert!(!key("a", "projects/p/x").same(&key("a", "projects/q/x")));
    }

    #[test]
    fn an_azure_share_is_the_same_under_both_of_its_names() {
        let csi = |handle| key("file.csi.azure.com", handle);
        let in_tree = key(AZURE_FILE, "acc#share");
        assert!(in_tree.same(&csi("group#acc#share#")) && csi("group#acc#share").same(&in_tree));
        assert!(csi("g#acc#share##uuid#ns").same(&csi("h#acc#share")));
        assert!(!in_tree.same(&csi("group#acc#other")) && !in_tree.same(&csi("acc#share")));
        assert!(!csi("g#acc#share#a.vhd").same(&csi("g#acc#share#b.vhd")));
        assert!(in_tree.is_comparable() && !key(AZURE_FILE, "secret n/key#share").is_comparable());
    }

    #[test]
    fn an_unspecified_project_is_every_project() {
        let open = key(GCE_DRIVER, "projects/UNSPECIFIED/zones/z/disks/d");
        let mine = key(GCE_DRIVER, "projects/mine/zones/z/disks/d");
        let theirs = key(GCE_DRIVER, "projects/theirs/zones/z/disks/d");
        let other_zone = key(GCE_DRIVER, "projects/mine/zones/y/disks/d");
        assert!(open.same(&mine) && mine.same(&open) && open.same(&theirs));
        assert!(!mine.same(&theirs), "two projects, two disks");
        assert!(!open.same(&other_zone));
        let inline = key(GCE_DRIVER, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
        assert!(inline.same(&mine) && other_zone.same(&inline) && open.same(&inline));
        assert!(!inline.same(&key(GCE_DRIVER, "projects/mine/zones/z/disks/e")));
    }

    #[test]
    fn a_path_on_any_node_is_that_of_every_node() {
        for source in ["hostPath", "local"] {
            let any = key(source, "/d@any");
            let (one, other) =
                (key(source, "/d@host In [\"a\"]"), key(source, "/d@host In [\"b\"]"));
            assert!(any.same(&one) && other.same(&any) && one.same(&one));
            assert!(!one.same(&other), "two nodes, two folders");
            assert!(!any.same(&key(source, "/e@any")) && !any.same(&key(source, "/d@x@any")));
        }
        assert!(!key("hostPath", "/d@any").same(&key("local", "/d@any")));
        assert!(!key("a", "/d@any").same(&key("a", "/d@b")), "only of folders");
    }
}
