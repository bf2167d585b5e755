//! The rules about disks, and what a finding about one says, with the commands that it prints.

use crate::cluster::ReferencingVolume;
use crate::facts::{Inventory, NAMING, quoted, zones};
use crate::listings::{Disk, provider};
use crate::model::{
    Age, Finding, Kind, ObjectKey, ObjectRef, Severity, Text, Time, Volume, VolumeColumns,
    first_of, format_bytes, format_time,
};
use crate::rules::{CapacityRisk, Rule};

/// The rules about what a provider lists.
pub(in crate::rules) static RULES: &[&Rule] =
    &[&ORPHAN, &UNATTRIBUTED, &MISSING, &ATTACHED_ELSEWHERE, &IDENTITY_MISSING];

pub(super) static ORPHAN: Rule = Rule {
    id: "backend-volume-orphan",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Leak,
    needs: &NAMING,
    remedies: &[],
    title: "A disk of the provider is left of a volume that no cluster has",
    danger: "The provider bills it for ever, and no object names it: a volume was deleted before its claim, a \
             finalizer was stripped, a creation timed out, or a cluster was thrown away. Its data may be wanted.",
    remedy: "`adopt` gives its data to a claim again. Else look at the disk, keep a copy of it, then delete it with the \
             provider's command, which is printed. A listing alone never destroys anything.",
    source: "semantics#listed-disks; csi-provisioner makeVolumeName; the tags of each driver (docs/drivers.md)",
    judge: &[],
};

pub(super) static UNATTRIBUTED: Rule = Rule {
    id: "backend-volume-unattributed",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &NAMING,
    remedies: &[],
    title: "A disk of the provider was made by Kubernetes, and it is unknown by which cluster",
    danger: "Another cluster that uses the same account may need it. With every cluster given and --all-clusters, it \
             would be an orphan.",
    remedy: "None by the tool. Give all clusters that use the account, or --cluster-tag with the identity that this one \
             writes.",
    source: "semantics#listed-disks",
    judge: &[],
};

pub(super) static MISSING: Rule = Rule {
    id: "backend-volume-missing",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &NAMING,
    remedies: &[],
    title: "The provider does not list the disk of a PersistentVolume",
    danger: "The disk was deleted behind the back of the cluster: its data is gone, and a pod that wants it never starts.",
    remedy: "None by the tool. Look for the disk at the provider, also in its trash; restore it from a snapshot.",
    source: "semantics#listing-cover",
    judge: &[],
};

pub(super) static ATTACHED_ELSEWHERE: Rule = Rule {
    id: "backend-volume-attached-elsewhere",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: &NAMING,
    remedies: &[],
    title: "The disk of a bound PersistentVolume is attached to a machine that is no node",
    danger: "Something outside the cluster writes to it, or a node that was removed still has it: the next pod that \
             wants the volume cannot have it.",
    remedy: "None by the tool. Find out what the machine is; then detach the disk there.",
    source: "semantics#listed-disks",
    judge: &[],
};

pub(super) static IDENTITY_MISSING: Rule = Rule {
    id: "cluster-identity-missing",
    severity: Severity::Info,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::Pod],
    remedies: &[],
    title: "A driver does not write the cluster on the disks that it makes",
    danger: "When the cluster is gone, nothing tells whose its disks were; as long as it is there, its orphans cannot be \
             told from disks of other clusters in the same account.",
    remedy: "None by the tool. Start the driver's controller with the flag that is named; disks that exist already stay as \
             they are.",
    source: "semantics#cluster-identity",
    judge: &[],
};

pub(super) fn about_disk(
    inventory: &Inventory<'_>,
    rule: &'static Rule,
    disk: &Disk,
    of: Option<usize>,
    doubt: Option<&str>,
) -> Finding {
    let made = disk.made.clone().unwrap_or_default();
    let claim = made.claim.as_ref().map(ToString::to_string);
    let name = of.and_then(|it| inventory.clusters[it].name.as_ref());
    let is_orphan = rule.id == ORPHAN.id;
    let whose = match (&claim, name) {
        (Some(claim), Some(cluster)) => format!(" of claim {claim} in cluster {cluster}"),
        (Some(claim), None) if is_orphan => format!(" of claim {claim}"),
        (Some(claim), None) => format!(" for claim {claim}"),
        (None, Some(cluster)) => format!(" of cluster {cluster}"),
        (None, None) => String::new(),
    };
    let mut summary = match is_orphan {
        true if disk.object.is_some() => {
            format!("left{whose}: no volume names it, no claim of it lives, and nothing uses it")
        }
        true => {
            let used = match provider(&disk.backend.driver).tells_machines {
                true => "no machine has it",
                false => "no listing tells what mounts it",
            };
            format!("left{whose}: no volume names it, no claim of it lives, and {used}")
        }
        false => format!("made{whose} by Kubernetes, and named by no cluster that was given"),
    };
    if let Some(doubt) = doubt {
        summary = format!("{summary}; {doubt}");
    } else if is_orphan && of.is_none() {
        summary = format!("{summary}; by --all-clusters");
    }
    let key = ObjectKey::cluster_wide(Kind::BackendVolume, &disk.backend.handle);
    let mut finding = rule.about(ObjectRef { key, uid: None }, summary);
    let driver = &disk.backend.driver;
    finding = finding.shows("driver", driver.to_string());
    let time = |time: Option<Time>| time.as_ref().map(format_time);
    let identities = made.clusters.iter().map(|it| &**it).collect::<Vec<_>>().join(", ");
    let told = [
        ("size", disk.size.map(format_bytes)),
        ("created", time(disk.created)),
        ("last detached", time(disk.detached)),
        ("place", Some(disk.place.to_string())),
        ("claim", claim.clone()),
        ("PersistentVolume", made.volume.as_ref().map(ToString::to_string)),
        ("cluster", Some(identities)),
    ];
    for (field, value) in told.into_iter().chain(told_of_object(disk)) {
        if let Some(value) = value.filter(|it| !it.is_empty()) {
            finding = finding.shows(field, value);
        }
    }
    let fields = ["to look at it", "to keep a copy", "to delete it"];
    let context = name.map(|it| format!(" --context {}", quoted(it))).unwrap_or_default();
    let commands = commands(disk).map(|it| match it.starts_with("kubectl ") {
        true => format!("{it}{context}"),
        false => it,
    });
    for (field, command) in fields.into_iter().zip(&commands) {
        if is_orphan && !command.is_empty() {
            finding = finding.shows(field, command.clone());
        }
    }
    if is_orphan {
        if let Some(adopt) = adopting(inventory, disk, of) {
            finding = finding.shows("to have its data back", adopt);
        }
        if of.is_some_and(|it| inventory.clusters[it].runs(driver)) {
            let command = format!(
                "kubectl storage destroy-orphan --driver {} --handle {} --backend-exclusive{context}",
                quoted(driver),
                quoted(&disk.backend.handle)
            );
            finding = finding.shows("to have its driver delete it", command);
        }
    }
    let used_until = disk.lies_in().and_then(|it| it.1.used_until);
    finding.age = disk.detached.or(used_until).or(disk.created).map(|it| Age::stamped(Some(it)));
    finding.volume = Some(VolumeColumns {
        capacity: disk.size,
        claim,
        class: None,
        driver: Some(Text::clone(driver)),
        reclaim_policy: String::new(),
        phase: String::new(),
    });
    let advice = match (is_orphan, commands[0].is_empty()) {
        (true, true) => {
            "look at it at the provider, and keep a copy before it is deleted there".to_owned()
        }
        // In backticks it is completed as the user connects.
        (true, false) if disk.object.is_some() => format!("look at it first: `{}`", commands[0]),
        (true, false) => format!("look at it first: {}", commands[0]),
        (false, _) => {
            "give every cluster that uses the account, with --all-clusters; or --cluster-tag"
                .to_owned()
        }
    };
    finding.report_only(advice)
}

/// What the object of a disk tells that lies in a cluster, as evidence.
fn told_of_object(disk: &Disk) -> Vec<(&'static str, Option<String>)> {
    let Some((system, object)) = disk.lies_in() else { return Vec::new() };
    let name = format!("{}/{}", system.kind.resource(), object.name);
    let text = |it: &Option<Text>| it.as_ref().map(ToString::to_string);
    vec![
        ("object", Some(name)),
        ("namespace", text(&object.namespace)),
        ("node", text(&object.node)),
        ("pool", text(&object.pool)),
        ("last used by a pod", object.used_until.as_ref().map(format_time)),
    ]
}

/// Returns the provider's commands for a disk, with everything quoted that a shell would carry out.
fn commands(disk: &Disk) -> [String; 3] {
    if let Some((system, object)) = disk.lies_in() {
        let names = [
            ("RESOURCE", system.kind.resource()),
            ("WITHIN", object.namespace.as_deref().unwrap_or_default()),
            ("NAME", &object.name),
            ("POOL", object.pool.as_deref().unwrap_or_default()),
        ];
        return system.commands.map(|template| command(template, &names));
    }
    let handle = &*disk.backend.handle;
    let after = handle.rsplit(['/', ':']).next().unwrap_or_default();
    let before = handle.split('-').next().unwrap_or_default();
    let (place, part) = disk.place.split_once('/').unwrap_or((&disk.place, ""));
    let names = [
        ("HANDLE", handle),
        ("AFTER", after),
        ("BEFORE", before),
        ("PLACE", place),
        ("PART", part),
        ("WHOLE", &disk.place),
        ("WHOLE", &disk.place),
    ];
    provider(&disk.backend.driver).commands.map(|template| command(template, &names))
}

/// Returns the provider's command that deletes the disk of a volume; `None` where none is known.
pub fn deleting_command(volume: &Volume) -> Option<String> {
    let backend = volume.backend.as_ref()?;
    let mut disk = Disk::new(&backend.driver, &*backend.handle);
    let zones: Vec<&str> = volume.node_affinity.as_deref().map(zones).unwrap_or_default();
    let place = (provider(&backend.driver).place_of)(&backend.handle, &zones);
    disk.place = place.as_deref().map(Text::from).unwrap_or_default();
    let [_, _, deletes] = commands(&disk);
    Some(deletes).filter(|it| !it.is_empty())
}

/// Returns a command with what the placeholders in its words stand for.
fn command(template: &str, names: &[(&str, &str)]) -> String {
    let word = |word: &str| match filled(word, names) {
        it if it == word => it,
        it => quoted(&it),
    };
    let words = template.split(' ').filter(|it| !it.is_empty());
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the command that gives a disk to its former claim, where a claim can have it, judged as it was here.
fn adopting(inventory: &Inventory<'_>, disk: &Disk, of: Option<usize>) -> Option<String> {
    if !provider(&disk.backend.driver).volume.lacks.is_empty() || disk.object.is_some() {
        return None;
    }
    let claim = disk.made.as_ref().and_then(|it| it.claim.as_ref());
    let (namespace, name) = claim.map_or(("NAMESPACE", "NAME"), |it| (&*it.namespace, &*it.name));
    let mut command = format!(
        "kubectl storage adopt --driver {} --handle {} --to {} --inventory FILE",
        quoted(&disk.backend.driver),
        quoted(&disk.backend.handle),
        quoted(&format!("{namespace}/{name}"))
    );
    if disk.is_device() {
        command.push_str(" --volume-mode MODE");
    }
    let said = inventory.said(of).into_iter();
    Some(said.fold(command, |command, it| format!("{command} {it}")))
}

/// Returns a word with what its placeholders stand for.
fn filled(word: &str, names: &[(&str, &str)]) -> String {
    let places = names.iter().filter_map(|(name, value)| Some((word.find(name)?, name, value)));
    match places.min() {
        None => word.to_owned(),
        Some((at, name, value)) => {
            format!("{}{value}{}", &word[..at], filled(&word[at + name.len()..], names))
        }
    }
}

/// Returns what the report says of a volume.
pub(super) fn referencing<'a>(
    inventory: &Inventory<'a>,
    cluster: usize,
    number: usize,
) -> &'a ReferencingVolume {
    let reference = &inventory.clusters[cluster].volumes[number].reference;
    reference.volume.as_deref().expect("because each is a volume")
}

pub(super) fn about_volume(
    inventory: &Inventory<'_>,
    rule: &'static Rule,
    cluster: usize,
    number: usize,
) -> Finding {
    let of = referencing(inventory, cluster, number);
    let volume = &inventory.clusters[cluster].volumes[number];
    let machines = inventory.strangers(cluster, number).unwrap_or_default();
    let machines: Vec<_> = machines.iter().map(|it| &***it).collect();
    let (told, is_missing) = (first_of(&machines, 3), rule.id == MISSING.id);
    let summary = match (is_missing, volume.is_bound) {
        (true, true) => "bound, and the provider does not list its disk".to_owned(),
        (true, false) => "not bound, and the provider does not list its disk".to_owned(),
        (false, _) => format!(
            "bound and attached to no node here, and at the provider attached to {told}, which is no node"
        ),
    };
    let finding = rule
        .about(volume.reference.object(), summary)
        .shows("status.phase", of.phase.to_string())
        .shows("spec.persistentVolumeReclaimPolicy", of.policy.to_string());
    let mut finding = if is_missing {
        finding
            .shows("place", volume.place.as_deref().unwrap_or_default().to_owned())
            .report_only("look for the disk at the provider, and restore it from a snapshot")
    } else {
        finding
            .shows("attached to", told)
            .report_only("find out what that machine is, then detach the disk there")
    };
    finding.volume = Some(of.columns());
    finding.shows("backend volume", volume.reference.backend.to_string())
}

pub(super) fn about_driver(driver: &Text) -> Finding {
    let flag = provider(driver).identity_flag;
    let summary = format!("runs without {flag}: its disks do not tell their cluster");
    let finding = IDENTITY_MISSING.on_driver(driver, summary);
    finding.report_only(format!("start its controller with {flag}"))
}
