//! Objects that the user names: which one is meant, and which others may have been.

use std::{collections::BTreeSet, ffi::OsStr, io};

use clap_complete::CompletionCandidate;

use super::{Failure, completion, namespaces};
use crate::{
    cluster::Cluster,
    drivers::{self, FAMILIES, Family, Name},
    model::{Kind, ObjectKey, Text, did_you_mean, escape_control, nearest},
    plan::{Plan, no_such},
    rules::EXPLAINED,
};

/// Words for the kind of drivers and provisioners.
pub(super) const DRIVER: [&str; 4] = ["driver", "drivers", "csidriver", "csidrivers"];
/// Short name of a `VolumeAttachment`, which kubectl does not have.
const ATTACHMENT: &str = "va";
/// Number of namespaces that are listed.
const LISTED: usize = 10;

/// Object as it was typed.
#[derive(Debug)]
pub(super) struct NamedObject {
    kind: Kind,
    /// Namespace that was typed in KIND/NAMESPACE/NAME, as reports print it.
    namespace: Option<String>,
    name: String,
}

/// Returns the kind that a word names, if it can be explained.
pub(super) fn kind(word: &str) -> Option<Kind> {
    match word.to_ascii_lowercase().as_str() {
        ATTACHMENT => Some(Kind::VolumeAttachment),
        driver if DRIVER.contains(&driver) => Some(Kind::CsiDriver),
        resource => Kind::parse_resource(resource).filter(|kind| EXPLAINED.contains(kind)),
    }
}

/// Returns the name of a kind as it is listed to users.
pub(super) const fn short(kind: Kind) -> &'static str {
    match kind {
        Kind::VolumeAttachment => ATTACHMENT,
        Kind::CsiDriver => "driver",
        Kind::Pod => "pod",
        _ => kind.short(),
    }
}

/// Completes ids of findings and kinds of objects; behind `driver/`, the known drivers.
pub(super) fn complete(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let all = if typed.contains('/') { known_drivers() } else { candidates() };
    all.into_iter().filter(|it| it.get_value().to_string_lossy().starts_with(&*typed)).collect()
}

fn known_drivers() -> Vec<CompletionCandidate> {
    let of = |family: &&'static Family| {
        let title = family.title;
        let known = family.names.iter().filter_map(|name| match name {
            Name::Is(name) | Name::EndsWith(name) => Some(*name),
            Name::BeginsWith(_) | Name::Chart(_) => None,
        });
        known.map(move |name| {
            CompletionCandidate::new(format!("driver/{name}")).help(Some(title.into()))
        })
    };
    FAMILIES.iter().flat_map(of).collect()
}

fn candidates() -> Vec<CompletionCandidate> {
    let kind = |kind: Kind| {
        let help = format!("a {}, followed by its name", kind.name());
        CompletionCandidate::new(short(kind)).help(Some(help.into()))
    };
    completion::rule_ids().into_iter().chain(EXPLAINED.into_iter().map(kind)).collect()
}

impl NamedObject {
    /// Parses a kind and a name.
    pub(super) fn parse(resource: &str, name: &str) -> Result<Self, Failure> {
        let Some(kind) = kind(resource) else {
            return Err(unknown_kind(resource));
        };
        // Provisioners that are not CSI have a slash in their name: rancher.io/local-path.
        let (namespace, last) = match name.split_once('/') {
            Some((namespace, last)) if kind.is_namespaced() => (Some(namespace), last),
            _ => (None, name),
        };
        let slash = last.contains('/') && kind != Kind::CsiDriver;
        if last.is_empty() || slash || namespace == Some("") {
            let expected = match kind.is_namespaced() {
                true => "expected KIND/NAME with -n NAMESPACE, or KIND/NAMESPACE/NAME",
                false => "expected KIND/NAME or KIND NAME",
            };
            let shown = format!("\"{}/{}\"", short(kind), escape_control(name));
            return Err(Failure::usage(format!("{shown} names no object")).hint(Some(expected)));
        }
        let namespace = namespace.map(str::to_owned);
        Ok(Self { kind, namespace, name: last.to_owned() })
    }

    /// Returns the name, if the object is a driver.
    pub(super) fn driver(&self) -> Option<&str> {
        (self.kind == Kind::CsiDriver).then_some(&*self.name)
    }

    /// Returns the kind of the object.
    pub(super) const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the namespace that was typed: before the name, or as the name.
    pub(super) fn namespace(&self) -> Option<&str> {
        match self.kind {
            Kind::Namespace => Some(&self.name),
            _ => self.namespace.as_deref(),
        }
    }

    /// Returns the key of the object. In a dump, a name that only one namespace has needs no `-n`.
    pub(super) fn key(
        &self,
        cluster: &Cluster,
        namespace: Option<&str>,
    ) -> Result<ObjectKey, Failure> {
        let Self { kind, name, .. } = self;
        if !kind.is_namespaced() {
            return Ok(ObjectKey::cluster_wide(*kind, name));
        }
        if let Some(namespace) = self.namespace.as_deref().or(namespace) {
            return Ok(ObjectKey::named(*kind, namespace, name));
        }
        let found = objects(cluster, *kind).into_iter().filter(|(_, it)| **it == **name);
        let places: Vec<Text> = found.filter_map(|(namespace, _)| namespace).collect();
        match &places[..] {
            [] => Ok(ObjectKey::named(*kind, "default", name)),
            [one] => Ok(ObjectKey::named(*kind, one, name)),
            many => Err(Failure::usage(format!(
                "{}/{} exists in {} namespaces: {}",
                short(*kind),
                escape_control(name),
                many.len(),
                listed(many.iter().map(|it| &**it))
            ))
            .hint(Some("choose one with -n NAMESPACE"))),
        }
    }
}

/// Returns the failure that a kind cannot be explained, with the one that may have been meant.
fn unknown_kind(resource: &str) -> Failure {
    let kinds: Vec<_> = EXPLAINED.into_iter().map(short).collect();
    let list = format!("kinds: {}", kinds.join(", "));
    let shown = escape_control(resource);
    if Kind::parse_resource(resource).is_some() {
        return Failure::usage(format!("{shown} is a kind that cannot be explained"))
            .hint(Some(format!("{list}; of a workload, explain its pods or claims")));
    }
    let names = EXPLAINED.into_iter().flat_map(|kind| {
        [kind.plural().to_owned(), kind.name().to_lowercase(), short(kind).to_owned()]
    });
    let typed = resource.to_lowercase();
    let near = nearest(&typed, names);
    let meant = did_you_mean(&near).map(|it| format!("{it} ")).unwrap_or_default();
    Failure::usage(format!("\"{shown}\" is not a kind that can be explained"))
        .hint(Some(format!("{meant}{list}")))
}

/// Returns the failure that an object was not found, with others that may have been meant.
pub(super) fn not_found(cluster: &Cluster, key: &ObjectKey) -> Failure {
    if let Err(unseen) = cluster.reach(key.kind, key.namespace.as_ref()) {
        let told = format!("{key} was not read, and may exist: {}", unseen.reason);
        return Failure::error(io::Error::other(told)).hint(similar(cluster, key));
    }
    if let Some(kept) = cluster.kept_backends().find(|it| it.object().key == *key) {
        let told = format!("{key} does not exist; its backend volume {} was kept", kept.backend);
        return Failure::error(io::Error::new(io::ErrorKind::NotFound, told))
            .hint(Some("`audit --rule journal-kept-backend` shows its record"));
    }
    let told = match key.kind {
        // No row is kept of other pods.
        Kind::Pod => format!("{key} does not exist, or uses no claim"),
        _ => format!("{key} does not exist: {} were read", key.kind.plural()),
    };
    Failure::error(io::Error::new(io::ErrorKind::NotFound, told)).hint(similar(cluster, key))
}

/// Rewords refusals of objects that a dump does not hold, and adds which others may have been meant. What a cluster
/// holds may have been there a moment ago.
pub(super) fn name_absent(cluster: &Cluster, plan: &mut Plan) {
    for refused in plan.refusals.iter_mut().filter(|it| it.named && !it.unseen) {
        let key = &refused.object.key;
        let Some(rest) = refused.reason.strip_prefix(no_such(key.kind)) else { continue };
        let rest = if rest.starts_with([',', ';']) { rest } else { "" };
        let meant = similar(cluster, key).map(|it| format!("; {it}")).unwrap_or_default();
        refused.reason = format!("no {key} in this dump{rest}{meant}");
    }
}

/// Returns a doubt about the name of a driver or a namespace, any of which can be explained.
pub(super) fn doubt(cluster: &Cluster, key: &ObjectKey) -> Option<String> {
    if !matches!(key.kind, Kind::CsiDriver | Kind::Namespace) {
        return None;
    }
    let known = objects(cluster, key.kind);
    if known.iter().any(|(_, name)| **name == *key.name) {
        return None;
    }
    let what = match key.kind {
        Kind::Namespace => format!("nothing that was read is in namespace {}", key.name),
        _ if drivers::is_unknown(drivers::family(&key.name)) => {
            format!("no object references driver {}", key.name)
        }
        _ => return None,
    };
    Some(match similar(cluster, key) {
        Some(similar) => format!("{what}; {similar}"),
        None => what,
    })
}

/// Returns a hint at the same name in other namespaces, else at similar names.
pub(super) fn similar(cluster: &Cluster, key: &ObjectKey) -> Option<String> {
    let known = objects(cluster, key.kind);
    let elsewhere: Vec<_> = known
        .iter()
        .filter(|(_, name)| **name == *key.name)
        .filter_map(|(namespace, _)| namespace.as_deref())
        .collect();
    if !elsewhere.is_empty() {
        return Some(format!(
            "{}/{} exists in namespace {}; pass it with -n",
            short(key.kind),
            key.name,
            listed(elsewhere.into_iter())
        ));
    }
    let of = |(namespace, name): (Option<Text>, Box<str>)| match namespace {
        Some(it) if Some(&it) != key.namespace.as_ref() => {
            (name.to_string(), format!("{name} (-n {it})"))
        }
        _ => (name.to_string(), name.to_string()),
    };
    let names: Vec<_> = known.into_iter().map(of).collect();
    let near = nearest(&key.name, names.iter().map(|(name, _)| name.clone()));
    let shown: Vec<_> = near
        .iter()
        .filter_map(|near| names.iter().find(|(name, _)| name == near))
        .map(|(_, shown)| format!("{}/{shown}", short(key.kind)))
        .collect();
    did_you_mean(&shown)
}

fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let mut shown: Vec<_> = names.take(LISTED).map(|it| escape_control(it).into_owned()).collect();
    if count > LISTED {
        shown.push(format!("and {} more", count - LISTED));
    }
    shown.join(", ")
}

/// Returns the namespaces and names of all objects of a kind that were read, sorted.
fn objects(cluster: &Cluster, kind: Kind) -> BTreeSet<(Option<Text>, Box<str>)> {
    let within = |namespace: &Text, name: &str| (Some(Text::clone(namespace)), name.into());
    let wide = |name: &str| (None, name.into());
    match kind {
        Kind::PersistentVolume => cluster.volumes().map(|(_, it)| wide(it.name())).collect(),
        Kind::PersistentVolumeClaim => {
            cluster.claims().map(|(_, it)| within(&it.namespace, &it.metadata.name)).collect()
        }
        Kind::StatefulSet => {
            cluster.sets().map(|(_, it)| within(&it.namespace, &it.metadata.name)).collect()
        }
        Kind::Pod => cluster.pods().map(|(_, it)| within(&it.namespace, &it.name)).collect(),
        Kind::VolumeAttachment => {
            cluster.attachments().map(|(_, it)| wide(&it.metadata.name)).collect()
        }
        Kind::VolumeSnapshot => cluster
            .volume_snapshots()
            .map(|(_, it)| within(&it.namespace, &it.metadata.name))
            .collect(),
        Kind::VolumeSnapshotContent => cluster
            .snapshots()
            .filter(|(_, it)| it.kind == kind)
            .map(|(_, it)| wide(&it.metadata.name))
            .collect(),
        Kind::StorageClass => cluster.classes().map(|(_, it)| wide(&it.metadata.name)).collect(),
        Kind::VolumeAttributesClass => {
            cluster.attributes_classes().map(|(_, it)| wide(&it.metadata.name)).collect()
        }
        Kind::CsiDriver => {
            let classes = cluster.classes().map(|(_, it)| wide(&it.provisioner));
            cluster.drivers().iter().map(|it| wide(it)).chain(classes).collect()
        }
        Kind::Namespace => namespaces::known(cluster).into_iter().map(|it| wide(&it)).collect(),
        _ => BTreeSet::new(),
    }
}
