//! The rights with which reconcilers act: each has roles of its own, beside what `watch` reads anyway.

use std::collections::BTreeSet;

use super::{
    Right, RoleFor, announcement,
    conditional::{ConditionalRight, DELETE_TO_DISOWN},
    custom_users,
    namespaced::{journal_writer, pause_reader},
    role_for::writes_of,
};
use crate::{
    journal::kept_backend::CONFIG_MAP,
    model::Kind,
    remedies::{
        ADD_PROTECTION, DISOWN, FIX_ATTACHMENT, FIX_CLAIM, PROTECT_CLAIM, RECLAIM,
        REMOVE_ATTACHER_FINALIZER, REMOVE_EXTERNAL_FINALIZER, REMOVE_IN_TREE_FINALIZER,
        REMOVE_OWNERS, RETAIN, RemedyDeclaration,
    },
    watch::policy::acting::ReconcilerName,
};

/// A namespace in which a reconciler records something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// That of the journal.
    Journal,
    /// Those of the records that pause.
    Pauses,
    /// That of the records of announcements and of kept backends.
    Records,
}

/// What a reconciler needs in the whole cluster, beside what `watch` reads.
pub(super) fn rights(name: ReconcilerName) -> BTreeSet<Right<'static>> {
    let remedies: &[&'static dyn RemedyDeclaration] = match name {
        ReconcilerName::Rescue => &[&RETAIN, &DISOWN, &REMOVE_OWNERS],
        // What deletes claims or adds owners needs a flag.
        ReconcilerName::Retention => &[&REMOVE_OWNERS],
        // What removes finalizers of third parties needs a flag.
        ReconcilerName::Finalizers => &[
            &ADD_PROTECTION,
            &FIX_CLAIM,
            &PROTECT_CLAIM,
            &FIX_ATTACHMENT,
            &REMOVE_ATTACHER_FINALIZER,
            &REMOVE_EXTERNAL_FINALIZER,
            &REMOVE_IN_TREE_FINALIZER,
        ],
        // The annotation of an announcement is a patch too.
        ReconcilerName::Reclaim => &[&RECLAIM],
    };
    let mut needed = writes_of(remedies);
    // What recreates volumes, or has a driver delete what is left, needs a flag.
    needed.retain(|it| *it != ("create", Kind::PersistentVolume));
    if name == ReconcilerName::Finalizers {
        // It is read again before it is changed.
        needed.push(("get", Kind::VolumeAttachment));
    }
    let right = |(verb, kind): (&'static str, Kind)| Right {
        verb,
        group: kind.group().name,
        resource: kind.plural(),
        name: None,
    };
    let events = Right { verb: "create", group: "", resource: "events", name: None };
    // Custom resources may want the claim of a volume back.
    let users = (name == ReconcilerName::Reclaim).then(custom_users).into_iter().flatten();
    needed.into_iter().map(right).chain([events]).chain(users).collect()
}

/// What a reconciler needs in single namespaces.
pub(super) fn namespaced(name: ReconcilerName) -> Vec<(Place, BTreeSet<Right<'static>>)> {
    let mut all = vec![
        (Place::Journal, journal_writer().collect()),
        (Place::Pauses, [pause_reader()].into()),
    ];
    let record = |verb, name| Right { verb, group: "", resource: "configmaps", name };
    match name {
        ReconcilerName::Rescue | ReconcilerName::Retention => {}
        // The object of a volume that is retained may go with its last finalizer.
        ReconcilerName::Finalizers => {
            let kept = [record("create", None), record("patch", Some(CONFIG_MAP))];
            all.push((Place::Records, kept.into()));
        }
        ReconcilerName::Reclaim => {
            all.push((Place::Records, announcement::rights(RoleFor::GcAnnounce).collect()));
        }
    }
    all
}

/// What a reconciler needs in single namespaces that only reports.
pub(super) fn reporting(name: ReconcilerName) -> Vec<(Place, BTreeSet<Right<'static>>)> {
    match name {
        // What it would do rests on which finalizers were added, and which backend volumes kept.
        ReconcilerName::Finalizers => {
            let reads = journal_writer().filter(|it| matches!(it.verb, "get" | "list"));
            vec![(Place::Journal, reads.collect())]
        }
        ReconcilerName::Rescue | ReconcilerName::Retention | ReconcilerName::Reclaim => Vec::new(),
    }
}

/// What a reconciler needs only on some clusters.
pub(super) const fn conditional(name: ReconcilerName) -> &'static [ConditionalRight] {
    match name {
        ReconcilerName::Rescue | ReconcilerName::Retention => &[DELETE_TO_DISOWN],
        ReconcilerName::Finalizers | ReconcilerName::Reclaim => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_command(command: RoleFor) -> BTreeSet<Right<'static>> {
        super::super::rights(command).into_iter().collect()
    }

    /// With the rights of `watch`, each reconciler can read what the command reads that does the same.
    #[test]
    fn a_reconciler_reads_what_its_command_reads() {
        let watch = of_command(RoleFor::Watch);
        for (name, commands) in [
            (ReconcilerName::Rescue, &[RoleFor::Retain, RoleFor::Disown][..]),
            (ReconcilerName::Retention, &[]),
            (ReconcilerName::Finalizers, &[RoleFor::FixFinalizers]),
            (ReconcilerName::Reclaim, &[RoleFor::GcAnnounce]),
        ] {
            let has: BTreeSet<_> = watch.union(&rights(name)).copied().collect();
            for command in commands {
                let reads = of_command(*command);
                let reads = reads.iter().filter(|it| ["get", "list", "watch"].contains(&it.verb));
                let lacks: Vec<_> = reads.filter(|it| !has.contains(it)).collect();
                assert!(lacks.is_empty(), "{name}: {command:?}: {lacks:?}");
            }
        }
    }

    /// One that reports writes nothing.
    #[test]
    fn a_reconciler_that_reports_only_reads() {
        for name in ReconcilerName::ALL {
            let rights: Vec<_> = reporting(name).into_iter().flat_map(|it| it.1).collect();
            assert!(rights.iter().all(|it| matches!(it.verb, "get" | "list")), "{name}");
            assert_eq!(rights.is_empty(), name != ReconcilerName::Finalizers, "{name}");
        }
    }

    const EVENTS: &str = "create events";

    /// And none can do what its command could not, nor what needs a flag.
    #[test]
    fn a_reconciler_writes_less_than_its_command() {
        let text = |name: ReconcilerName| {
            let written = rights(name);
            let written = written.iter().map(|it| format!("{} {}", it.verb, it.resource));
            written.collect::<Vec<_>>()
        };
        let volumes = "patch persistentvolumes";
        let claims = "patch persistentvolumeclaims";
        assert_eq!(text(ReconcilerName::Rescue), [EVENTS, claims, volumes]);
        assert_eq!(text(ReconcilerName::Retention), [EVENTS, claims]);
        // Custom resources may want the claim of a volume back.
        let (lists, writes): (Vec<_>, Vec<_>) =
            text(ReconcilerName::Reclaim).into_iter().partition(|it| it.starts_with("list "));
        assert_eq!(
            (lists.len(), writes),
            (custom_users().count(), vec![EVENTS.into(), volumes.into()])
        );
        assert_eq!(
            text(ReconcilerName::Finalizers),
            [
                EVENTS,
                "delete volumeattachments",
                "get volumeattachments",
                claims,
                volumes,
                "patch volumeattachments"
            ]
        );
        for name in ReconcilerName::ALL {
            let own: BTreeSet<_> = rights(name);
            // Nothing deletes a volume or a claim by itself, and nothing creates one.
            assert!(own.is_disjoint(&of_command(RoleFor::Watch)), "{name}");
        }
    }
}
