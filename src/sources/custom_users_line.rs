//! `SavedCustomUsers`: the custom resources that use claims, in an answer of our own dump.

use serde::{Deserialize, Serialize};

use crate::model::{CustomKind, CustomUser, CustomUsers, NamedBy, NamedClaim, UnlistedKind};

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
    /// Puts them into their saved form.
    pub fn new(users: &CustomUsers) -> Self {
        let item = |user: &CustomUser| SavedUser {
            group: user.kind.group.to_owned(),
            kind: user.kind.kind.to_owned(),
            name: user.name.to_string(),
            cluster_wide: user.cluster_wide,
            finished: user.finished,
            claims: user.claims.iter().map(SavedName::new).collect(),
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

    /// Takes them out of their saved form.
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

    use super::*;
    use crate::model::{Answer, Interner, Question, Row};
    use crate::sources::answer_line::SavedAnswer;

    #[test]
    fn what_was_saved_is_read_back() {
        let kind = |group, name| CustomKind::find(group, name).expect("it is in the table");
        let claim = |by, field: &str| NamedClaim { name: "root".into(), by, field: field.into() };
        let user = |kind, claims| CustomUser {
            kind,
            name: "vm".into(),
            cluster_wide: false,
            finished: true,
            claims,
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
