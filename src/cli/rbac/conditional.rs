//! Rights that a command needs only on some clusters or for some objects: not in the role unless you
//! add them.

/// A right that a command needs only on some clusters or for some objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConditionalRight {
    pub(super) verb: &'static str,
    pub(super) group: &'static str,
    pub(super) resource: &'static str,
    pub(super) reason: &'static str,
}

/// `gc_admission.go`, `gcPermissionsEnforcement.Validate`.
pub(super) const DELETE_TO_DISOWN: ConditionalRight = ConditionalRight {
    verb: "delete",
    group: "",
    resource: "persistentvolumeclaims",
    reason: "with the admission plugin OwnerReferencesPermissionEnforcement, which OpenShift enables, only \
             users who may delete a claim may change its owner references",
};

/// `delete sts NAME`.
pub(super) const DELETE_SETS: ConditionalRight = ConditionalRight {
    verb: "delete",
    group: "apps",
    resource: "statefulsets",
    reason: "only `delete sts` needs it, which deletes claims with their StatefulSet",
};

/// `delete ns NAME`.
pub(super) const DELETE_NAMESPACES: ConditionalRight = ConditionalRight {
    verb: "delete",
    group: "",
    resource: "namespaces",
    reason: "only `delete ns` needs it, which deletes everything in the namespace",
};

/// `gc_admission.go`, `gcPermissionsEnforcement.Validate`: an owner reference with
/// `blockOwnerDeletion`.
pub(super) const FINALIZERS_TO_ADD_OWNERS: ConditionalRight = ConditionalRight {
    verb: "update",
    group: "apps",
    resource: "statefulsets/finalizers",
    reason: "with the admission plugin OwnerReferencesPermissionEnforcement, which OpenShift enables, retention apply \
             --add-owners may only add a reference that blocks the deletion of a StatefulSet whose finalizers you may update",
};

impl ConditionalRight {
    /// Writes it as a rule that is commented out, with its reason.
    pub(super) fn write(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        writeln!(out, "# Not granted here: {}:", self.reason)?;
        writeln!(out, "# - apiGroups: [{:?}]", self.group)?;
        writeln!(out, "#   resources: [{}]", self.resource)?;
        writeln!(out, "#   verbs: [{}]", self.verb)
    }
}
