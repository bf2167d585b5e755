//! Explanation of a driver: the properties of its family, and its state in the cluster.

use std::collections::BTreeMap;

use super::draft::ExplanationDraft;
use crate::cluster::{Cx, Subject, Unseen};
use crate::drivers::{self, Fate, ObjectDropped};
use crate::facts;
use crate::model::{
    ClusterArgument, Evidence, Kind, Liveness, ObjectKey, ObjectRef, Text, UndecidedIdentity,
    migrated_driver,
};

/// The field with a probe for the provisioner.
const PROBE: &str = "looked for";
/// The field with an identity of the cluster.
const IDENTITY: &str = "cluster on its disks";
/// Number of volumes that share storage and are named.
const SHOWN: usize = 20;

/// Explains the family of a driver, whether the cluster has the driver or not.
pub(super) fn known(driver: &str, family: &drivers::Family) -> ExplanationDraft {
    let object = ObjectRef { key: ObjectKey::cluster_wide(Kind::CsiDriver, driver), uid: None };
    let mut draft = ExplanationDraft::new(object);
    draft.show("known as", known_as(family));
    draft.show("identifies storage by", family.identity);
    draft.show("deletion destroys", family.destroys);
    for (field, sentences) in [
        ("answers OK and deletes nothing for", family.answers_ok),
        ("refuses to delete", family.refuses),
        ("known defects", family.defects),
    ] {
        if !sentences.is_empty() {
            draft.show(field, sentences.join("; "));
        }
    }
    draft.show("snapshots", family.snapshots.note);
    draft.show("clones", clones(family.clones));
    match family.object_dropped {
        None => {}
        Some(ObjectDropped::Destroys(how) | ObjectDropped::Notice(how)) => {
            draft.show("dropping the object alone", how);
        }
    }
    if family.reads_class {
        draft.note(
            "deletion reads the StorageClass of a volume, as it is then: without it, none is reclaimed",
        );
    }
    draft.explanation.fields = fields(&draft, |_| true);
    draft
}

/// Returns the fields of the state that a reader sees.
fn fields(
    draft: &ExplanationDraft,
    is_shown: impl Fn(&Evidence) -> bool,
) -> Vec<(&'static str, String)> {
    let shown = draft.explanation.state.iter().filter(|it| is_shown(it));
    shown.map(|it| (it.field, it.value.clone())).collect()
}

pub(super) fn explain(cx: &Cx, driver: &Text) -> ExplanationDraft {
    let family = cx.family(driver);
    let mut draft = known(driver, family);
    provisioner(cx, driver, family, &mut draft);
    let is_marked = identity(cx, driver, &mut draft);
    volumes(cx, driver, &mut draft);
    neighbours(cx, driver, &mut draft);
    // Probes matter to a reader only as long as none of them has found it.
    let is_running = facts::provisioner(cx, driver).liveness == Liveness::Alive;
    draft.explanation.fields = fields(&draft, |it| match it.field {
        PROBE => !is_running,
        IDENTITY => is_marked,
        _ => true,
    });
    draft
}

/// Adds the volumes, attachments and classes of a driver.
fn neighbours(cx: &Cx, driver: &Text, draft: &mut ExplanationDraft) {
    let cluster = cx.cluster();
    let volumes = cx.volumes_of_driver(driver).filter_map(|it| cluster.subject(&it.object().key));
    draft.hangs_on(volumes);
    let attachments = cluster.attachments().filter(|(_, it)| it.attacher == *driver);
    draft.hangs_on(attachments.map(|(id, _)| Subject::Attachment(id)));
    let classes = cluster.classes().filter(|(_, it)| {
        it.provisioner == *driver || migrated_driver(&it.provisioner) == Some(&**driver)
    });
    draft.hangs_on(classes.map(|(id, _)| Subject::Class(id)));
}

/// The name of a family, in words that follow the name of a driver.
pub(super) fn known_as(family: &drivers::Family) -> &'static str {
    match drivers::is_unknown(family) {
        true => "nothing is known of it",
        false => family.title,
    }
}

const fn clones(fate: Fate) -> &'static str {
    match fate {
        Fate::Independent => "do not need the volume that they were made from",
        Fate::Dies => "are destroyed with the volume that they were made from",
        Fate::Blocks => "keep the driver from deleting the volume that they were made from",
        Fate::None => "there are none",
        Fate::Unknown => "whether they need the volume that they were made from is not known",
    }
}

fn provisioner(cx: &Cx, driver: &Text, family: &drivers::Family, draft: &mut ExplanationDraft) {
    let state = facts::provisioner(cx, driver);
    draft.status(match state.liveness {
        Liveness::Alive => "its provisioner is running",
        Liveness::Absent => "its provisioner is absent",
        Liveness::Unknown => "whether its provisioner runs is unknown",
    });
    draft.show("provisioner", state.describe());
    if let Some((kind, reason)) = &state.unseen {
        draft.unseen(Unseen { kind: *kind, namespace: None, reason: reason.clone() });
    }
    for probe in &state.probes {
        draft.show(PROBE, format!("{}: {}", probe.what, probe.describe()));
    }
    if let Some(by) = family.provisioner.hidden {
        draft.note(by);
    }
    for claimed in facts::claimed_versions(cx, driver) {
        draft.show("claimed version", format!("{}: {}", claimed.object, claimed.image));
    }
    if let Some(object) = draft.seen(cx.csi_driver(driver)) {
        draft.show(
            "CSIDriver",
            match object {
                Some(it) => format!("attachRequired {}", it.attach_required),
                None => "none".to_owned(),
            },
        );
    }
}

/// Adds the identity of the cluster that the driver writes on disks, and returns whether any argument of its controller
/// is about that: most drivers have none.
fn identity(cx: &Cx, driver: &Text, draft: &mut ExplanationDraft) -> bool {
    let facts::ClusterIdentity { arguments, unseen } = facts::cluster_identity(cx, driver);
    for (object, argument) in &arguments {
        let ClusterArgument { container, name, value } = argument;
        let from = format!("{name} of container {container}, {object}");
        let told = match (argument.identity(), value) {
            (Some(identity), _) => format!("{identity} ({from})"),
            (None, Some(default)) => {
                format!("none: {default} is the default of every cluster ({from})")
            }
            (None, None) => format!("unknown: its value comes from elsewhere ({from})"),
        };
        draft.show(IDENTITY, told);
    }
    match (&unseen, arguments.is_empty()) {
        (Some(reason), _) => draft.show(IDENTITY, format!("unknown: {reason}")),
        (None, true) => draft.show(IDENTITY, "none"),
        (None, false) => {}
    }
    let is_marked = !arguments.is_empty();
    let identities = arguments.into_iter().filter(|(_, it)| it.identity().is_some());
    draft.explanation.identities.extend(identities);
    is_marked
}

fn volumes(cx: &Cx, driver: &Text, draft: &mut ExplanationDraft) {
    let mut phases: BTreeMap<String, usize> = BTreeMap::new();
    let mut sharing = 0;
    for volume in cx.volumes_of_driver(driver) {
        *phases.entry(volume.phase.to_string()).or_default() += 1;
        let Some(others) = draft.seen(cx.sharing(volume)) else { continue };
        let Some((other, overlap)) = others.iter().next() else { continue };
        sharing += 1;
        if sharing <= SHOWN {
            let (volume, other) = (volume.object(), other.object());
            draft.note(format!("{volume} shares storage: {other} {}", facts::lies(overlap)));
        }
    }
    let counted: Vec<_> = phases.iter().map(|(phase, n)| format!("{n} {phase}")).collect();
    let none = "none".to_owned();
    draft.show("volumes", if counted.is_empty() { none } else { counted.join(", ") });
    if sharing > SHOWN {
        draft.note(format!("{sharing} of its volumes share storage with another one"));
    }
    if let Some(UndecidedIdentity { why, .. }) = facts::undecided_identity(cx, driver) {
        draft.note(format!("its handles do not tell its volumes apart: {why}"));
    }
}
