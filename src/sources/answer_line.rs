//! Line of an answer in our own dumps: the question, with the answer about a single object, about recorded
//! announcements, or about the custom resources that use claims.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::journal::announcement;
use crate::journal::announcement::{ReadBatch, parse_veto, veto_value};
use crate::model::{
    AnnouncedBatch, Announcements, Answer, CustomKind, CustomUser, CustomUsers, Interner, Kind,
    NamedBy, NamedClaim, ObjectKey, OwnerKey, OwnerObject, OwnerReference, Question, Row, Uid,
    UnlistedKind, Veto, VoidBatch, format_time, parse_time,
};

/// A question with its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedAnswer {
    question: SavedQuestion,
    answer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    users: Option<SavedCustomUsers>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    announcements: Option<SavedAnnouncements>,
    /// The metadata of an owner that exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<SavedOwner>,
    /// State beside `unanswered`: the kind that the question is about is not served in this version.
    #[serde(default, rename = "notServed", skip_serializing_if = "Option::is_none")]
    not_served: Option<SavedNotServed>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedNotServed {
    /// The version in which the kind is served, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elsewhere: Option<String>,
}

/// Metadata of an owner, besides its uid.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedOwner {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    terminating: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cluster_wide: bool,
    #[serde(default)]
    owner_references: Vec<SavedReference>,
}

/// One of the owner references of an owner.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedReference {
    api_version: String,
    kind: String,
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    controller: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    block_owner_deletion: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedOwnerKey {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SavedQuestion {
    Exists {
        resource: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        name: String,
    },
    OwnerExists(SavedOwnerKey),
    OwnersOf(SavedOwnerKey),
    SecretExists {
        namespace: String,
        name: String,
    },
    #[serde(rename_all = "camelCase")]
    MayPatchVolumes {
        namespace: String,
        service_account: String,
    },
    KeptBackends {
        namespace: String,
    },
    CustomUsers {
        namespace: String,
    },
    Announcements {
        namespace: String,
    },
}

impl SavedAnswer {
    /// Puts an answer into its saved form.
    pub fn new(question: &Question, given: &Answer) -> Self {
        let question = match question {
            Question::Exists(key) => SavedQuestion::Exists {
                resource: key.kind.plural().to_owned(),
                namespace: key.namespace.as_ref().map(ToString::to_string),
                name: key.name.to_string(),
            },
            Question::OwnerExists(key) => SavedQuestion::OwnerExists(SavedOwnerKey::new(key)),
            Question::OwnersOf(key) => SavedQuestion::OwnersOf(SavedOwnerKey::new(key)),
            Question::SecretExists { namespace, name } => SavedQuestion::SecretExists {
                namespace: namespace.to_string(),
                name: name.to_string(),
            },
            Question::MayPatchVolumes { namespace, service_account } => {
                SavedQuestion::MayPatchVolumes {
                    namespace: namespace.to_string(),
                    service_account: service_account.to_string(),
                }
            }
            Question::KeptBackends { namespace } => {
                SavedQuestion::KeptBackends { namespace: namespace.to_string() }
            }
            Question::CustomUsers { namespace } => {
                SavedQuestion::CustomUsers { namespace: namespace.to_string() }
            }
            Question::Announcements { namespace } => {
                SavedQuestion::Announcements { namespace: namespace.to_string() }
            }
        };
        let users = match given {
            Answer::Users(users) => Some(SavedCustomUsers::new(users)),
            _ => None,
        };
        let announcements = match given {
            Answer::Announcements(all) => Some(SavedAnnouncements::new(all)),
            _ => None,
        };
        let (answer, uid, reason) = match given {
            Answer::Yes => ("yes", None, None),
            Answer::Is(uid) => ("yes", Some(uid.to_string()), None),
            Answer::Owner(owner) => ("yes", Some(owner.uid.to_string()), None),
            Answer::Users(_) => ("users", None, None),
            Answer::Announcements(_) => ("announcements", None, None),
            Answer::No => ("no", None, None),
            Answer::Forbidden => ("forbidden", None, None),
            Answer::Unanswered(reason) => ("unanswered", None, Some(reason.clone())),
            // Earlier versions know no such answer.
            Answer::NotServed { .. } => ("unanswered", None, Some("the kind is not served".into())),
        };
        let not_served = match given {
            Answer::NotServed { elsewhere } => {
                Some(SavedNotServed { elsewhere: elsewhere.as_ref().map(ToString::to_string) })
            }
            _ => None,
        };
        let owner = match given {
            Answer::Owner(owner) => Some(SavedOwner::new(owner)),
            _ => None,
        };
        let answer = answer.to_owned();
        Self { question, answer, uid, reason, users, announcements, owner, not_served }
    }

    /// Converts the saved form into a row.
    ///
    /// # Errors
    /// When the answer is none of these.
    pub fn into_row(self, interner: &mut Interner) -> Result<Row, String> {
        let question = match self.question {
            SavedQuestion::Exists { resource, namespace, name } => Question::Exists(ObjectKey {
                kind: Kind::parse_resource(&resource)
                    .ok_or_else(|| format!("{resource:?} is not a resource that an audit reads"))?,
                namespace: namespace.map(|namespace| interner.text(&namespace)),
                name: name.into(),
            }),
            SavedQuestion::OwnerExists(key) => Question::OwnerExists(key.into_key(interner)),
            SavedQuestion::OwnersOf(key) => Question::OwnersOf(key.into_key(interner)),
            SavedQuestion::SecretExists { namespace, name } => Question::SecretExists {
                namespace: interner.text(&namespace),
                name: interner.text(&name),
            },
            SavedQuestion::MayPatchVolumes { namespace, service_account } => {
                Question::MayPatchVolumes {
                    namespace: interner.text(&namespace),
                    service_account: interner.text(&service_account),
                }
            }
            SavedQuestion::KeptBackends { namespace } => {
                Question::KeptBackends { namespace: interner.text(&namespace) }
            }
            SavedQuestion::CustomUsers { namespace } => {
                Question::CustomUsers { namespace: interner.text(&namespace) }
            }
            SavedQuestion::Announcements { namespace } => {
                Question::Announcements { namespace: interner.text(&namespace) }
            }
        };
        let answer = match self.answer.as_str() {
            "yes" => match self.uid.as_deref().and_then(Uid::parse) {
                Some(uid) => match self.owner {
                    Some(owner) => Answer::Owner(Arc::new(owner.into_object(uid, interner))),
                    None => Answer::Is(uid),
                },
                None => Answer::Yes,
            },
            "users" => Answer::Users(Arc::new(self.users.unwrap_or_default().into_users()?)),
            "announcements" => {
                let all = self.announcements.unwrap_or_default();
                Answer::Announcements(Arc::new(all.into_announcements()?))
            }
            "no" => Answer::No,
            "forbidden" => Answer::Forbidden,
            "unanswered" => match self.not_served {
                Some(SavedNotServed { elsewhere }) => {
                    Answer::NotServed { elsewhere: elsewhere.map(|it| interner.text(&it)) }
                }
                None => Answer::Unanswered(self.reason.unwrap_or_default()),
            },
            other => {
                return Err(format!(
                    "{other:?} is not yes, no, users, announcements, forbidden or unanswered"
                ));
            }
        };
        Ok(Row::Answer(question, answer))
    }
}

impl SavedOwnerKey {
    fn new(key: &OwnerKey) -> Self {
        Self {
            api_version: key.api_version.to_string(),
            kind: key.kind.to_string(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
        }
    }

    fn into_key(self, interner: &mut Interner) -> OwnerKey {
        OwnerKey {
            api_version: interner.text(&self.api_version),
            kind: interner.text(&self.kind),
            namespace: interner.text(&self.namespace),
            name: self.name.into(),
        }
    }
}

impl SavedOwner {
    fn new(owner: &OwnerObject) -> Self {
        let reference = |it: &OwnerReference| SavedReference {
            api_version: it.api_version.to_string(),
            kind: it.kind.to_string(),
            name: it.name.to_string(),
            uid: it.uid.as_ref().map(ToString::to_string).unwrap_or_default(),
            controller: it.controller,
            block_owner_deletion: it.blocks_deletion,
        };
        Self {
            terminating: owner.terminating,
            cluster_wide: owner.cluster_wide,
            owner_references: owner.owners.iter().map(reference).collect(),
        }
    }

    fn into_object(self, uid: Uid, interner: &mut Interner) -> OwnerObject {
        let reference = |it: SavedReference| OwnerReference {
            api_version: interner.text(&it.api_version),
            kind: interner.text(&it.kind),
            name: it.name.into(),
            uid: Uid::parse(&it.uid),
            controller: it.controller,
            blocks_deletion: it.block_owner_deletion,
        };
        OwnerObject {
            uid,
            terminating: self.terminating,
            cluster_wide: self.cluster_wide,
            owners: self.owner_references.into_iter().map(reference).collect(),
        }
    }
}

/// Recorded announcements: the keys and values of the records, as they were read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedAnnouncements {
    batches: Vec<SavedBatch>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vetoes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    void: Vec<SavedVoid>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedBatch {
    name: String,
    created: String,
    data: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedVoid {
    name: String,
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uids: Vec<String>,
}

impl SavedAnnouncements {
    /// Puts announcements into their saved form.
    pub fn new(all: &Announcements) -> Self {
        let batch = |it: &AnnouncedBatch| SavedBatch {
            name: it.name.to_string(),
            created: format_time(&it.created),
            data: announcement::data(it.grace, it.cluster.as_deref(), it.volumes.iter()),
        };
        let void = |it: &VoidBatch| SavedVoid {
            name: it.name.to_string(),
            reason: it.reason.to_string(),
            created: it.created.as_ref().map(format_time),
            uids: it.uids.iter().map(Uid::to_string).collect(),
        };
        let veto = |it: &Veto| (it.uid.to_string(), veto_value(it));
        Self {
            batches: all.batches.iter().map(batch).collect(),
            vetoes: all.vetoes.iter().map(veto).collect(),
            void: all.void.iter().map(void).collect(),
        }
    }

    /// Converts the saved form into announcements.
    ///
    /// # Errors
    /// When a batch is none of ours, or of another version.
    pub fn into_announcements(self) -> Result<Announcements, String> {
        let batch = |it: SavedBatch| {
            let created = parse_time(&it.created).ok().flatten();
            ReadBatch { name: it.name, created, immutable: true, deleting: false, data: it.data }
                .parse()
        };
        let void = |it: SavedVoid| VoidBatch {
            name: it.name.into(),
            reason: it.reason.into(),
            created: it.created.and_then(|it| parse_time(&it).ok().flatten()),
            uids: it.uids.iter().filter_map(|it| Uid::parse(it)).collect(),
        };
        Ok(Announcements {
            batches: self.batches.into_iter().map(batch).collect::<Result<_, String>>()?,
            vetoes: self.vetoes.iter().filter_map(|(key, it)| parse_veto(key, it)).collect(),
            void: self.void.into_iter().map(void).collect(),
        })
    }
}

/// The custom resources of a namespace that use claims.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedCustomUsers {
    items: Vec<SavedUser>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unlisted: Vec<SavedUnlisted>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedUser {
    group: String,
    kind: String,
    name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cluster_wide: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    finished: bool,
    #[serde(default)]
    claims: Vec<SavedName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicas: Option<i32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedName {
    name: String,
    by: SavedNaming,
    field: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SavedNaming {
    OwnName,
    Field,
    Template,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedUnlisted {
    group: String,
    kind: String,
    reason: String,
}

impl SavedCustomUsers {
    /// Puts custom resources into their saved form.
    pub fn new(users: &CustomUsers) -> Self {
        let item = |user: &CustomUser| SavedUser {
            group: user.kind.group.to_owned(),
            kind: user.kind.kind.to_owned(),
            name: user.name.to_string(),
            cluster_wide: user.cluster_wide,
            finished: user.finished,
            claims: user.claims.iter().map(SavedName::new).collect(),
            uid: user.uid.as_ref().map(ToString::to_string),
            replicas: user.replicas,
        };
        let unlisted = |it: &UnlistedKind| SavedUnlisted {
            group: it.kind.group.to_owned(),
            kind: it.kind.kind.to_owned(),
            reason: it.reason.to_string(),
        };
        Self {
            items: users.users.iter().map(item).collect(),
            unlisted: users.unlisted.iter().map(unlisted).collect(),
        }
    }

    /// Converts the saved form into custom resources.
    ///
    /// # Errors
    /// When a kind is not known: another version wrote it.
    pub fn into_users(self) -> Result<CustomUsers, String> {
        let known = |group: &str, kind: &str| {
            CustomKind::find(group, kind)
                .ok_or_else(|| format!("{kind} of {group} is not a kind that uses claims"))
        };
        let user = |it: SavedUser| {
            Ok(CustomUser {
                kind: known(&it.group, &it.kind)?,
                name: it.name.into(),
                cluster_wide: it.cluster_wide,
                finished: it.finished,
                claims: it.claims.into_iter().map(SavedName::into_name).collect(),
                uid: it.uid.as_deref().and_then(Uid::parse),
                replicas: it.replicas,
            })
        };
        let unlisted = |it: SavedUnlisted| {
            Ok(UnlistedKind { kind: known(&it.group, &it.kind)?, reason: it.reason.into() })
        };
        Ok(CustomUsers {
            users: self.items.into_iter().map(user).collect::<Result<_, String>>()?,
            unlisted: self.unlisted.into_iter().map(unlisted).collect::<Result<_, String>>()?,
        })
    }
}

impl SavedName {
    fn new(claim: &NamedClaim) -> Self {
        let by = match claim.by {
            NamedBy::OwnName => SavedNaming::OwnName,
            NamedBy::Field => SavedNaming::Field,
            NamedBy::Template => SavedNaming::Template,
        };
        Self { name: claim.name.to_string(), by, field: claim.field.to_string() }
    }

    fn into_name(self) -> NamedClaim {
        let by = match self.by {
            SavedNaming::OwnName => NamedBy::OwnName,
            SavedNaming::Field => NamedBy::Field,
            SavedNaming::Template => NamedBy::Template,
        };
        NamedClaim { name: self.name.into(), by, field: self.field.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::model::{AnnouncedVolume, Answer, ClaimKey, Interner, Question, Row, Time};

    #[test]
    fn what_was_recorded_of_announcements_is_read_back() {
        let uid = Uid::parse("493c02a7-f4e6-5ec4-8e0b-fc87ae581be5").expect("a uid");
        let all = Announcements {
            batches: vec![AnnouncedBatch {
                name: "kubectl-storage-announced-1".into(),
                created: Time::from_timestamp(1_800_000_000, 0).expect("a time"),
                grace: Duration::from_secs(60),
                cluster: Some("c".into()),
                volumes: vec![AnnouncedVolume {
                    name: "pv-1".into(),
                    uid: uid.clone(),
                    claim: Some(ClaimKey { namespace: "shop".into(), name: "data".into() }),
                    claim_uid: None,
                    driver: "d".into(),
                    handle: "h".into(),
                    place: "p".into(),
                    proposal: "q".into(),
                    notices: vec!["n".into()],
                    effect: "e".into(),
                }],
            }],
            vetoes: vec![Veto {
                volume: "pv-2".into(),
                uid: uid.clone(),
                batch: "b".into(),
                found: None,
            }],
            void: vec![VoidBatch {
                name: "x".into(),
                reason: "it is not immutable".into(),
                created: Time::from_timestamp(1_800_000_001, 0),
                uids: vec![uid.clone()],
            }],
        };
        let question = Question::Announcements { namespace: "kube-system".into() };
        let answer = Answer::Announcements(Arc::new(all));
        let text = serde_json::to_string(&SavedAnswer::new(&question, &answer)).expect("JSON");
        let line: SavedAnswer = serde_json::from_str(&text).expect("the same form");
        let row = line.into_row(&mut Interner::default());
        assert_eq!(row, Ok(Row::Answer(question, answer)));
    }

    #[test]
    fn custom_users_are_read_back() {
        let kind = |group, name| CustomKind::find(group, name).expect("it is in the table");
        let claim = |by, field: &str| NamedClaim { name: "root".into(), by, field: field.into() };
        let user = |kind, claims| CustomUser {
            kind,
            name: "vm".into(),
            cluster_wide: false,
            finished: true,
            claims,
            uid: Uid::parse("0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11"),
            replicas: Some(3),
        };
        let users = CustomUsers {
            users: vec![
                user(
                    kind("cdi.kubevirt.io", "DataVolume"),
                    [claim(NamedBy::OwnName, "metadata.name")].into(),
                ),
                user(
                    kind("apps.kruise.io", "StatefulSet"),
                    [claim(NamedBy::Template, "t"), claim(NamedBy::Field, "f")].into(),
                ),
                user(kind("postgresql.cnpg.io", "Cluster"), [].into()),
            ],
            unlisted: vec![UnlistedKind {
                kind: kind("keda.sh", "ScaledJob"),
                reason: "forbidden".into(),
            }],
        };
        let text = serde_json::to_string(&SavedCustomUsers::new(&users)).expect("it is JSON");
        let read: SavedCustomUsers = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(read.into_users().as_ref(), Ok(&users));

        // As a line of a dump.
        let question = Question::CustomUsers { namespace: "shop".into() };
        let answer = Answer::Users(Arc::new(users));
        let text = serde_json::to_string(&SavedAnswer::new(&question, &answer));
        let read: SavedAnswer =
            serde_json::from_str(&text.expect("it is JSON")).expect("it is JSON");
        let row = read.into_row(&mut Interner::default());
        assert_eq!(row, Ok(Row::Answer(question, answer)));
        let later = r#"{"items": [{"group": "later.example.com", "kind": "Thing", "name": "x"}]}"#;
        let later: SavedCustomUsers = serde_json::from_str(later).expect("it is JSON");
        let error = "Thing of later.example.com is not a kind that uses claims".to_owned();
        assert_eq!(later.into_users(), Err(error));
    }
}
