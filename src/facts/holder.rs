//! Who holds an object by a finalizer, and whether they are there.

use super::{
    FinalizerOwner, Owner, attacher, controller_manager, owner, owner_of, provisioner, snapshotter,
};
use crate::cluster::Cx;
use crate::model::{
    Attachment, Claim, ControllerState, Liveness, ManagedField, Metadata, Text, Volume,
    migrated_driver,
};

/// A finalizer, who should remove it, and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The finalizer.
    pub finalizer: Text,
    /// Who should remove it.
    pub by: String,
    /// What is known of them; `None` where nothing can be.
    pub state: Option<ControllerState>,
    /// Who set it, by `managedFields`.
    pub managers: Vec<String>,
}

/// The drivers whose sidecars may have set a finalizer.
struct Drivers {
    provisioner: Option<Text>,
    attacher: Option<Text>,
}

/// Returns who holds a volume.
pub fn holders_of_volume(cx: &Cx, volume: &Volume) -> Vec<Holder> {
    let owner = owner(volume);
    let drivers =
        Drivers { provisioner: owner.csi().cloned(), attacher: super::attacher_of(volume) };
    let mut holders = holders(cx, &volume.metadata, &drivers);
    // From a volume that never was in-tree nobody removes it (`modifyDeletionFinalizers`).
    let provisioner = volume.provisioned_by.as_deref();
    if owner.csi().is_some() && provisioner.and_then(migrated_driver).is_none() {
        for holder in holders.iter_mut().filter(|it| &*it.finalizer == super::IN_TREE) {
            "nobody, from a volume that never was in-tree".clone_into(&mut holder.by);
            holder.state = None;
        }
    }
    holders
}

/// Returns who holds a claim: its clones are made by the driver of its volume.
pub fn holders_of_claim(cx: &Cx, claim: &Claim) -> Vec<Holder> {
    let volume = claim.volume_name.as_deref().and_then(|name| cx.cluster().volume_named(name));
    let of_volume = volume.map(owner).as_ref().and_then(Owner::csi).cloned();
    let named =
        claim.provisioner.as_deref().map(|it| Text::from(migrated_driver(it).unwrap_or(it)));
    let drivers = Drivers { provisioner: of_volume.or(named), attacher: None };
    holders(cx, &claim.metadata, &drivers)
}

/// Returns who holds an attachment.
pub fn holders_of_attachment(cx: &Cx, attachment: &Attachment) -> Vec<Holder> {
    let attacher = Some(Text::clone(&attachment.attacher));
    holders(cx, &attachment.metadata, &Drivers { provisioner: None, attacher })
}

fn holders(cx: &Cx, metadata: &Metadata, drivers: &Drivers) -> Vec<Holder> {
    metadata.finalizers.iter().map(|finalizer| holder(cx, metadata, finalizer, drivers)).collect()
}

fn holder(cx: &Cx, metadata: &Metadata, finalizer: &Text, drivers: &Drivers) -> Holder {
    let field = ManagedField::Finalizer(Text::clone(finalizer));
    let managers = metadata.managers_of(&field).map(|it| it.manager.to_string()).collect();
    let of =
        |who: &str, driver: &Option<Text>, state: fn(&Cx, &Text) -> ControllerState| match driver {
            Some(driver) => (format!("{who} of {driver}"), Some(state(cx, driver))),
            None => (format!("{who} of a driver that is not known"), None),
        };
    let (by, state) = match owner_of(finalizer) {
        FinalizerOwner::Provisioner | FinalizerOwner::Cloning => {
            of("csi-provisioner", &drivers.provisioner, provisioner)
        }
        FinalizerOwner::Attacher(_) => of("external-attacher", &drivers.attacher, attacher),
        FinalizerOwner::ControllerManager => {
            ("kube-controller-manager".to_owned(), Some(controller_manager(cx)))
        }
        FinalizerOwner::Snapshotter => ("snapshot-controller".to_owned(), Some(snapshotter(cx))),
        FinalizerOwner::GarbageCollector => {
            ("the garbage collector".to_owned(), Some(controller_manager(cx)))
        }
        FinalizerOwner::Unknown => ("whoever set it".to_owned(), None),
    };
    Holder { finalizer: Text::clone(finalizer), by, state, managers }
}

impl Holder {
    /// Whether they are there, as far as that can be known.
    pub fn liveness(&self) -> Liveness {
        self.state.as_ref().map_or(Liveness::Unknown, |it| it.liveness)
    }
}
