//! Whether a listed disk may be given to a claim: only one that no cluster needs.

use super::{DiskFate, Inventory, LOST};
use crate::facts::disks_of_cluster::{DiskKeys, DiskNaming};
use crate::facts::quoted;
use crate::facts::standing::Standing;
use crate::listings::{Attached, Disk};
use crate::model::{ObjectRef, Text, first_of};

/// Why a disk is not one that no cluster needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needed {
    /// A volume names it.
    ByVolume(ObjectRef),
    /// Something else, in words.
    Otherwise(String),
}

impl Inventory<'_> {
    /// Returns what is not certain about a disk that no cluster needs, apart from the volume of this name in the first
    /// cluster, which an earlier run has created for it.
    ///
    /// # Errors
    /// What needs the disk, or may need it.
    pub fn adoptable(&self, disk: &Disk, own: &str) -> Result<Vec<String>, Needed> {
        self.named_by(disk, own)?;
        let needed = |why: &str| Err(Needed::Otherwise(why.to_owned()));
        match Standing::of(disk, DiskNaming::Not, |uids| self.has_claim(uids)) {
            Standing::Left if self.is_taken(disk) => {
                needed("another row about it says that it is in use, or may be")
            }
            Standing::Left => self.unneeded(disk),
            Standing::Named | Standing::MaybeNamed => needed("a cluster names it"),
            Standing::Attached => match &disk.attached {
                Attached::To(machines) => {
                    let machines: Vec<_> = machines.iter().map(|it| &**it).collect();
                    needed(&format!("at the provider it is attached to {}", first_of(&machines, 3)))
                }
                Attached::Held(state) => needed(&format!("its state at the provider is {state}")),
                Attached::No | Attached::Unknown => needed("a machine has it"),
            },
            Standing::AttachmentUnknown => {
                needed("the listing does not tell whether a machine has it")
            }
            Standing::NotKubernetes => needed("nothing shows that Kubernetes made it"),
            Standing::Claimed => needed("the claim that it was made for exists"),
        }
    }

    /// Returns the options with which `adopt` into a cluster judges a disk as it is judged here.
    pub fn said(&self, cluster: Option<usize>) -> Vec<String> {
        let name = |number: usize| self.clusters[number].name.as_deref();
        let mut said = Vec::new();
        if self.clusters.iter().any(|it| it.name.is_some()) {
            said.push(format!("--context {}", quoted(cluster.and_then(name).unwrap_or("CONTEXT"))));
            let others = (0..self.clusters.len()).filter(|it| Some(*it) != cluster);
            let others: Vec<_> = others.filter_map(name).collect();
            match (cluster, others.len()) {
                (Some(_), 0) | (None, 1) => {}
                (Some(_), 1..=3) => said.push(format!("--beside {}", quoted(&others.join(",")))),
                _ => said.push("--beside OTHER,CONTEXTS".to_owned()),
            }
        }
        said.extend(self.words.are_all.then(|| "--all-clusters".to_owned()));
        said.extend(self.words.identities.iter().map(|(number, value)| {
            // A command for one cluster does not name it.
            let is_one = self.clusters.len() == 1;
            let of = name(*number).filter(|_| !is_one).map(|it| format!("{it}="));
            let of = of.unwrap_or_default();
            format!("--cluster-tag {}", quoted(&format!("{of}{value}")))
        }));
        said
    }

    fn named_by(&self, disk: &Disk, own: &str) -> Result<(), Needed> {
        let keys = DiskKeys::of(disk);
        for (number, cluster) in self.clusters.iter().enumerate() {
            let of = |it: &Text| format!(" of cluster {it}");
            let of = cluster.name.as_ref().map(of).unwrap_or_default();
            match cluster.naming(&keys, disk) {
                DiskNaming::Not => {}
                DiskNaming::Named(Some(volume)) => {
                    let volume = cluster.volumes[volume as usize].reference.object();
                    // What else names it there, is looked for when it is proposed.
                    if number > 0 || *volume.key.name != *own {
                        return Err(Needed::ByVolume(volume));
                    }
                }
                DiskNaming::Named(None) => {
                    return Err(Needed::Otherwise(format!(
                        "an attachment, a node, a snapshot, an inline volume or a record of kept backend volumes{of} names it"
                    )));
                }
                DiskNaming::Maybe => {
                    return Err(Needed::Otherwise(format!(
                        "it may be in use{of}: by a volume of which not everything is known, by a claim or an \
                         attachment whose volume is gone, or by pods whose claim is"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Whether the cluster that made a disk, or one that may have made it, is known from a dump only.
    fn is_saved(&self, of: Option<usize>, driver: &str) -> bool {
        match of {
            Some(cluster) => self.clusters[cluster].is_saved,
            None => self.clusters.iter().any(|it| it.is_saved && it.may_make(driver)),
        }
    }

    fn unneeded(&self, disk: &Disk) -> Result<Vec<String>, Needed> {
        let needed = |why: String| Err(Needed::Otherwise(why));
        let driver = &disk.backend.driver;
        // In the first one that is looked for when it is proposed: there its own claim may be the one.
        if self.clusters.iter().skip(1).any(|it| it.may_have_lost(driver)) {
            return needed(format!("in a cluster beside, {LOST}"));
        }
        match self.fate(disk) {
            DiskFate::Orphan { of, .. } if self.is_saved(of, driver) => needed(
                "a cluster that may have made it is known from a dump, which permits nothing: of one that was thrown \
                 away, --cluster-tag gives what it wrote on its disks"
                    .to_owned(),
            ),
            DiskFate::Orphan { of, doubt } => {
                let word = "by --all-clusters, no cluster that was not given needs it";
                Ok(doubt.into_iter().chain(of.is_none().then(|| word.to_owned())).collect())
            }
            DiskFate::Unattributed => needed(
                "unknown which cluster made it: give every cluster that uses the account, with --beside and \
                 --all-clusters"
                    .to_owned(),
            ),
            DiskFate::OfAnother => {
                let made = disk.made.iter().flat_map(|it| &it.clusters);
                let tags: Vec<_> = made.map(|it| &**it).collect();
                needed(format!(
                    "a cluster that is not given made it ({}): give it with --beside; of one that was thrown away, \
                     --cluster-tag gives what it wrote on its disks",
                    first_of(&tags, 3)
                ))
            }
            DiskFate::Elsewhere => needed(
                "it is in a region or project in which its cluster has neither nodes nor volumes"
                    .to_owned(),
            ),
            DiskFate::TooYoung => {
                needed("it was just made: a PersistentVolume for it may appear yet".to_owned())
            }
            DiskFate::Gap(gap) => needed(format!("{} was not read: {}", gap.kind, gap.reason)),
        }
    }
}
