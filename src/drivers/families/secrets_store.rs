//! Secrets Store CSI driver: `secrets-store.csi.k8s.io`.

use std::borrow::Cow;

use super::basis::SHARE;
use crate::drivers::{Destruction, Family, Fate, Name, Provisioner, Snapshots};

/// secrets-store-csi-driver.
pub static FAMILY: Family = Family {
    id: "secrets-store",
    title: "Secrets Store CSI driver",
    names: &[Name::Is("secrets-store.csi.k8s.io")],
    identity: "nothing: only pods have such volumes, in memory of their node",
    used: |_| Vec::new(),
    deletion: |_| Destruction::Fails(Cow::Borrowed("its driver deletes no volumes")),
    destroys: "nothing",
    snapshots: Snapshots::all(Fate::None, "there are none"),
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes-sigs/secrets-store-csi-driver 2026-04: deploy/csidriver.yaml"],
    ..SHARE
};
