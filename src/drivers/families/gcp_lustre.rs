//! Google Managed Lustre: `lustre.csi.storage.gke.io`.

use std::borrow::Cow;

use super::{
    cloud::{LUSTRE, address, server},
    basis::{SHARE, undecided, what_it_uses},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// Google Managed Lustre.
pub static FAMILY: Family = Family {
    id: "gcp-lustre",
    title: "Google Managed Lustre",
    names: &[Name::Is("lustre.csi.storage.gke.io")],
    identity: "the instance: PROJECT/LOCATION/INSTANCE, with anything after a colon; nodes mount the attribute ip",
    attributes: &["ip"],
    used,
    deletion,
    destroys: "the whole instance",
    answers_ok: &["a handle that does not parse", "an instance that does not exist"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown whether there are any"),
    provisioner: Provisioner::csi(&["lustre-csi-controller"], &["lustre-csi-driver"])
        .hidden("GKE may run it in the control plane; unknown what is visible then"),
    sources: &[
        "GoogleCloudPlatform/lustre-csi-driver 89f1eb73: pkg/util ParseVolumeID, pkg/csi_driver/controller.go \
         DeleteVolume, pkg/csi_driver/node.go",
    ],
    ..SHARE
};

/// The instance, without what may follow it.
fn instance(handle: &str) -> Option<&str> {
    let instance = handle.split(':').next()?;
    let parts: Vec<&str> = instance.split('/').collect();
    (parts.len() == 3 && !parts.contains(&"")).then_some(instance)
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let ip = reference.attribute("ip").filter(|ip| !ip.is_empty());
    vec![match (instance(reference.handle), ip) {
        (Some(instance), _) => {
            Place::directory(LUSTRE, "/").of(server(format!("Google {instance}"), ip))
        }
        (None, Some(ip)) => Place::directory(LUSTRE, "/").of(address(ip)),
        (None, None) => undecided(LUSTRE, reference),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match instance(deletion.reference.handle) {
        Some(instance) => what_it_uses(deletion, format!("the whole Lustre instance {instance}")),
        None => Destruction::Nothing(Cow::Borrowed("it cannot read the handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "lustre.csi.storage.gke.io";

    #[test]
    fn what_follows_the_instance_means_nothing() {
        let one = places(DRIVER, "p/us-c1/one", &[("ip", "10.0.0.2")]);
        for (handle, expected) in [
            ("p/us-c1/one:a", "equal"),
            ("p/us-c1/two", "apart"),
            ("p/us-c2/one", "apart"),
            ("one", "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("p/us-c1/one:a"), "deletes the whole Lustre instance p/us-c1/one");
        assert_eq!(answer("one"), "does nothing: it cannot read the handle");
    }
}
