//! Subjects of an assessment, and the scope of a report.

use std::collections::BTreeSet;

use crate::cluster::{Cluster, Subject, for_each_judged_row};
use crate::model::{
    Exemption, Kind, Metadata, NamedRow as _, ObjectKey, ObjectRef, RuleId, Settings, Text,
};

macro_rules! declare_access {
    ($($subject:ident: $row:ident, $all:ident, $at:ident;)+) => {
        /// Returns every row that can be judged.
        fn rows(cluster: &Cluster) -> impl Iterator<Item = Subject> + '_ {
            let none = std::iter::empty();
            none$(.chain(cluster.$all().map(|(id, _)| Subject::$subject(id))))+
        }

        /// Kind, namespace and name of a subject.
        pub(super) fn object_key(cluster: &Cluster, subject: &Subject) -> Option<ObjectKey> {
            Some(match subject {
                $(Subject::$subject(id) => cluster.$at(*id)?.object_key(),)+
                Subject::Driver(name) => ObjectKey::cluster_wide(Kind::CsiDriver, name),
                Subject::Backend(key) => cluster.kept_backend(key)?.object().key,
            })
        }

        /// The object of a subject, as findings about it name it; `None` where it does not exist any more.
        pub fn object(cluster: &Cluster, subject: &Subject) -> Option<ObjectRef> {
            Some(match subject {
                $(Subject::$subject(id) => cluster.$at(*id)?.object(),)+
                Subject::Driver(name) => {
                    let key = ObjectKey::cluster_wide(Kind::CsiDriver, name);
                    cluster.has_driver(name).then_some(ObjectRef { key, uid: None })?
                }
                Subject::Backend(key) => cluster.kept_backend(key)?.object(),
            })
        }

        /// The metadata of a subject; `None` for pods, whose metadata is not kept, and for subjects
        /// that are no objects.
        pub fn metadata<'a>(cluster: &'a Cluster, subject: &Subject) -> Option<&'a Metadata> {
            match subject {
                $(Subject::$subject(id) => cluster.$at(*id)?.metadata(),)+
                Subject::Driver(_) | Subject::Backend(_) => None,
            }
        }
    };
}

for_each_judged_row!(declare_access);

/// Returns every subject that can be judged.
pub fn subjects(cluster: &Cluster) -> BTreeSet<Subject> {
    let drivers = cluster.drivers().into_iter().map(Subject::Driver);
    rows(cluster).chain(kept_backends(cluster)).chain(drivers).collect()
}

/// Returns every subject that can be judged, except volumes and drivers.
pub(super) fn subjects_but_volumes(cluster: &Cluster) -> impl Iterator<Item = Subject> + '_ {
    let rows = rows(cluster).filter(|subject| !matches!(subject, Subject::Volume(_)));
    rows.chain(kept_backends(cluster))
}

fn kept_backends(cluster: &Cluster) -> impl Iterator<Item = Subject> + '_ {
    cluster.kept_backends().map(|kept| Subject::Backend(kept.backend.clone()))
}

/// The namespace of a subject: its own, or that of its claim or its snapshot.
pub(super) fn namespace(cluster: &Cluster, subject: &Subject) -> Option<Text> {
    let of_volume = |name: &str| {
        let claim = cluster.volume_named(name)?.claim_ref.as_ref()?;
        Some(Text::clone(&claim.key.namespace))
    };
    match subject {
        Subject::Volume(id) => {
            let claim = cluster.volume_at(*id)?.claim_ref.as_ref()?;
            Some(Text::clone(&claim.key.namespace))
        }
        Subject::Claim(id) => cluster.claim_at(*id).map(|it| Text::clone(&it.namespace)),
        Subject::StatefulSet(id) => cluster.set_at(*id).map(|it| Text::clone(&it.namespace)),
        Subject::Pod(id) => cluster.pod_at(*id).map(|it| Text::clone(&it.namespace)),
        Subject::Snapshot(id) => {
            cluster.snapshot_at(*id)?.snapshot.as_ref().map(|(namespace, _)| Text::clone(namespace))
        }
        Subject::Attachment(id) => match &cluster.attachment_at(*id)?.source {
            crate::model::AttachmentSource::Volume(name) => of_volume(name),
            crate::model::AttachmentSource::Inline { .. }
            | crate::model::AttachmentSource::None => None,
        },
        Subject::Backend(key) => {
            let claim = cluster.kept_backend(key)?.claim.as_ref()?;
            Some(Text::clone(&claim.namespace))
        }
        Subject::Namespace(id) => {
            cluster.namespace_at(*id).map(|it| Text::from(&*it.metadata.name))
        }
        Subject::Class(_)
        | Subject::AttributesClass(_)
        | Subject::AdmissionObject(_)
        | Subject::Driver(_) => None,
    }
}

/// Whether a subject is in the scope of the report.
pub fn in_scope(cluster: &Cluster, settings: &Settings, subject: &Subject) -> bool {
    let scope = &settings.scope;
    if !scope.namespaces.is_empty()
        && namespace(cluster, subject).is_none_or(|it| !scope.includes(&it))
    {
        return false;
    }
    if !(scope.objects.is_empty() && scope.fields.is_empty()) {
        let named = |it: &ObjectKey| scope.objects.is_empty() || scope.objects.contains(it);
        let key = object_key(cluster, subject);
        if !key.is_some_and(|it| named(&it) && scope.fields.matches(&it)) {
            return false;
        }
    }
    scope.selector.is_empty()
        || metadata(cluster, subject).is_some_and(|it| scope.selector.matches(&it.labels))
}

/// Whether a finding is not reported: it is out of scope, or exempted.
pub fn is_left_out(cluster: &Cluster, settings: &Settings, subject: &Subject, id: RuleId) -> bool {
    !in_scope(cluster, settings, subject) || exempt(cluster, settings, subject, id)
}

/// Whether the user asked for findings of a rule: if no rules are named, of every rule.
pub fn is_asked_for(settings: &Settings, id: RuleId) -> bool {
    let rules = &settings.scope.rules;
    rules.is_empty() || rules.contains(id)
}

/// Whether the user excluded a finding.
pub(super) fn exempt(
    cluster: &Cluster,
    settings: &Settings,
    subject: &Subject,
    id: RuleId,
) -> bool {
    if settings.scope.ignored.contains(id) || !is_asked_for(settings, id) {
        return true;
    }
    let ignore = metadata(cluster, subject).and_then(Metadata::ignore);
    ignore.is_some_and(|text| ignored_ids(text).any(|ignored| ignored == id))
        || is_listed(cluster, settings, subject, id)
}

/// Whether an exemption lists this finding of this object, and applies now.
fn is_listed(cluster: &Cluster, settings: &Settings, subject: &Subject, id: RuleId) -> bool {
    let now = cluster.clock();
    let applies = |it: &&Exemption| *it.rule == *id && it.applies_at(now);
    let mut listed = settings.scope.exemptions.iter().filter(applies).peekable();
    // Most findings are not, and their object need not be named.
    listed.peek().is_some()
        && object_key(cluster, subject).is_some_and(|key| listed.any(|it| it.object == key))
}

/// The ids at the beginning of `storage.kubectl.dev/ignore: "<id>[,…] reason"`.
fn ignored_ids(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().next().unwrap_or_default().split(',')
}
