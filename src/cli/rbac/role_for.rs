//! The commands for which there is a role, and what each reads and writes, always or only on some clusters.

use std::io::{self, Write};

use clap::ValueEnum;

use super::Right;
use crate::{
    model::Kind,
    plan::RETENTION_APPLY,
    remedies::{self, RemedyDeclaration},
};

/// The command for which a role is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RoleFor {
    /// Everything that `audit` and `dump` read
    Audit,
    /// What `audit --watch` reads and watches; with -f also what `watch` needs where it reports
    Watch,
    /// What `gc` reads, watches and writes
    Gc,
    /// What `gc --announce` and `gc --announced` read, watch and write
    GcAnnounce,
    /// What `fix-finalizers` reads, watches and writes
    FixFinalizers,
    /// What `delete` reads, watches and writes
    Delete,
    /// What `retain` reads and writes
    Retain,
    /// What `rebind` reads, watches and writes; it creates volumes only for Lost claims
    Rebind,
    /// What `retention` reads
    Retention,
    /// What `retention set` reads, watches and writes
    RetentionSet,
    /// What `retention apply` reads, watches and writes
    RetentionApply,
    /// What `disown` reads and writes
    Disown,
    /// What carrying out any saved plan needs
    Apply,
    /// What `undo` reads, watches and writes
    Undo,
    /// What `destroy-orphan` reads, watches and writes
    DestroyOrphan,
    /// What `guard` reads and writes: admission policies and nothing else
    Guard,
    /// What `journal` reads
    Journal,
    /// What `watch pause` reads and writes, in the namespace of -n: less than `watch-resume`
    WatchPause,
    /// What `watch resume` reads and writes, in the namespace of -n
    WatchResume,
    /// What `watch status` reads, in the namespace of -n and in that of the journal
    WatchStatus,
}

impl RoleFor {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Watch => "watch",
            Self::Gc => "gc",
            Self::GcAnnounce => "gc-announce",
            Self::FixFinalizers => "fix-finalizers",
            Self::Delete => "delete",
            Self::Retain => "retain",
            Self::Rebind => "rebind",
            Self::Retention => "retention",
            Self::RetentionSet => "retention-set",
            Self::RetentionApply => RETENTION_APPLY,
            Self::Disown => "disown",
            Self::Apply => "apply",
            Self::Undo => "undo",
            Self::DestroyOrphan => "destroy-orphan",
            Self::Guard => "guard",
            Self::Journal => "journal",
            Self::WatchPause => "watch-pause",
            Self::WatchResume => "watch-resume",
            Self::WatchStatus => "watch-status",
        }
    }

    /// Whether it touches only what `watch` keeps in its namespace.
    pub(super) const fn is_of_pause(self) -> bool {
        matches!(self, Self::WatchPause | Self::WatchResume | Self::WatchStatus)
    }

    /// Whether it writes nothing.
    pub(super) const fn only_reads(self) -> bool {
        matches!(
            self,
            Self::Audit | Self::Watch | Self::Retention | Self::Journal | Self::WatchStatus
        )
    }

    /// Whether it watches what it has listed: what is about to be changed is watched until it has
    /// been.
    pub(super) const fn watches(self) -> bool {
        !self.only_reads() || matches!(self, Self::Watch)
    }

    /// Whether it reads only the objects that are named.
    pub(super) const fn reads_by_name(self) -> bool {
        matches!(self, Self::Retain | Self::Disown | Self::Journal)
    }

    /// Whether it reads and writes the records of announcements.
    pub(super) const fn announces(self) -> bool {
        matches!(self, Self::GcAnnounce | Self::Apply)
    }

    /// Whether it reads the records of announcements.
    pub(super) const fn reads_announcements(self) -> bool {
        self.announces() || matches!(self, Self::Audit | Self::Watch)
    }

    /// Whether it creates the record of kept backend volumes: what does not exist yet cannot be named.
    pub(super) const fn creates_record(self) -> bool {
        matches!(self, Self::Gc | Self::FixFinalizers | Self::Apply)
    }

    /// Whether it needs a Role in the namespace of the records.
    pub(super) const fn has_records(self) -> bool {
        self.reads_announcements() || self.creates_record()
    }

    /// What it needs only on some clusters, and why: not in the role unless you add it.
    pub(super) const fn conditional(self) -> &'static [ConditionalRight] {
        match self {
            Self::Disown | Self::RetentionSet => &[DELETE_TO_DISOWN],
            // They may delete claims anyway.
            Self::Apply => &[FINALIZERS_TO_ADD_OWNERS, DELETE_SETS, DELETE_NAMESPACES],
            Self::RetentionApply => &[FINALIZERS_TO_ADD_OWNERS],
            Self::Delete => &[DELETE_SETS, DELETE_NAMESPACES],
            Self::Audit
            | Self::Watch
            | Self::Retention
            | Self::Gc
            | Self::GcAnnounce
            | Self::FixFinalizers
            | Self::Retain
            | Self::Rebind
            | Self::Undo
            | Self::DestroyOrphan
            | Self::Guard
            | Self::Journal
            | Self::WatchPause
            | Self::WatchResume
            | Self::WatchStatus => &[],
        }
    }

    /// What it may write, besides events and the record of kept backends.
    pub(super) fn writes(self) -> Vec<(&'static str, Kind)> {
        use remedies::{
            ADD_OWNER, CONDEMN, DELETE_CLAIM, DELETE_LEFTOVER, DISOWN, KEEP_BACKEND, REBIND,
            RECLAIM, REMOVE_OWNERS, RETAIN, SET_RETENTION,
        };
        let of = writes_of;
        let volumes = |verb| (verb, Kind::PersistentVolume);
        let finalizers = [
            volumes("create"),
            volumes("patch"),
            ("patch", Kind::PersistentVolumeClaim),
            ("patch", Kind::VolumeAttachment),
            ("delete", Kind::VolumeAttachment),
        ];
        match self {
            Self::Audit
            | Self::Watch
            | Self::Retention
            | Self::Journal
            | Self::WatchPause
            | Self::WatchResume
            | Self::WatchStatus => Vec::new(),
            Self::Gc => of(&[&RECLAIM, &KEEP_BACKEND, &CONDEMN]),
            // The annotation is a patch too.
            Self::GcAnnounce => of(&[&RECLAIM]),
            Self::Delete => of(&[&DELETE_CLAIM]),
            Self::Retain => of(&[&RETAIN]),
            Self::Disown => of(&[&DISOWN]),
            Self::RetentionSet => of(&[&SET_RETENTION]),
            Self::RetentionApply => of(&[&REMOVE_OWNERS, &ADD_OWNER, &DELETE_LEFTOVER]),
            Self::FixFinalizers => finalizers.to_vec(),
            Self::Apply => [
                of(&[&RECLAIM, &KEEP_BACKEND, &CONDEMN, &RETAIN, &DELETE_CLAIM, &REBIND, &DISOWN]),
                of(&[&SET_RETENTION]),
                Self::RetentionApply.writes(),
                finalizers.to_vec(),
            ]
            .concat(),
            // A Lost claim may need its volume recreated.
            Self::Rebind => [of(&[&REBIND]), vec![volumes("create")]].concat(),
            // Of a retention policy, or an owner reference that was added, too.
            Self::Undo => {
                let volumes = vec![volumes("create"), volumes("patch")];
                [of(&[&REBIND]), of(&[&SET_RETENTION]), volumes].concat()
            }
            Self::DestroyOrphan => vec![volumes("create")],
            Self::Guard => GUARD_WRITES.to_vec(),
        }
    }
}

/// What remedies write.
pub(super) fn writes_of(remedies: &[&'static dyn RemedyDeclaration]) -> Vec<(&'static str, Kind)> {
    let writes = remedies.iter().flat_map(|remedy| remedy.writes());
    writes.filter_map(|(verb, what)| Some((*verb, Kind::parse_resource(what)?))).collect()
}

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

const POLICY: Kind = Kind::ValidatingAdmissionPolicy;
const BINDING: Kind = Kind::ValidatingAdmissionPolicyBinding;

/// What it may write.
pub(super) const GUARD_WRITES: [(&str, Kind); 6] = [
    ("create", POLICY),
    ("patch", POLICY),
    ("delete", POLICY),
    ("create", BINDING),
    ("patch", BINDING),
    ("delete", BINDING),
];

/// What it reads: the labels of namespaces decide where it refuses, the uid of kube-system is the
/// cluster's, and Events say which controllers it refuses.
const GUARD_READS: [(&str, Kind); 5] = [
    ("list", POLICY),
    ("list", BINDING),
    ("get", Kind::Namespace),
    ("list", Kind::Namespace),
    ("list", Kind::Event),
];

/// Everything that it asks for.
pub(super) fn guard_rights() -> Vec<Right<'static>> {
    let right = |(verb, kind): (&'static str, Kind)| Right {
        verb,
        group: kind.group().name,
        resource: kind.plural(),
        name: None,
    };
    GUARD_WRITES.into_iter().chain(GUARD_READS).map(right).collect()
}

/// Writes what cannot be done with the rights of `guard`.
pub(super) fn write_unproven(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "# Not granted here: `guard status` proves by dry runs that the guard is in force, which needs"
    )?;
    writeln!(out, "# create of the guarded kinds. Without it, that is not proven.")
}
