//! The registry of rules, held to its own promises.

use std::{collections::BTreeSet, fmt::Write as _};

use kubectl_storage::{
    cli,
    cluster::Lookup,
    model::{ControllerRole, FactKey, Kind},
    rules::{self, Assessor, REGISTRY, subjects},
};

use crate::{
    rules::{dumps, look},
    support::{expect_file, files, read, root},
};

/// What an id may begin with: what kubectl calls the object, or what the finding is about where
/// that is no single object.
const PREFIXES: [&str; 17] = [
    "backend-volume-",
    "cluster-",
    "pv-or-pvc-",
    "pv-",
    "pvc-",
    "sts-",
    "va-",
    "vac-",
    "snapshot-",
    "class-",
    "pod-",
    "provisioner-",
    "backend-",
    "journal-",
    "cluster-",
    "guard-",
    "duplicate-",
];

#[test]
fn every_rule_says_what_it_is() {
    let mut ids = BTreeSet::new();
    for rule in REGISTRY.iter() {
        let id = rule.id;
        assert!(ids.insert(id), "{id}: twice");
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(id.chars().all(kebab) && !id.contains("--") && !id.ends_with('-'), "{id}");
        assert!(PREFIXES.iter().any(|it| id.starts_with(it)), "{id}: begins with no object");
        assert!(id.len() <= 40, "{id}: too long to type");
        for (what, text, longest) in [
            ("title", rule.title, 110),
            ("danger", rule.danger, 700),
            ("remedy", rule.remedy, 700),
            ("source", rule.source, 300),
        ] {
            assert!(text.len() >= 8, "{id}: {what} says nothing");
            assert!(text.len() <= longest, "{id}: {what} has {} characters", text.len());
            assert!(!text.contains("  ") && text.trim() == text, "{id}: {what}: stray blanks");
            let name = ["csi-", "kube-"].iter().any(|it| text.starts_with(it));
            let sentence = name || !text.starts_with(char::is_lowercase) || what == "source";
            assert!(sentence, "{id}: {what} begins in the middle");
        }
        assert!(!rule.title.ends_with('.'), "{id}: the title is no sentence with a full stop");
        for text in [rule.danger, rule.remedy] {
            assert!(text.ends_with('.'), "{id}: not a whole sentence: {text}");
        }
        assert!(!rule.judge.is_empty(), "{id}: finds nothing");
        assert!(!rule.needs.is_empty(), "{id}: needs nothing");
        let needs: BTreeSet<_> = rule.needs.iter().collect();
        assert_eq!(needs.len(), rule.needs.len(), "{id}: needs something twice");
    }
}

#[test]
fn every_rule_is_called_like_its_id() {
    let mut found = BTreeSet::new();
    for path in files(&root().join("src/rules"), ".rs") {
        let text = read(&path);
        for declared in text.split("static ").skip(1) {
            let rule = || {
                let (name, rest) = declared.split_once(": Rule = Rule {")?;
                let id = rest.trim_start().strip_prefix("id: \"")?.split_once('"')?.0;
                Some((name, id))
            };
            let Some((name, id)) = rule() else { continue };
            let prefix = PREFIXES.iter().find(|it| id.starts_with(**it));
            let prefix = prefix.filter(|it| **it != "duplicate-").copied().unwrap_or_default();
            let expected = id.trim_start_matches(prefix).replace('-', "_").to_uppercase();
            assert_eq!(name, expected, "{id} in {}", path.display());
            found.insert(id.to_owned());
        }
    }
    let known: BTreeSet<_> = rules::all().map(|rule| rule.id.to_owned()).collect();
    assert_eq!(found, known, "a rule that is in no registry, or that is not declared");
}

/// The kinds that a look rests on.
fn kinds(lookup: &Lookup) -> Vec<Kind> {
    let workloads = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::ReplicaSet];
    match lookup {
        Lookup::VolumesAt(_)
        | Lookup::VolumesOf(_)
        | Lookup::VolumeNamed(_)
        | Lookup::AttachedVolume(_)
        | Lookup::Fact(FactKey::Volumes(_)) => vec![Kind::PersistentVolume],
        Lookup::Claim(_)
        | Lookup::ClaimsNaming(_)
        | Lookup::ClaimsOfStem(..)
        | Lookup::ClaimsFrom(_)
        | Lookup::ClaimsRestoredFrom(..)
        | Lookup::ClasslessClaims => vec![Kind::PersistentVolumeClaim],
        Lookup::PodsOf(_) | Lookup::PodsAt(_) | Lookup::Pod(..) | Lookup::PodsOfSet(..) => {
            vec![Kind::Pod]
        }
        Lookup::Namesake(_) => {
            let described = [Kind::PersistentVolume, Kind::Pod, Kind::VolumeAttachment];
            described.into_iter().chain(Kind::WORKLOADS).collect()
        }
        Lookup::WorkloadsOf(_) | Lookup::WorkloadsAt(_) => Kind::WORKLOADS.to_vec(),
        // Records are no kind of the API server.
        Lookup::KeptAt(_) => Vec::new(),
        Lookup::Set(..) | Lookup::SetsOfStem(..) => vec![Kind::StatefulSet],
        Lookup::AutoscalersOf(..) => vec![Kind::HorizontalPodAutoscaler],
        Lookup::VolumeSnapshot(..) | Lookup::VolumeSnapshotsOf(_) => vec![Kind::VolumeSnapshot],
        Lookup::UsersOfAttributes(_) => {
            vec![Kind::PersistentVolumeClaim, Kind::PersistentVolume]
        }
        Lookup::AttachmentsOf(_) | Lookup::InlineAttachmentsAt(_) => {
            vec![Kind::VolumeAttachment]
        }
        Lookup::SnapshotsAt(_) => {
            vec![Kind::VolumeSnapshotContent, Kind::VolumeGroupSnapshotContent]
        }
        Lookup::NodesAt(_) | Lookup::Nodes | Lookup::Node(..) => vec![Kind::Node],
        Lookup::Class(_) | Lookup::ClaimedClass(_) | Lookup::Classes => vec![Kind::StorageClass],
        Lookup::SnapshotClasses => vec![Kind::VolumeSnapshotClass],
        Lookup::EventsOf(_) => vec![Kind::Event],
        Lookup::CsiDriver(_) => vec![Kind::CsiDriver],
        Lookup::Whole(kind) => vec![*kind],
        Lookup::Answer(question) => vec![question.kind()],
        Lookup::Recognition(_) => workloads.into_iter().chain([Kind::Pod, Kind::Lease]).collect(),
        Lookup::Fact(FactKey::Identity(_)) => vec![Kind::PersistentVolume, Kind::CsiDriver],
        Lookup::Fact(
            FactKey::ProvisionerVersions(_)
            | FactKey::ControllerSettings(_)
            | FactKey::FinalizerSupport(_),
        ) => workloads.into_iter().chain([Kind::Pod]).collect(),
        Lookup::Fact(FactKey::Controller(role, _)) => {
            let probed = [Kind::Lease, Kind::Pod, Kind::Event, Kind::PersistentVolume];
            let registered = match role {
                ControllerRole::Provisioner
                | ControllerRole::Attacher
                | ControllerRole::CsiSnapshotter
                | ControllerRole::Resizer => &[Kind::CsiDriver, Kind::CsiNode][..],
                ControllerRole::Snapshotter | ControllerRole::ControllerManager => &[],
            };
            workloads.into_iter().chain(probed).chain(registered.iter().copied()).collect()
        }
    }
}

#[test]
fn what_is_looked_at_is_what_is_declared() {
    let mut wrong = BTreeSet::new();
    let mut looked = 0_usize;
    for owner in REGISTRY.iter() {
        for file in dumps(owner, "found").into_iter().chain(dumps(owner, "clean")) {
            let seen = look(owner, &file);
            let (cluster, settings) = (&seen.intake.cluster, &seen.settings);
            let assessor = Assessor::default();
            for subject in subjects(cluster) {
                for rule in REGISTRY.iter() {
                    let declared = rule.looks_at();
                    for lookup in assessor.lookups(cluster, settings, &subject, rule) {
                        looked += 1;
                        let undeclared =
                            kinds(&lookup).into_iter().filter(|it| !declared.contains(it));
                        wrong.extend(
                            undeclared.map(|kind| format!("{}: {}", rule.id, kind.plural())),
                        );
                    }
                }
            }
        }
    }
    assert!(looked > 1000, "only {looked} looks: nothing is proven");
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "looked at, and not among `needs`:\n  {}", wrong.join("\n  "));
}

/// What a text says that a user could type: flags, and commands of the plugin. Commands of kubectl
/// itself, in backticks, have flags of their own.
fn typed(text: &str) -> BTreeSet<String> {
    let of_kubectl =
        |part: &&str| part.starts_with("kubectl ") && !part.starts_with("kubectl storage ");
    let parts: Vec<_> = text.split('`').filter(|part| !of_kubectl(part)).collect();
    let text = &parts.join("`");
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let word = |rest: &str| rest.split(|c| !part(c)).next().unwrap_or_default().to_owned();
    let flags = text.match_indices("--").map(|(at, _)| word(&text[at..]));
    let commands =
        text.match_indices("kubectl storage ").map(|(at, found)| word(&text[at + found.len()..]));
    flags.chain(commands).collect()
}

/// Why a command of this program would end as a usage error.
fn refused(command: &str) -> Option<String> {
    let words = command.strip_prefix("kubectl storage ")?.split_whitespace();
    let parsed = cli::command("kubectl-storage")
        .try_get_matches_from(std::iter::once("kubectl-storage").chain(words));
    parsed.err().map(|error| format!("{command}: {}", error.kind()))
}

/// Somebody who reads a report can type what it names: no flag or command is promised that this
/// build does not have.
#[test]
fn reports_name_only_flags_and_commands_that_exist() {
    let command = cli::command("kubectl-storage");
    let nested = command.get_subcommands().flat_map(clap::Command::get_subcommands);
    let mut known: BTreeSet<_> = std::iter::once(&command)
        .chain(command.get_subcommands())
        .chain(nested)
        .flat_map(clap::Command::get_arguments)
        .filter_map(|it| it.get_long().map(|long| format!("--{long}")))
        .collect();
    known.extend(command.get_subcommands().map(|it| it.get_name().to_owned()));
    let nested = command.get_subcommands().flat_map(clap::Command::get_subcommands);
    let flags = nested.flat_map(clap::Command::get_arguments);
    known.extend(flags.filter_map(|it| it.get_long().map(|long| format!("--{long}"))));
    assert!(known.contains("--driver-absent") && known.contains("explain"));
    let (mut wrong, mut unparsed) = (BTreeSet::new(), BTreeSet::new());
    let mut hold = |id: &str, text: &str| {
        let unknown = typed(text).into_iter().filter(|it| !known.contains(it));
        wrong.extend(unknown.map(|it| format!("{id}: {it} in {text:?}")));
    };
    for rule in REGISTRY.iter() {
        for text in [rule.title, rule.danger, rule.remedy] {
            hold(rule.id, text);
        }
        for file in dumps(rule, "found").into_iter().chain(dumps(rule, "clean")) {
            let seen = look(rule, &file);
            for finding in seen.assessor.findings(&seen.intake.cluster, &seen.settings) {
                hold(finding.rule, &finding.summary);
                hold(finding.rule, &finding.verdict.reason);
                if let Some(offer) = &finding.offer {
                    hold(finding.rule, &offer.effect);
                    hold(finding.rule, &offer.risk);
                    let command = offer.command.as_deref().unwrap_or_default();
                    hold(finding.rule, command);
                    unparsed.extend(refused(command));
                }
            }
        }
    }
    let unparsed: Vec<_> = unparsed.into_iter().collect();
    assert!(
        unparsed.is_empty(),
        "these commands end as usage errors:\n  {}",
        unparsed.join("\n  ")
    );
    assert!(refused("kubectl storage gc pv/disk").is_some(), "a flag that is required is missing");
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "nobody can type that:\n  {}", wrong.join("\n  "));
    assert_eq!(typed("run kubectl storage gc --older-than=7d now"), {
        ["gc", "--older-than"].map(str::to_owned).into()
    });
    assert_eq!(typed("`kubectl patch pv a --type=json`, then --yes"), {
        ["--yes"].map(str::to_owned).into()
    });
}

/// What can be found, and how bad it is.
#[test]
fn the_table_of_findings_is_that_of_the_registry() {
    let mut table = String::from(
        "# What it finds\n\nWritten by `UPDATE=1 cargo test --test it registry`. `kubectl storage explain` lists \
         the findings, `kubectl storage explain ID` explains one; [what can be done about each](remedies.md).\n\n\
         A leak, or orphaned disk, is a backend volume that no PersistentVolume references: it is billed, and no \
         controller deletes it.\n\n\
         | Finding | Severity | What it finds |\n| --- | --- | --- |\n",
    );
    for rule in rules::all() {
        let title = rule.title.replace('|', "\\|");
        let row = writeln!(table, "| `{}` | {} | {title} |", rule.id, rule.severity.name());
        row.expect("because a String can be written to");
    }
    table.push_str(
        "\nA claim counts as used by pods of any phase, by templates of workloads at any number of replicas, \
         suspended or running, by clones and snapshots being created from it, and as a claim that its StatefulSet \
         would use again. Custom resources that create pods are read by `delete pvc`, where their kind is known; \
         audits leave them out, and `explain` shows that.\n",
    );
    expect_file(&root().join("docs/findings.md"), &table);
}

const REMEDIES_PATH: &str = "docs/remedies.md";

/// What can be done about each finding, by which command, and what that writes: from the registry
/// and from what the fixtures' findings are told.
#[test]
fn the_table_of_remedies_is_that_of_the_code() {
    let mut table = String::from(
        "# What can be done about each finding\n\nGenerated by `UPDATE=1 cargo test --test it remedies`. A finding \
         whose checks do not pass is `blocked` or `unseen`, and names no command.\n\n\
         | Finding | Remedies | Command | Writes |\n| --- | --- | --- | --- |\n",
    );
    for rule in REGISTRY.iter() {
        let mut commands = BTreeSet::new();
        for file in dumps(rule, "found") {
            let seen = look(rule, &file);
            let findings = seen.assessor.findings(&seen.intake.cluster, &seen.settings);
            for finding in findings.filter(|it| it.rule == rule.id) {
                let command = finding.offer.and_then(|offer| offer.command);
                commands.extend(command.map(|it| generic(&it)));
            }
        }
        let list = |all: Vec<String>, none: &str| match all.is_empty() {
            true => none.to_owned(),
            false => all.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", "),
        };
        let remedies: Vec<_> = rule.remedies.iter().map(|it| it.id().to_owned()).collect();
        let writes: BTreeSet<_> = rule.remedies.iter().flat_map(|it| it.writes()).collect();
        let writes = writes.into_iter().map(|(verb, what)| format!("{verb} {what}")).collect();
        let none = if rule.remedies.is_empty() { "" } else { "none in this version" };
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            rule.id,
            list(remedies, "report-only"),
            list(commands.into_iter().collect(), none),
            list(writes, "")
        );
    }
    expect_file(&root().join(REMEDIES_PATH), &table);
}

/// A command for whatever object, at whatever age, whatever flags of it say.
fn generic(command: &str) -> String {
    let mut words = Vec::new();
    let mut value = None;
    for word in command.split(' ') {
        words.push(match (value, word.split_once('/')) {
            (Some(value), _) => str::to_owned(value),
            (None, Some((kind, _))) => format!("{kind}/NAME"),
            (None, None) => word.to_owned(),
        });
        value = match word {
            "--older-than" => Some("AGE"),
            "-n" => Some("NAMESPACE"),
            "--to" => Some("NAMESPACE/NAME"),
            "--driver-absent" => Some("DRIVER"),
            "--remove-finalizer" => Some("FINALIZER"),
            _ => None,
        };
    }
    words.join(" ")
}
