//! The guard: policies with which the API server itself refuses what loses data or leaks.
//!
//! They are `ValidatingAdmissionPolicies` and their bindings, as data: what they contain
//! ([`objects`]), how those in a cluster differ ([`differences`]), what is wrong with them
//! ([`Installed::faults`]), which writes install or remove
//! them ([`installation`], [`removal`]), and which dry runs prove that they are in force
//! ([`probes`]). Nothing here reads or writes; [`crate::apply`] does.
//!
//! It is a seatbelt, not a security boundary: users who may edit policies may remove it, and what
//! controllers do for a user is not seen ([`NOT_STOPPED`]).
//!
//! # What the policies rest on
//!
//! - One match condition for all policies: controllers pass, people and listed accounts do not
//!   (`policy::people`). Errors in it would refuse all requests (`failurePolicy: Fail`), so that every field
//!   stands behind `has()` (R-VAP-4).
//! - A DELETE whose preconditions are the uid and resourceVersion of the object is the signature of
//!   `kubectl storage delete`: kubectl sends none, and nothing stays behind.
//! - Finalizers and owner references can be written through `/status` as well (R-VAP-3), which is
//!   matched.
//! - Controllers destroy data by what an object says: a volume's phase, its claimRef and its policy, a
//!   set's retention policy and ordinals. What people may write there is limited, not the controllers.
//! - Each policy also refuses the creation of objects with the name [`PROBE`], which is how a dry
//!   run proves that it is in force.

mod installed;
mod object;
mod options;
mod policy;
mod probe;

pub use installed::{
    Difference, Fault, Installed, Step, TypeCheck, differences, faults, installation, is_installed,
    removal,
};
pub use object::{GuardKind, GuardObject, is_ours, objects};
use options::PEOPLE;
pub use options::{BREAK_GLASS, GuardMode, GuardOptions, OptionsError};
pub use policy::PROBE;
pub use probe::{Probe, ProbeAnswer, ProbeVerdict, probes};

/// Purpose of the guard's writes, in the journal.
pub const GUARD: &str = "guard";

/// Actions that the guard does not stop; `install`, `status` and the documentation list them.
pub const NOT_STOPPED: [&str; 9] = [
    "scaling a StatefulSet down under whenScaled Delete through the scale subresource (kubectl scale, \
     autoscalers): its controller deletes the claims",
    "deleting a StatefulSet under whenDeleted Retain whose claims still have its owner reference: \
     the garbage collector deletes the claims",
    "deleting a custom resource that owns claims or StatefulSets: the garbage collector deletes them",
    "service accounts, and people who act as one (dashboards, CI, Argo CD, Flux, Rancher), unless \
     --deny-account lists the account",
    "deleting a namespace without the label storage.kubectl.dev/guard=deny, which gives a warning \
     only",
    "edits of a namespace's guard label, of the guard's policies and bindings, and their deletion",
    "a client that sends the object's uid and resourceVersion as preconditions, or a field manager \
     that begins with kubectl-storage",
    "deleting a PersistentVolume with policy Retain, which keeps the backend volume but forgets it",
    "changing the reclaim policy of a volume to Delete before it is Released, creating a \
     PersistentVolume named pvc-UID with that uid of a deleted claim, and what is deleted in the backend \
     itself",
];

/// Label of a namespace that chooses what the guard does in it.
pub const GUARD_LABEL: &str = "storage.kubectl.dev/guard";

/// Action of the guard in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceMode {
    /// The guard refuses.
    Deny,
    /// The guard warns: the namespace has no label, or the label `warn`.
    Warn,
    /// The guard does nothing.
    Off,
    /// The guard warns: the label has a value that it does not know.
    Unknown,
}

impl NamespaceMode {
    /// Returns the mode for a value of the label.
    pub fn of(label: Option<&str>) -> Self {
        match label {
            Some("deny") => Self::Deny,
            Some("off") => Self::Off,
            None | Some("warn") => Self::Warn,
            Some(_) => Self::Unknown,
        }
    }
}

/// Returns why every request of a user passes the guard; `None` if it does not. The policies decide
/// by themselves: this only explains what was seen.
pub fn passes(options: &GuardOptions, user: &str, groups: &[String]) -> Option<String> {
    let in_group = |group: &str| groups.iter().any(|it| it == group);
    let is_denied = |(namespace, name): &(String, String)| {
        user.strip_prefix("system:serviceaccount:") == Some(&*format!("{namespace}:{name}"))
    };
    if in_group(&options.break_glass) {
        return Some(format!("{user} is in the break-glass group {}", options.break_glass));
    }
    if options.passed_users.contains(user) {
        return Some(format!("--pass-user lists {user}"));
    }
    if PEOPLE.contains(&user) || options.denied_accounts.iter().any(is_denied) {
        return None;
    }
    if in_group("system:serviceaccounts") {
        return Some(format!("{user} is a service account that --deny-account does not list"));
    }
    user.starts_with("system:").then(|| format!("{user} begins with system:, as controllers do"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_pass_and_people_do_not() {
        let mut options = GuardOptions::default();
        options.denied_accounts.insert(("ci".to_owned(), "deployer".to_owned()));
        options.passed_users.insert("eks:addon-manager".to_owned());
        let accounts = ["system:serviceaccounts", "system:authenticated"];
        for (user, groups, pass) in [
            ("kubernetes-admin", &["system:masters"][..], false),
            ("ann@example.com", &["system:authenticated"], false),
            ("system:admin", &["system:masters"], false),
            ("system:anonymous", &["system:unauthenticated"], false),
            ("system:kube-controller-manager", &["system:authenticated"], true),
            ("system:node:n1", &["system:nodes"], true),
            ("system:serviceaccount:kube-system:generic-garbage-collector", &accounts, true),
            ("system:serviceaccount:ci:deployer", &accounts, false),
            ("system:serviceaccount:ci:deployer2", &accounts, true),
            ("eks:addon-manager", &[], true),
            ("ann@example.com", &["storage.kubectl.dev:break-glass"], true),
        ] {
            let groups: Vec<_> = groups.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(passes(&options, user, &groups).is_some(), pass, "{user}");
        }
    }
}
