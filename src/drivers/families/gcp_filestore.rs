//! Google Filestore: `filestore.csi.storage.gke.io`.

use std::borrow::Cow;

use super::basis::{BASE, NFS, address, server, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reach, Reference,
    Snapshots,
};

/// Google Filestore.
pub(super) static GCP_FILESTORE: Family = Family {
    id: "gcp-filestore",
    title: "Google Filestore",
    names: &[Name::Is("filestore.csi.storage.gke.io")],
    identity: "the instance with its location, and the share in it: MODE/LOCATION/INSTANCE/SHARE or \
               modeMultishare/PREFIX/PROJECT/LOCATION/INSTANCE/SHARE; nodes mount the attributes ip and volume",
    reach: Reach::Provider,
    // Handles of instances have no project, and those of others are not compared by it.
    reach_of: |it| match Handle::read(it.handle) {
        Some(Handle::Instance { .. } | Handle::Share { .. }) => Some(Reach::Network),
        _ => None,
    },
    attributes: &["ip", "volume"],
    used,
    deletion,
    destroys: "the whole instance, whatever share the volume references; of multishare volumes \
               the share, and the instance if it is then empty",
    answers_ok: &["a handle that does not parse", "an instance that does not exist"],
    refuses: &["an instance with snapshots that were created outside the cluster"],
    snapshots: Snapshots::all(Fate::Independent, "they are Filestore backups, separate resources"),
    provisioner: Provisioner::csi(&["gcp-filestore-csi-controller"], &["gcp-filestore-csi-driver"])
        .hidden("GKE may run it in the control plane; unknown what is visible then"),
    sources: &[
        "kubernetes-sigs/gcp-filestore-csi-driver 2edb466b: pkg/csi_driver/volume_id.go, sharepool.go, controller.go \
         DeleteVolume, node.go",
    ],
    ..BASE
};

/// A handle, split as the driver does.
enum Handle<'a> {
    /// One share, which is the instance.
    Instance { location: &'a str, name: &'a str, share: &'a str },
    /// One of several shares of an instance.
    Share { location: &'a str, name: &'a str, share: &'a str },
    /// A share of a pool.
    Pool { pool: &'a str, ip: &'a str },
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        if let Some(rest) = handle.strip_prefix("sharepool://") {
            let (path, ip) = rest.split_once("?ip=")?;
            return Some(Self::Pool { pool: path.split_once("/shares/")?.0, ip });
        }
        match (handle.contains("modeMultishare"), &handle.split('/').collect::<Vec<_>>()[..]) {
            (false, &[_, location, name, share]) if ![location, name].contains(&"") => {
                Some(Self::Instance { location, name, share })
            }
            (true, &["modeMultishare", _, project, location, name, share])
                if ![project, location, name, share].contains(&"") =>
            {
                Some(Self::Share { location, name, share })
            }
            _ => None,
        }
    }

    fn server(&self, ip: Option<&'a str>) -> Part<'a> {
        match self {
            Self::Instance { location, name, .. } | Self::Share { location, name, .. } => {
                server(format!("Filestore {location}/{name}"), ip)
            }
            Self::Pool { pool, ip } => server(format!("Filestore pool {pool}"), Some(ip)),
        }
    }
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let ip = reference.attribute("ip").filter(|ip| !ip.is_empty());
    let volume = reference.attribute("volume").filter(|volume| !volume.is_empty());
    vec![match (Handle::read(reference.handle), ip) {
        (Some(handle @ Handle::Pool { .. }), _) => {
            let why = "the path of a share in a pool is not in its handle";
            Place::undecided(NFS, reference.handle, why).of(handle.server(ip))
        }
        (Some(handle @ Handle::Instance { share, .. }), _) => {
            Place::directory(NFS, volume.unwrap_or(share)).of(handle.server(ip))
        }
        (Some(handle @ Handle::Share { share, .. }), _) => {
            Place::directory(NFS, share).of(handle.server(ip))
        }
        (None, Some(ip)) => Place::directory(NFS, volume.unwrap_or("/")).of(address(ip)),
        (None, None) => undecided(NFS, reference),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let ip = deletion.reference.attribute("ip").filter(|ip| !ip.is_empty());
    let handle = match Handle::read(deletion.reference.handle) {
        Some(handle) => handle,
        None if deletion.reference.handle.contains("modeMultishare") => {
            return Destruction::Fails(Cow::Borrowed("it cannot read the handle"));
        }
        None => return Destruction::Nothing(Cow::Borrowed("it cannot read the handle")),
    };
    let within = |path| Place::directory(NFS, path).of(handle.server(ip)).into_owned();
    match handle {
        // Such an instance has one share: nothing else is in it.
        Handle::Instance { name, share, .. } => Destruction::Storage {
            places: vec![within("/"), within(share)],
            what: format!("the whole Filestore instance {name} with all its shares").into(),
        },
        Handle::Share { name, share, .. } => Destruction::of(
            within(share),
            format!(
                "the share {share} of the Filestore instance {name}, and the instance if it is then empty"
            ),
        ),
        Handle::Pool { .. } => {
            Destruction::Undecided(Cow::Borrowed("unknown what it deletes of a share pool"))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, destruction, lies, places};
    use crate::drivers::{Destruction, Relation, meeting};

    #[test]
    fn instances_are_apart_and_plain_nfs_meets_them_by_address() {
        const DRIVER: &str = "filestore.csi.storage.gke.io";
        const ONE: &str = "modeInstance/us-c1/one/vol1";
        let one = places(DRIVER, ONE, &[("ip", "10.0.0.2"), ("volume", "vol1")]);
        for (handle, ip, expected) in [
            (ONE, "10.0.0.2", "equal"),
            ("any/us-c1/one/vol1", "10.0.0.2", "equal"),
            ("modeInstance/us-c1/two/vol1", "10.0.0.3", "apart"),
            ("modeInstance/us-c1/two/vol1", "10.0.0.2", "equal?"),
            ("modeInstance/us-c1/one/vol2", "10.0.0.2", "apart"),
            ("modeMultishare/p/proj/us-c1/one/vol1", "10.0.0.2", "equal"),
            ("sharepool://p/us-c1/pool/shares/s?ip=10.0.0.9", "", "apart"),
            ("odd", "", "equal?"),
        ] {
            let volume = if handle == "odd" { "" } else { handle.rsplit('/').next().unwrap_or("") };
            let pairs = [("ip", ip), ("volume", volume)];
            assert_eq!(lies(&one, &places(DRIVER, handle, &pairs)), expected, "{handle}");
        }
        assert_eq!(lies(&one, &places("nfs", "10.0.0.2:/vol1/a", &[])), "inside");
        assert_eq!(lies(&one, &places("nfs", "nas:/vol1/a", &[])), "inside?");
        assert_eq!(lies(&one, &places("nfs", "nas:/other", &[])), "apart");
    }

    #[test]
    fn the_whole_instance_is_deleted() {
        const DRIVER: &str = "filestore.csi.storage.gke.io";
        const ONE: &str = "modeInstance/us-c1/one/vol1";
        let case = Case { driver: DRIVER, handle: ONE, ..Case::default() };
        assert_eq!(answer(&case), "deletes the whole Filestore instance one with all its shares");
        let Destruction::Storage { places: deleted, .. } = destruction(&case) else {
            panic!("it deletes");
        };
        let other = places(DRIVER, "modeInstance/us-c1/one/vol2", &[]);
        assert_eq!(meeting(&deleted, &other).map(|it| it.relation), Some(Relation::Inside));
        for (handle, expected) in [
            ("odd", "does nothing"),
            ("modeMultishare/odd", "fails"),
            (
                "modeMultishare/p/proj/us-c1/one/s",
                "deletes the share s of the Filestore instance one",
            ),
            ("sharepool://p/us-c1/pool/shares/s?ip=10.0.0.9", "undecided"),
        ] {
            let told = answer(&Case { driver: DRIVER, handle, ..Case::default() });
            assert!(told.starts_with(expected), "{handle}: {told}");
        }
    }
}
