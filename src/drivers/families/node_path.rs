//! Paths on nodes: volumes and pods with the sources `hostPath` and `local`.

use std::borrow::Cow;

use super::basis::{SHARE, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// The sources `hostPath` and `local`.
pub static FAMILY: Family = Family {
    id: "node-path",
    title: "Paths on nodes (hostPath, local) without a provisioner of their own",
    names: &[Name::Is("hostPath"), Name::Is("local"), Name::Is("kubernetes.io/host-path")],
    identity: "the path and the nodes that the node affinity allows; without one, every node",
    used,
    deletion,
    destroys: "kube-controller-manager deletes paths beneath /tmp only, for its own test provisioner",
    refuses: &["every path that is not beneath /tmp"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.36.3: pkg/volume/hostpath/host_path.go newDeleter"],
    ..SHARE
};

/// The space of the paths of nodes.
pub(super) const SPACE: &str = "path";

/// Reads `PATH@NODES`.
pub(super) fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.handle.rsplit_once('@') {
        Some((path, "?")) => {
            Place::directory(SPACE, path).of(Part::Unknown("unknown on which node it runs"))
        }
        Some((path, nodes)) => Place::directory(SPACE, path).of(Part::Nodes(Cow::Borrowed(nodes))),
        None => undecided(SPACE, reference),
    }]
}

/// The path in `PATH@NODES`.
pub(super) fn path(handle: &str) -> &str {
    handle.rsplit_once('@').map(|(path, _)| path).unwrap_or_default()
}

/// What a provisioner of directories on nodes destroys.
pub(super) fn deletes_directory(deletion: &Deletion<'_>) -> Destruction {
    let path = path(deletion.reference.handle);
    super::basis::what_it_uses(deletion, format!("the directory {path} on its node"))
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    if deletion.reference.driver == "local" {
        return Destruction::Fails(Cow::Borrowed("no controller deletes volumes of source local"));
    }
    let path = path(deletion.reference.handle);
    if !path.starts_with("/tmp/") {
        let why = "kube-controller-manager deletes paths beneath /tmp only";
        return Destruction::Fails(Cow::Borrowed(why));
    }
    super::basis::what_it_uses(deletion, format!("the directory {path}"))
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_path_is_on_the_nodes_of_its_affinity() {
        let on = |path: &str, node: &str| format!("{path}@kubernetes.io/hostname In [\"{node}\"]");
        let mine = places("local", &on("/mnt/a", "a"), &[]);
        for (driver, handle, expected) in [
            ("hostPath", on("/mnt/a", "a"), "equal"),
            ("hostPath", "/mnt/a@any".to_owned(), "equal"),
            ("hostPath", "/mnt/a/b@?".to_owned(), "inside?"),
            ("hostPath", "/@metadata.name In [\"a\"]".to_owned(), "around"),
            ("local", on("/mnt/a", "b"), "apart"),
            ("local", on("/mnt/ab", "a"), "apart"),
        ] {
            assert_eq!(lies(&mine, &places(driver, &handle, &[])), expected, "{handle}");
        }
        for (driver, handle, expected) in [
            ("local", "/tmp/a@any", "fails: no controller deletes volumes of source local"),
            ("hostPath", "/tmp/a@any", "deletes the directory /tmp/a"),
            ("hostPath", "/srv/a@any", "fails: kube-controller-manager deletes paths beneath /tmp only"),
        ] {
            let owner = "kubernetes.io/host-path";
            assert_eq!(answer(&Case { driver, owner, handle, ..Case::default() }), expected);
        }
    }
}
