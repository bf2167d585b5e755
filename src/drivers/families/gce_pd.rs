//! Google Persistent Disk: `pd.csi.storage.gke.io`, and the in-tree volumes that were migrated to it.

use std::borrow::Cow;

use super::basis::{BASE, undecided};
use crate::drivers::{
    Deletion, Destruction, Expansion, Family, Fate, Letters, Name, Part, Place, Provisioner, Reach,
    Reference, Snapshots,
};

/// Google Persistent Disk.
pub(super) static GCE_PD: Family = Family {
    id: "gce-pd",
    title: "Google Persistent Disk",
    names: &[Name::Is("pd.csi.storage.gke.io")],
    identity: "project, zone or region, and the name of the disk; in-tree volumes lack the project \
               and sometimes the zone, and multi-zone stands for every zone",
    reach: Reach::Provider,
    used,
    deletion,
    destroys: "the disk; with the handle zones/multi-zone and --multi-zone-volume-handle-enable, the \
               disk of that name in every zone",
    answers_ok: &["a handle that does not parse", "a disk that does not exist"],
    refuses: &["a disk that is attached anywhere", "an unknown zone, if several have such a disk"],
    snapshots: Snapshots::all(Fate::Independent, "snapshots and images do not need their disk"),
    provisioner: Provisioner::csi(
        &["csi-gce-pd-controller"],
        &["gce-pd-driver", "gcp-compute-persistent-disk-csi-driver"],
    )
    .hidden("GKE runs it in the control plane: only its Events are visible"),
    expansion: Expansion::IN_GIB,
    sources: &[
        "kubernetes-sigs/gcp-compute-persistent-disk-csi-driver b560165c: pkg/common/utils.go VolumeIDToKey, \
         pkg/gce-pd-csi-driver/controller.go",
        "kubernetes/csi-translation-lib plugins/gce_pd.go",
        "seen with v1.28.1 over a stand-in for the compute API",
    ],
    ..BASE
};

/// The space of disks.
const SPACE: &str = "GCE disk";

/// The placeholder of a part that an in-tree volume does not contain.
const UNSPECIFIED: &str = "UNSPECIFIED";

/// A handle, split into project, location and disk.
struct Handle<'a> {
    project: &'a str,
    location: &'a str,
    disk: &'a str,
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        match handle.split('/').collect::<Vec<_>>()[..] {
            ["projects", project, "zones" | "regions", location, "disks", disk]
                if ![project, location, disk].contains(&"") =>
            {
                Some(Self { project, location, disk })
            }
            _ => None,
        }
    }

    /// Returns the place of the disk, with its project and location where these are known.
    fn place(&self) -> Place<'a> {
        let part = |text: &'a str, why| match text {
            UNSPECIFIED | "multi-zone" => Part::Unknown(why),
            known => Part::Is(Cow::Borrowed(known)),
        };
        // A project has a name and a number, and handles may contain either.
        let project = match self.project.bytes().all(|it| it.is_ascii_digit()) {
            true => Part::Named(Cow::Borrowed(self.project)),
            false => part(self.project, "the project of one of them is unknown"),
        };
        Place::device(SPACE, self.disk)
            .letters(Letters::Alike)
            .of(project)
            .of(part(self.location, "the zone of one of them is unknown"))
    }
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    Handle::read(reference.handle)
        .map_or_else(|| vec![undecided(SPACE, reference)], |it| vec![it.place()])
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let Some(handle) = Handle::read(deletion.reference.handle) else {
        return Destruction::Nothing(Cow::Borrowed("it cannot read the handle"));
    };
    let (disk, place) = (handle.disk, handle.place().into_owned());
    match (handle.location, deletion.flag("multi-zone-volume-handle-enable")) {
        ("multi-zone", Some("true")) => {
            Destruction::of(place, format!("the disk {disk} in every zone of the region"))
        }
        ("multi-zone", _) => Destruction::Undecided(Cow::Borrowed(
            "multi-zone is every zone, or none: the driver's flag --multi-zone-volume-handle-enable decides",
        )),
        (location, _) => Destruction::of(place, format!("the disk {disk} in {location}")),
    }
}
