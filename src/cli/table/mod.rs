//! Table of the commands, each a row: its place in the help, its examples, and what it needs, as `rbac` prints it.
//! Help, `rbac` and completion read it.
//!
//! - `reading`: the rows of commands that change nothing.
//! - `writing`: the rows of commands that write.

mod reading;
mod writing;

use std::{fmt::Write as _, io};

use clap::builder::styling::Styles;

pub(super) use reading::{AUDIT, WATCH};
pub(super) use writing::GC_ANNOUNCE;

use crate::{model::Kind, remedies::RemedyDeclaration};

/// Command in the help, with its examples and roles.
#[derive(Debug)]
pub(super) struct CommandRow {
    /// Name of the command.
    pub(super) name: &'static str,
    /// Heading under which the program's help lists it.
    pub(super) group: Group,
    /// Examples of the command, of which its help shows the first.
    pub(super) examples: &'static [Example],
    /// Parts of what the command needs, by their names in `rbac`.
    pub(super) roles: &'static [&'static Role],
}

/// Example: what it does, and what is typed after the program's name.
pub(super) type Example = (&'static str, &'static str);

/// Examples of the program itself, in the order in which a newcomer needs them.
pub(super) const FIRST_STEPS: &[Example] = &[
    ("Report what is wrong, without changing anything", "audit"),
    ("Explain one object: its state, its users, the effects of its deletion", "explain pv/NAME"),
    ("Show what would be reclaimed, and what not, and why", "gc --older-than 30d --dry-run"),
];

/// Heading of the program's help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Find,
    Save,
    Reclaim,
    Repair,
    Prevent,
    SetUp,
}

impl Group {
    /// All headings, in the order of the help.
    pub(super) const ALL: [Self; 6] =
        [Self::Find, Self::Save, Self::Reclaim, Self::Repair, Self::Prevent, Self::SetUp];

    pub(super) const fn heading(self) -> &'static str {
        match self {
            Self::Find => "Find",
            Self::Save => "Save data",
            Self::Reclaim => "Reclaim",
            Self::Repair => "Repair",
            Self::Prevent => "Prevent",
            Self::SetUp => "Set up",
        }
    }
}

/// Rights that a command, or a part of one, needs, under one name in `rbac`.
#[derive(Debug)]
pub(super) struct Role {
    /// Name in `rbac`.
    pub(super) name: &'static str,
    /// Description of what is granted, in the help of `rbac`.
    pub(super) about: &'static str,
    /// Objects that the command reads.
    pub(super) reads: Reads,
    /// Whether it watches what it has listed: what is about to be changed is watched until it has been.
    pub(super) watches: bool,
    /// Rights to read other things in the whole cluster.
    pub(super) also: &'static [&'static [Right<'static>]],
    /// Remedies that the command carries out.
    pub(super) remedies: &'static [&'static dyn RemedyDeclaration],
    /// Rights to write besides those of the remedies.
    pub(super) writes: &'static [Right<'static>],
    /// Whether it lists the custom resources that may use claims.
    pub(super) custom_users: bool,
    /// Use of the record of kept backend volumes.
    pub(super) record: Record,
    /// Use of the records of announcements.
    pub(super) announcements: Access,
    /// Use of a journal in the cluster.
    pub(super) journal: Access,
    /// Rights in the namespace of `watch`.
    pub(super) beside_watch: &'static [Right<'static>],
    /// Rights that are needed only on some clusters, and why: not in the role unless you add them.
    pub(super) conditional: &'static [ConditionalRight],
}

/// Objects that a command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// All objects that an audit reads.
    Cluster,
    /// Objects that the user names.
    Named,
    /// Objects that the role lists, and no others.
    Listed,
}

/// Use of the record of kept backend volumes by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Record {
    Unread,
    Reads,
    Writes,
    /// Writes the record, and creates it: what does not exist yet cannot be named.
    Creates,
}

/// Use of records by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    None,
    Reads,
    Writes,
}

impl PartialEq for Role {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Role {
    /// Returns a role that reads what an audit reads.
    const fn reader(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            reads: Reads::Cluster,
            watches: false,
            also: &[],
            remedies: &[],
            writes: &[],
            custom_users: false,
            record: Record::Reads,
            announcements: Access::None,
            journal: Access::None,
            beside_watch: &[],
            conditional: &[],
        }
    }

    /// Returns a role that reads what an audit reads, and writes.
    const fn writer(name: &'static str, about: &'static str) -> Self {
        Self { watches: true, journal: Access::Writes, ..Self::reader(name, about) }
    }

    /// Returns a role that writes to objects that the user names, and reads no others.
    const fn of_named(name: &'static str, about: &'static str) -> Self {
        Self { reads: Reads::Named, record: Record::Unread, ..Self::writer(name, about) }
    }

    /// Returns a role with only the rights that it lists.
    const fn alone(name: &'static str, about: &'static str) -> Self {
        Self { reads: Reads::Listed, record: Record::Unread, ..Self::reader(name, about) }
    }

    /// Whether the role changes no object; what `watch` keeps in its own namespace does not count.
    pub(super) fn only_reads(&self) -> bool {
        self.remedies.is_empty() && self.writes.is_empty()
    }

    /// Whether a Role in the namespace of the records is needed.
    pub(super) fn has_records(&self) -> bool {
        self.announcements > Access::None || self.record == Record::Creates
    }

    /// Returns the rights to write, besides those for Events and records.
    pub(super) fn written(&self) -> impl Iterator<Item = Right<'static>> {
        writes_of(self.remedies).chain(self.writes.iter().copied())
    }
}

/// Returns the rights that remedies need to write.
pub(super) fn writes_of(
    remedies: &[&'static dyn RemedyDeclaration],
) -> impl Iterator<Item = Right<'static>> {
    let writes = remedies.iter().flat_map(|remedy| remedy.writes());
    writes.filter_map(|(verb, what)| Some(Right::of(verb, Kind::parse_resource(what)?)))
}

/// Right to do one thing with objects of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Right<'a> {
    pub(super) verb: &'static str,
    pub(super) group: &'static str,
    pub(super) resource: &'static str,
    /// Name of the one object that matters, in any namespace; `None` for all.
    pub(super) name: Option<&'a str>,
}

impl Right<'static> {
    /// Returns a right to all objects of a kind.
    pub(super) const fn of(verb: &'static str, kind: Kind) -> Self {
        Self { verb, group: kind.group().name, resource: kind.plural(), name: None }
    }

    /// Returns a right to list objects of which this tool knows no kind.
    pub(super) const fn list(group: &'static str, resource: &'static str) -> Self {
        Self { verb: "list", group, resource, name: None }
    }

    /// Returns a right to `ConfigMap`s, or to one of this name.
    pub(super) const fn config_map(verb: &'static str, name: Option<&'static str>) -> Self {
        Self { name, ..Self::of(verb, Kind::ConfigMap) }
    }
}

/// Right that a command needs only on some clusters or for some objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConditionalRight {
    pub(super) verb: &'static str,
    pub(super) group: &'static str,
    pub(super) resource: &'static str,
    pub(super) reason: &'static str,
}

/// Right to change owner references (`gc_admission.go`, `gcPermissionsEnforcement.Validate`).
pub(super) const DELETE_TO_DISOWN: ConditionalRight = ConditionalRight {
    verb: "delete",
    group: "",
    resource: "persistentvolumeclaims",
    reason: "with the admission plugin OwnerReferencesPermissionEnforcement, which OpenShift enables, only \
             users who may delete a claim may change its owner references",
};

impl ConditionalRight {
    /// Writes the right as a rule that is commented out, with its reason.
    pub(super) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "# Not granted here: {}:", self.reason)?;
        writeln!(out, "# - apiGroups: [{:?}]", self.group)?;
        writeln!(out, "#   resources: [{}]", self.resource)?;
        writeln!(out, "#   verbs: [{}]", self.verb)
    }
}

/// Returns all commands, by group.
pub(super) fn rows() -> impl Iterator<Item = &'static CommandRow> {
    let of = |group: Group| {
        reading::ROWS.iter().chain(writing::ROWS).filter(move |it| it.group == group)
    };
    Group::ALL.into_iter().flat_map(of)
}

/// Returns everything that `rbac` has a name for.
pub(super) fn roles() -> impl Iterator<Item = &'static Role> {
    rows().flat_map(|it| it.roles.iter().copied())
}

/// Returns the examples of a command.
pub(super) fn examples(command: &str) -> &'static [Example] {
    rows().find(|it| it.name == command).map_or(&[], |it| it.examples)
}

/// Number of examples in a help; docs/examples.md has all.
const EXAMPLES: usize = 3;

/// Returns the first examples, for the end of a help.
pub(super) fn shown(examples: &[Example], program: &str) -> String {
    let header = Styles::styled();
    let header = header.get_header();
    let mut text = String::new();
    if !examples.is_empty() {
        let _ = writeln!(text, "{header}Examples:{header:#}");
    }
    for (what, typed) in examples.iter().take(EXAMPLES) {
        let _ = writeln!(text, "  # {what}\n  {program} {typed}");
    }
    text
}
