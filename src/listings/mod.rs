//! Listings of a storage provider: the disks that it has, as its own command prints them.
//!
//! A listing is a file that the user made. Nothing here asks a provider, and nothing knows a cluster.

mod answers;
mod found;
mod json;
mod providers;
mod read;
mod row;
mod shape;
mod value;

pub(crate) use found::{Listing, ListingError};
pub(crate) use providers::{is_one_provider, provider};
#[cfg(test)]
pub(crate) use read::unpacked;
pub(crate) use read::{ListingInput, NamedFile, Opened, read};
pub(crate) use shape::uid_of_name;

use crate::drivers::{Place, Reference, used};
use crate::model::{
    Attributes, BackendKey, Bytes, ClaimKey, Interner, InventoryDisk, InventorySystem, Text, Time,
};

/// A disk, an access point or an image that a provider has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Driver and handle, as a `PersistentVolume` writes them.
    pub backend: BackendKey,
    /// The attributes that a `PersistentVolume` has beside its handle, where these decide what it is.
    pub attributes: Attributes,
    /// What the provider calls its type; `None` where the listing does not tell.
    pub kind: Option<Text>,
    /// Its size; `None` where the listing does not tell.
    pub size: Option<Bytes>,
    /// The time at which it was made; `None` where the listing does not tell.
    pub created: Option<Time>,
    /// The time at which it was last detached from a machine.
    pub detached: Option<Time>,
    /// Whether a machine has it.
    pub attached: Attached,
    /// The place that a listing covers: account or project, and in it region or zone, with `/` between. Empty where a
    /// listing has everything of its account.
    pub place: Text,
    /// The zone or region in which nodes can use it; `None` where the listing does not tell, or tells several.
    pub zone: Option<Text>,
    /// Who made it; `None` if nothing tells that Kubernetes did.
    pub made: Option<Made>,
    /// Its tags, labels or metadata.
    pub tags: Box<[(Text, Text)]>,
    /// The object that shows it, of a disk that lies in a cluster.
    pub object: Option<Box<InventoryDisk>>,
}

/// Whether a machine has a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attached {
    /// The listing does not tell.
    Unknown,
    /// No machine has it.
    No,
    /// These machines have it, by their ids.
    To(Box<[Text]>),
    /// Something has it or may have it again, which the provider calls this state.
    Held(Text),
}

/// What a disk tells of the claim and the cluster for which a driver made it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Made {
    /// The claim.
    pub claim: Option<ClaimKey>,
    /// The `PersistentVolume`.
    pub volume: Option<Text>,
    /// The uid of the claim, as hexadecimal digits: 32 of them, or as many of the first as the driver kept.
    pub uid: Option<Text>,
    /// The identities of the cluster; the driver may write several.
    pub clusters: Vec<Text>,
}

impl Disk {
    /// Returns a disk of which nothing else is known.
    pub fn new(driver: &str, handle: impl Into<Text>) -> Self {
        Self {
            backend: BackendKey { driver: driver.into(), handle: handle.into() },
            attributes: Attributes::default(),
            kind: None,
            size: None,
            created: None,
            detached: None,
            attached: Attached::Unknown,
            place: Text::default(),
            zone: None,
            made: None,
            tags: Box::default(),
            object: None,
        }
    }

    /// Returns a disk that lies in a cluster, as a volume of this driver names it.
    pub fn in_cluster(object: &InventoryDisk, driver: &str) -> Self {
        // A copy may have the name of its source behind its own.
        let name = Some(&*object.name).filter(|it| it.starts_with("pvc-") && !object.is_imported);
        let made = provider(driver).made(name, &[]);
        Self {
            attributes: object.attributes.clone(),
            size: object.size,
            created: object.created,
            attached: object.held.clone().map_or(Attached::No, Attached::Held),
            made: made.map(|it| Made {
                claim: object.claim.clone(),
                volume: name.map(Text::from),
                ..it
            }),
            object: Some(Box::new(object.clone())),
            ..Self::new(driver, object.handle())
        }
    }

    /// Whether it is a device, and no directory on a server.
    pub fn is_device(&self) -> bool {
        let places = used(&Reference::of(&self.backend, &self.attributes));
        places.iter().any(Place::is_device)
    }

    /// Returns the system in whose inventory it lies, with its object there.
    pub fn lies_in(&self) -> Option<(&'static InventorySystem, &InventoryDisk)> {
        let object = self.object.as_deref()?;
        Some((InventorySystem::of_kind(object.kind)?, object))
    }

    /// Returns the value of a tag.
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|it| *it.0 == *key).map(|it| &*it.1)
    }

    /// Takes the texts that other disks have, too, from a common store.
    pub fn share(&mut self, texts: &mut Interner) {
        let made = self.made.iter_mut().flat_map(|made| {
            made.clusters.shrink_to_fit();
            let namespace = made.claim.iter_mut().map(|it| &mut it.namespace);
            made.clusters.iter_mut().chain(&mut made.volume).chain(namespace)
        });
        let tags = self.tags.iter_mut().flat_map(|(key, value)| [key, value]);
        let own = [&mut self.backend.driver, &mut self.place];
        let all = own.into_iter().chain(&mut self.kind).chain(&mut self.zone).chain(tags);
        for text in all.chain(made) {
            *text = texts.text(text);
        }
    }

    /// Returns the disk in the zone or region in which nodes can use it.
    fn in_zone(mut self, zone: Option<&str>) -> Self {
        self.zone = zone.map(Text::from);
        self
    }

    /// Returns the disk with its type, which may be the last part of an address.
    fn of_type(mut self, kind: Option<&str>) -> Self {
        self.kind = kind.and_then(|it| it.rsplit('/').next()).map(Text::from);
        self
    }

    /// Returns the disk with these tags, and with what they and its name tell of who made it.
    fn tagged(mut self, name: Option<&str>, tags: Vec<(Text, Text)>) -> Self {
        self.made = provider(&self.backend.driver).made(name, &tags);
        self.tags = tags.into();
        self
    }
}

impl Attached {
    /// Returns that a machine has the disk in a state that is not this one, although none is named.
    fn unless(self, is_free: bool) -> Self {
        self.or_state("in use", is_free)
    }

    /// Returns the state where no machine is named, and the disk is not free.
    fn or_state(self, state: &str, is_free: bool) -> Self {
        match self {
            Self::No if !is_free => Self::Held(state.into()),
            it => it,
        }
    }
}
