//! An answer, in our own dumps: the question about a single object, and what was answered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::announcements_line::SavedAnnouncements;
use super::custom_users_line::SavedCustomUsers;
use crate::model::{
    Answer, Interner, Kind, ObjectKey, OwnerKey, OwnerObject, OwnerReference, Question, Row, Uid,
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
    /// What is known of an owner that exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<SavedOwner>,
    /// Beside `unanswered`: the kind that the question is about is not served in this version.
    #[serde(default, rename = "notServed", skip_serializing_if = "Option::is_none")]
    not_served: Option<SavedNotServed>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedNotServed {
    /// The version in which it is served, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elsewhere: Option<String>,
}

/// What is known of an owner, besides its uid.
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

    /// Takes it out of its saved form.
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
