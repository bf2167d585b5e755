//! What several families share: ids of devices, servers and paths.

use std::borrow::Cow;

pub(super) use crate::drivers::NFS;
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Letters, Part, Place, Provisioner, Reference,
    Snapshots, UNREAD,
};

/// What most families of block devices have in common. A family writes down everything that is its
/// own: an empty sentence fails a test.
pub(super) const BLOCK: Family = Family {
    id: "",
    title: "",
    names: &[],
    identity: "",
    attributes: &[],
    marks: &[],
    telling: &[],
    used: |reference| {
        let space = crate::drivers::own_space(reference.driver);
        vec![Place::undecided(space, reference.handle, "its driver is unknown")]
    },
    exports_elsewhere: |_| false,
    deletion: |_| Destruction::Undecided(Cow::Borrowed("its driver is unknown")),
    destroys: "",
    answers_ok: &[],
    refuses: &[],
    class_parameters: &[],
    reads_class: false,
    deletes_on_node: Some(false),
    own_provisioner: None,
    snapshots: Snapshots::all(Fate::Unknown, ""),
    clones: Fate::Independent,
    object_dropped: None,
    provisioner: Provisioner::NOBODY,
    defects: &[],
    sources: &[],
};

/// What most families of directories and shares have in common.
pub(super) const SHARE: Family = Family { clones: Fate::Independent, ..BLOCK };

/// A place that cannot be told, in a space.
pub(super) fn undecided<'a>(space: &'static str, reference: &Reference<'a>) -> Place<'a> {
    Place::undecided(space, reference.handle, "its handle does not identify a backend volume")
}

/// The device with this id, in a space whose ids have only lower case, or tell no case apart.
pub(super) fn device<'a>(space: &'static str, id: impl Into<Cow<'a, str>>) -> Place<'a> {
    Place::device(space, id).letters(Letters::Alike)
}

/// A path on an NFS server.
pub(super) fn nfs<'a>(server: &'a str, path: &'a str) -> Place<'a> {
    Place::directory(NFS, path).of(nfs_server(server))
}

/// A server: an EFS file system by its id, any other one by this address.
pub(super) fn nfs_server(server: &str) -> Part<'_> {
    let server = server.trim_matches(['[', ']']).trim_end_matches('.');
    // fs-1.efs.eu-west-1.amazonaws.com, also eu-west-1a.fs-1.efs.eu-west-1.amazonaws.com
    let of_efs = server
        .strip_suffix(".amazonaws.com")
        .and_then(|it| it.rsplit_once('.'))
        .and_then(|(it, _region)| it.strip_suffix(".efs"))
        .map(|it| it.rsplit_once('.').map_or(it, |(_zone, id)| id))
        .filter(|id| id.starts_with("fs-"));
    Part::Server {
        identity: of_efs.map(|id| Cow::Owned(format!("EFS {id}"))),
        address: Some(Cow::Borrowed(server)),
    }
}

/// Joins a share and a directory in it.
pub(super) fn join(share: &str, directory: &str) -> String {
    format!("{}/{directory}", share.trim_end_matches('/'))
}

/// What a driver destroys that deletes exactly what the volume uses.
pub(super) fn what_it_uses(
    deletion: &Deletion<'_>,
    what: impl Into<Cow<'static, str>>,
) -> Destruction {
    let places = crate::drivers::used(&deletion.reference);
    if let Some(why) = places.iter().find_map(Place::doubt) {
        return Destruction::Undecided(Cow::Owned(why.to_owned()));
    }
    if places.is_empty() {
        return Destruction::Undecided(Cow::Borrowed(
            "its handle does not identify a backend \
                                                     volume",
        ));
    }
    let places = places.into_iter().map(Place::into_owned).collect();
    Destruction::Storage { places, what: what.into() }
}

/// The device of a driver whose handles are ids, and nothing else.
pub(super) fn named<'a>(space: &'static str, reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.handle {
        "" | INLINE => undecided(space, reference),
        id => device(space, id),
    }]
}

/// What a driver destroys that deletes the one thing that its handle names.
pub(super) fn deletes_named(deletion: &Deletion<'_>, what: &str) -> Destruction {
    what_it_uses(deletion, format!("{what} {}", deletion.reference.handle))
}

/// The last component of a path.
pub(super) fn last_component(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// What csi-driver-nfs and csi-driver-smb do with the directory of a volume: as its handle says, or
/// else the flag of the controller.
pub(super) enum OnDelete {
    Delete,
    Retain,
    Archive,
    /// A variable decides it.
    Unread,
}

impl OnDelete {
    /// Any word that the drivers do not know deletes.
    pub(super) fn of(handle: &str, deletion: &Deletion<'_>) -> Self {
        let mut defaults = deletion.flags("default-ondelete-policy");
        // Where two controllers differ, either may act.
        let default = defaults.next().filter(|it| defaults.all(|other| other == *it));
        let policy = if handle.is_empty() { default.unwrap_or_default() } else { handle };
        match policy.to_ascii_lowercase().as_str() {
            policy if policy.contains(UNREAD) => Self::Unread,
            "retain" => Self::Retain,
            "archive" => Self::Archive,
            _ => Self::Delete,
        }
    }

    /// What becomes of a directory of a share; without one, of the whole share.
    pub(super) fn destruction(
        &self,
        share: &str,
        directory: &str,
        place: Place<'static>,
    ) -> Destruction {
        match self {
            Self::Retain => Destruction::Nothing(Cow::Borrowed("onDelete is retain")),
            Self::Unread => Destruction::Undecided(Cow::Borrowed(
                "its controller is started by a line of a shell or with a variable, which may set \
                 --default-ondelete-policy",
            )),
            Self::Archive => Destruction::Kept {
                places: vec![place],
                what: format!("renames the directory to archived-{directory}").into(),
            },
            Self::Delete if directory.is_empty() => {
                Destruction::of(place, format!("everything on the share {share}"))
            }
            Self::Delete => Destruction::of(place, format!("the directory {directory} of {share}")),
        }
    }
}
