//! Users of a claim besides pods and workloads: custom resources from which pods are made, and software that knows its
//! claims by their labels (semantics#other-users-of-a-claim).

use std::sync::Arc;

use super::is_stopped_by_teardown;
use crate::cluster::{Cx, Unseen};
use crate::model::{
    Answer, Claim, ClaimKey, CustomUser, CustomUsers, Kind, MarkMeaning, Metadata, NamedBy, Naming,
    OF_A_DUMP, OPERATOR_MARKS, OperatorMark, Question, Text, is_placeholder,
};

/// The flag with which the user asserts that nothing but pods, workloads and owners uses a claim.
pub const NO_OTHER_USERS: &str = "--no-other-users";

/// Largest number of custom resources that a notice names.
const NAMED: usize = 3;

/// Largest number of kinds that were not listed which a reason names.
const KINDS: usize = 8;

/// The users of a claim besides pods, workloads and owners.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherUsers {
    /// The custom resources that use the claim. No flag overrides them.
    pub users: Vec<OtherUser>,
    /// Signs of further users, each with its reason. [`NO_OTHER_USERS`] overrides it.
    pub signs: Vec<String>,
    /// The kinds that could not be listed. [`NO_OTHER_USERS`] overrides them as well.
    pub unseen: Option<Unseen>,
    /// Whether kinds are unseen only because no server was asked: what was read is a dump.
    pub unasked: bool,
    /// Notices that do not matter to the decision.
    pub notices: Vec<String>,
}

/// A custom resource that uses a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherUser {
    /// The custom resource.
    pub user: CustomUser,
    /// The way in which it uses the claim.
    pub how: OtherUse,
}

/// Way in which a custom resource uses a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherUse {
    /// This field of the resource names the claim.
    Field(Box<str>),
    /// The resource has the name of the claim, which is made from it.
    OwnName,
    /// The resource has a template of claims, of which this is one.
    Template,
    /// The operator of the resource makes pods with every claim that has this label.
    Label(&'static str),
}

/// A mark of the software that made a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimMark<'a> {
    /// The known meaning of the label.
    pub mark: &'static OperatorMark,
    /// The label's value.
    pub value: &'a str,
}

impl OtherUser {
    /// Describes the user, in the words of a refusal.
    pub fn words(&self) -> String {
        let object = self.user.object();
        match &self.how {
            OtherUse::Field(field) => format!("{object} references it in {field}"),
            OtherUse::OwnName => format!("{object} has its name, and would recreate it"),
            OtherUse::Template => format!("{object} has a template of which it is a claim"),
            OtherUse::Label(label) => format!("{object} uses the claims with its label {label}"),
        }
    }

    /// Returns what ends this use.
    pub fn ended_by(&self) -> &'static str {
        self.user.kind.ending
    }

    /// Whether the user is the object of an owner reference.
    pub fn is(&self, kind: &str, name: &str) -> bool {
        self.user.kind.kind == kind && *self.user.name == *name
    }
}

impl ClaimMark<'_> {
    /// Returns the label as selectors write it.
    pub fn label(&self) -> String {
        format!("{}={}", self.mark.label, self.value)
    }

    /// Whether the software makes pods with the claim when they are wanted, so that a claim without
    /// pods is nothing unusual.
    pub fn makes_pods_on_demand(&self) -> bool {
        matches!(self.mark.meaning, MarkMeaning::UsedByOwner | MarkMeaning::UsedOnDemand)
    }
}

/// Returns the mark of the software that made a claim.
pub fn operator_mark(metadata: &Metadata) -> Option<ClaimMark<'_>> {
    OPERATOR_MARKS.iter().find_map(|mark| {
        let value = metadata.label(mark.label)?;
        mark.value.is_none_or(|it| it == value).then_some(ClaimMark { mark, value })
    })
}

/// Returns the users of a claim besides pods, workloads and owners. One user proves use, whatever else was not read.
pub fn other_users(cx: &Cx, claim: &Claim) -> OtherUsers {
    users_of(cx, &claim.key(), Some(&claim.metadata))
}

/// Returns the custom resources that use a claim of this name, whether or not it exists.
pub fn other_users_of_name(cx: &Cx, claim: &ClaimKey) -> OtherUsers {
    users_of(cx, claim, None)
}

fn users_of(cx: &Cx, claim: &ClaimKey, metadata: Option<&Metadata>) -> OtherUsers {
    let mut found = OtherUsers::default();
    let namespace = Text::clone(&claim.namespace);
    let seen = match cx.answer(Question::CustomUsers { namespace }) {
        Ok(Answer::Users(seen)) => seen,
        Ok(Answer::Unanswered(reason)) => {
            found.unseen = Some(unseen(claim, &reason));
            Arc::default()
        }
        Ok(
            Answer::Yes
            | Answer::Is(_)
            | Answer::Owner(_)
            | Answer::Announcements(_)
            | Answer::No
            | Answer::Forbidden
            | Answer::NotServed { .. },
        )
        | Err(_) => {
            found.unseen = Some(unseen(claim, "they were not listed"));
            found.unasked = true;
            Arc::default()
        }
    };
    for user in &seen.users {
        found.look(user, claim);
    }
    found.users.retain(|it| !is_stopped_by_teardown(cx, &claim.namespace, &it.user));
    found.notice_placeholders(&seen);
    if let Some(metadata) = metadata
        && let Some(mark) = operator_mark(metadata)
    {
        found.take_mark(&mark, metadata, &seen);
    }
    if !seen.unlisted.is_empty() {
        found.unasked = seen.unlisted.iter().all(|it| *it.reason == *OF_A_DUMP);
        let kinds = seen.unlisted.iter();
        let kinds: Vec<_> = kinds
            .take(KINDS)
            .map(|it| format!("{}.{} ({})", it.kind.plural, it.kind.group, it.reason))
            .collect();
        let more = match seen.unlisted.len().saturating_sub(KINDS) {
            0 => String::new(),
            more => format!(", and {more} more kinds"),
        };
        found.unseen = Some(unseen(claim, &format!("{}{more}", kinds.join(", "))));
    }
    found
}

fn unseen(claim: &ClaimKey, reason: &str) -> Unseen {
    let namespace = Some(Text::clone(&claim.namespace));
    let reason = format!("unknown which custom resources use it: {reason}");
    Unseen { kind: Kind::PartialObjectMetadata, namespace, reason }
}

impl OtherUsers {
    fn look(&mut self, user: &CustomUser, claim: &ClaimKey) {
        let Some(named) = user.names(&claim.name) else { return };
        let (object, field) = (user.object(), &named.field);
        let how = match named.by {
            // It recreates the claim, finished or not.
            NamedBy::OwnName => OtherUse::OwnName,
            NamedBy::Field | NamedBy::Template if user.finished => {
                let end = "has finished: it starts no more pods unless it is started again";
                self.notices.push(format!("{object} references it in {field}, and {end}"));
                return;
            }
            NamedBy::Field if user.cluster_wide => {
                let place = "in whichever namespace it is run";
                self.signs.push(format!("{object} references it in {field}, {place}"));
                return;
            }
            // A database names the claim that it was made from, and keeps the name for ever.
            NamedBy::Field if user.kind.naming == Naming::Labels => {
                let when = "which matters while it is being created";
                self.signs.push(format!("{object} references it in {field}, {when}"));
                return;
            }
            NamedBy::Field => OtherUse::Field(field.clone()),
            NamedBy::Template => OtherUse::Template,
        };
        self.users.push(OtherUser { user: user.clone(), how });
    }

    /// Adds a notice about claims that are named only when pods are made.
    fn notice_placeholders(&mut self, seen: &CustomUsers) {
        let unfinished = seen.users.iter().filter(|it| !it.finished);
        let named = unfinished.filter_map(|user| {
            let claim = user.claims.iter().find(|it| is_placeholder(&it.name))?;
            Some(format!("{} ({}: {})", user.object(), claim.field, claim.name))
        });
        let named: Vec<_> = named.collect();
        if named.is_empty() {
            return;
        }
        let more = named.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let named = named.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        self.notices.push(format!("which claim these use is decided when they run: {named}{more}"));
    }

    fn take_mark(&mut self, it: &ClaimMark, metadata: &Metadata, seen: &CustomUsers) {
        let (label, operator) = (it.label(), it.mark.operator);
        let name = it.mark.owner.as_ref().and_then(|it| metadata.label(it.named_by));
        let named = it.mark.owner.as_ref().zip(name);
        let is_it = |user: &&CustomUser| {
            named.is_some_and(|(owner, name)| {
                user.kind.group == owner.group
                    && user.kind.kind == owner.kind
                    && *user.name == *name
            })
        };
        let existing = seen.users.iter().find(is_it);
        let sign = match (it.mark.meaning, existing) {
            (MarkMeaning::History, _) => {
                let notice =
                    format!("label {label}: {operator} made it, and nothing references it");
                if self.users.is_empty() && self.unseen.is_none() && seen.unlisted.is_empty() {
                    self.notices.push(notice);
                }
                return;
            }
            (MarkMeaning::UsedByOwner, Some(user)) => {
                let how = OtherUse::Label(it.mark.label);
                self.users.push(OtherUser { user: user.clone(), how });
                return;
            }
            (MarkMeaning::UsedOnDemand, _) => {
                format!("label {label}: {operator} starts a pod with it when its user logs in")
            }
            (MarkMeaning::KeptForReturn, Some(user)) => format!(
                "label {label}: {operator} can use it again when {} is scaled up",
                user.object()
            ),
            (MarkMeaning::UsedByOwner | MarkMeaning::KeptForReturn, None) => {
                let owner = named.map_or_else(
                    || "its object".to_owned(),
                    |(owner, name)| {
                        format!("{}.{}/{name}", owner.kind.to_ascii_lowercase(), owner.group)
                    },
                );
                format!("label {label}: {operator} can use it again when {owner} is recreated")
            }
        };
        self.signs.push(sign);
    }
}

#[cfg(test)]
mod tests;
