//! Changes the retention policy of a set in an order in which no claim that the policy is to retain
//! is deletable at the end (I.6, "Order of `retention set`").
//!
//! 1. References of claims that the controller may not update are removed, while the policy still
//!    deletes them: whatever ends the run there, the policy promises nothing that does not hold.
//! 2. The policy is patched.
//! 3. The controller observes the patch, and updates the claims that it visits.
//! 4. What remains is removed, all claims are listed again after the controllers had time to act on
//!    what they had read before, and are verified.

use std::{collections::BTreeSet, time::Instant};

use super::super::{
    Outcome,
    receipt::ChangeEnd,
    request,
    verify::{SETTLING, manager_of},
};
use super::{ChangeExecutor, RETRY, dry_run::changes_nothing};
use crate::model::{Action, ObjectRef, OwnerReference, RetentionPolicy};
use crate::plan::{ObjectDetails, ProposedChange, Purpose};
use crate::remedies::{RetentionPart, RetentionRequest, retention_set};

/// Number of times that the patch of the policy is rendered again where only the status of the set has changed, and
/// that references are removed which a controller added meanwhile.
const ATTEMPTS: usize = 3;

/// Result of waiting for the controller of the set to observe its last change.
enum Observation {
    Observed,
    /// The change was not observed in time, for this reason.
    Unobserved(String),
    /// The set was deleted, or is Terminating.
    Deleted(String),
}

impl ChangeExecutor<'_> {
    /// Carries out the change of the policy of a set.
    pub(super) async fn set_retention(
        &self,
        change: &ProposedChange,
        request: &RetentionRequest,
    ) -> ChangeEnd {
        let mut progress = RetentionProgress::default();
        let ended = self.set_in_order(change, request, &mut progress).await;
        let mut ended = match ended {
            Ok(ended) | Err(ended) => ended,
        };
        let wrote = progress.patched || progress.unanswered || !progress.released.is_empty();
        if wrote && ended.outcome != Outcome::Done {
            ended.detail = format!("{}; so far: {}", ended.detail, progress.in_words(change));
            ended.partly = true;
        }
        ended.entry = ended.entry.or(progress.entry);
        ended.notes.splice(0..0, progress.notes);
        ended
    }

    async fn set_in_order(
        &self,
        change: &ProposedChange,
        request: &RetentionRequest,
        progress: &mut RetentionProgress,
    ) -> Result<ChangeEnd, ChangeEnd> {
        self.propose_whole_again(change).await?;
        self.dry_run_all(change).await?;
        if self.dry_run == super::DryRun::Server {
            return Ok(changes_nothing());
        }
        let steps = &change.proposal.steps;
        let patch = steps.iter().position(|it| matches!(it, Action::SetRetentionPolicy { .. }));
        for action in &steps[..patch.unwrap_or(steps.len())] {
            if (self.interrupted)() {
                return Err(ChangeEnd::new(Outcome::Refused, "interrupted"));
            }
            self.release(change, request, action, progress).await?;
        }
        let to = match patch.map(|place| &steps[place]) {
            Some(action @ Action::SetRetentionPolicy { to, .. }) => {
                self.patch_policy(change, request, action, progress).await?;
                to.clone()
            }
            _ => self.present_policy(change, request).await?,
        };
        let set = format!("whenDeleted is {}, whenScaled is {}", to.when_deleted, to.when_scaled);
        if !request.retains() {
            return Ok(ChangeEnd::new(Outcome::Done, set));
        }
        let observed = self.observed(&change.object).await;
        if let Observation::Deleted(why) = &observed {
            let told = format!(
                "{set}, but {why}: the garbage collector deletes claims that still reference it; `kubectl storage \
                 disown` removes such references, and `kubectl storage retain` keeps the data of Terminating claims"
            );
            return Err(ChangeEnd::new(Outcome::Failed, told));
        }
        if self.wait.is_none() {
            let told =
                format!("{set}; its claims were not verified: --wait=false{}", again(change));
            return Ok(ChangeEnd::new(Outcome::Pending, told));
        }
        self.resolve_rest(change, request, &to, progress).await?;
        self.all_exist(change)?;
        let released = match progress.released.len() {
            0 => String::new(),
            count => format!("owner references of {count} claims were removed; "),
        };
        let except = match &*progress.remain {
            [] => String::new(),
            remain => format!(", except {}", remain.join("; ")),
        };
        Ok(match observed {
            Observation::Observed => ChangeEnd::new(
                Outcome::Done,
                format!(
                    "{set}; {released}its claims were read again: no owner reference contradicts it{except}"
                ),
            ),
            Observation::Unobserved(why) | Observation::Deleted(why) => ChangeEnd::new(
                Outcome::Pending,
                format!(
                    "{set}; {released}no owner reference of its claims contradicts it now{except}, but {why}: it may \
                     act on the earlier policy once more; check that kube-controller-manager is running{}",
                    again(change)
                ),
            ),
        })
    }

    /// Proposes the whole change again: only the identical proposal is carried out. What a watch has lost is waited
    /// for.
    async fn propose_whole_again(&self, change: &ProposedChange) -> Result<(), ChangeEnd> {
        let began = Instant::now();
        loop {
            let judged = self.cluster.propose_again(&change.purpose, &change.object).await;
            let (_, proposed) = judged.map_err(|error| ChangeEnd::unread(&error))?;
            return match proposed {
                Ok(Ok(proposal)) if proposal == change.proposal => Ok(()),
                Ok(Ok(proposal)) => {
                    let told = super::difference(&change.proposal, 0, &proposal);
                    Err(ChangeEnd::new(Outcome::Stale, told))
                }
                Ok(Err(refusal)) => Err(ChangeEnd::new(Outcome::Stale, refusal.reason)),
                Err(unseen) if began.elapsed() >= self.patience || (self.interrupted)() => {
                    Err(ChangeEnd::new(Outcome::Refused, unseen.reason))
                }
                Err(_) => {
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
        }
    }

    /// Sends every step as a dry run before the first is carried out.
    async fn dry_run_all(&self, change: &ProposedChange) -> Result<(), ChangeEnd> {
        for action in &change.proposal.steps {
            let object = action.object();
            let live = self.cluster.get(&object.key).await.map_err(|error| {
                ChangeEnd::new(Outcome::Failed, format!("{object} was not read: {error}"))
            })?;
            let live = live.ok_or_else(|| {
                ChangeEnd::new(Outcome::Stale, format!("{object} does not exist"))
            })?;
            let request = request::request(action, &live)
                .map_err(|unfit| ChangeEnd::new(Outcome::Stale, format!("{object}: {unfit}")))?;
            self.dry_run_step(&change.purpose, action, &request).await.map_err(|ended| {
                ChangeEnd { detail: format!("{object}: {}", ended.detail), ..ended }
            })?;
        }
        Ok(())
    }

    /// Removes the references of one claim; does nothing where another client has done so.
    async fn release(
        &self,
        change: &ProposedChange,
        request: &RetentionRequest,
        action: &Action,
        progress: &mut RetentionProgress,
    ) -> Result<(), ChangeEnd> {
        let (from, to) = if let Some(policies) = policies(change) {
            policies
        } else {
            let present = self.present_policy(change, request).await?;
            (present.clone(), present)
        };
        let set = change.object.clone();
        let part = RetentionPart::Claim { set, from, to };
        let claim = action.object();
        let alone = part_of(change, request, part, claim, vec![action.clone()]);
        let ended = match self.step(&alone, 0, None).await {
            Ok(ended) | Err(ended) => ended,
        };
        if ended.outcome == Outcome::Done {
            progress.released.insert(claim.clone());
            progress.entry = ended.entry.or(progress.entry);
            progress.notes.extend(ended.notes);
            return Ok(());
        }
        // Whoever has removed them.
        let is_other = ended.outcome == Outcome::Unanswered && ended.ends_batch.is_none();
        if ended.outcome == Outcome::Stale || is_other {
            let judged = self.cluster.propose_again(&alone.purpose, claim).await;
            if let Ok((_, Ok(Ok(proposal)))) = judged
                && proposal.steps.is_empty()
            {
                return Ok(());
            }
        }
        Err(ChangeEnd { detail: format!("{claim}: {}", ended.detail), ..ended })
    }

    /// Patches the policy; where only the status of the set changed, everything is judged and the patch rendered again.
    async fn patch_policy(
        &self,
        change: &ProposedChange,
        request: &RetentionRequest,
        action: &Action,
        progress: &mut RetentionProgress,
    ) -> Result<(), ChangeEnd> {
        let set = &change.object;
        let alone = part_of(change, request, RetentionPart::Policy, set, vec![action.clone()]);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let ended = match self.step(&alone, 0, None).await {
                Ok(ended) | Err(ended) => ended,
            };
            progress.entry = ended.entry.or(progress.entry);
            match ended.outcome {
                Outcome::Done => {
                    progress.patched = true;
                    progress.notes.extend(ended.notes);
                    return Ok(());
                }
                Outcome::Stale if attempts < ATTEMPTS => {}
                outcome => {
                    // Whether another value was written by a webhook, or nothing, is not known here.
                    let written = matches!(outcome, Outcome::Unanswered | Outcome::Failed);
                    progress.unanswered = written && ended.entry.is_some();
                    return Err(ended);
                }
            }
        }
    }

    /// Waits until the controller has observed the last change of a set.
    async fn observed(&self, set: &ObjectRef) -> Observation {
        let began = Instant::now();
        loop {
            let unobserved = match self.cluster.read_again(set).await {
                Ok(None) => return Observation::Deleted(format!("{set} was deleted meanwhile")),
                Ok(Some(live)) => {
                    let metadata = &live["metadata"];
                    let uid = set.uid.as_ref().map(ToString::to_string);
                    if metadata["uid"].as_str() != uid.as_deref() {
                        let told = format!("{set} was deleted and recreated meanwhile");
                        return Observation::Deleted(told);
                    }
                    if !metadata["deletionTimestamp"].is_null() {
                        let told = format!("{set} has been deleted meanwhile and is Terminating");
                        return Observation::Deleted(told);
                    }
                    let seen = live["status"]["observedGeneration"].as_i64().unwrap_or_default();
                    if metadata["generation"].as_i64().is_some_and(|it| seen >= it) {
                        return Observation::Observed;
                    }
                    "the StatefulSet controller has not observed the change".to_owned()
                }
                Err(error) => format!("unknown whether its controller has observed it: {error}"),
            };
            let over = self.wait.is_none_or(|wait| began.elapsed() >= wait);
            if over || (self.interrupted)() {
                return Observation::Unobserved(unobserved);
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Removes the references that contradict the policy, until none does after the controllers had time to act on
    /// earlier reads.
    async fn resolve_rest(
        &self,
        change: &ProposedChange,
        request: &RetentionRequest,
        to: &RetentionPolicy,
        progress: &mut RetentionProgress,
    ) -> Result<(), ChangeEnd> {
        let mut settled = progress.released.is_empty();
        for _ in 0..ATTEMPTS {
            if !settled {
                tokio::time::sleep(SETTLING).await;
            }
            let rest = self.rest(change, request, to, progress).await?;
            if rest.is_empty() {
                return Ok(());
            }
            settled = false;
            for action in &rest {
                // What another client has changed is judged again with all others.
                match self.release(change, request, action, progress).await {
                    Err(ended) if ended.outcome != Outcome::Stale => return Err(ended),
                    Ok(()) | Err(_) => {}
                }
            }
        }
        tokio::time::sleep(SETTLING).await;
        let rest = self.rest(change, request, to, progress).await?;
        let Some(Action::RemoveOwnerReferences { claim, owners }) = rest.first() else {
            return Ok(());
        };
        let who = self.who_added(claim, owners).await;
        let told = format!("{who} adds an owner reference to {claim} again and again");
        Err(ChangeEnd::new(Outcome::Failed, told))
    }

    /// Returns the removals that the policy still requires, by new lists.
    async fn rest(
        &self,
        change: &ProposedChange,
        request: &RetentionRequest,
        to: &RetentionPolicy,
        progress: &mut RetentionProgress,
    ) -> Result<Vec<Action>, ChangeEnd> {
        let part = Box::new(RetentionPart::Rest(to.clone()));
        let purpose = Purpose::SetRetentionPart(Box::new(request.clone()), part);
        let judged = self.cluster.propose_again(&purpose, &change.object).await;
        let (_, proposed) = judged.map_err(|error| ChangeEnd::unread(&error))?;
        match proposed {
            Ok(Ok(proposal)) => {
                progress.remain = proposal.notices;
                Ok(proposal.steps)
            }
            Ok(Err(refusal)) => Err(ChangeEnd::new(Outcome::Failed, refusal.reason)),
            Err(unseen) => {
                let told = format!("its claims could not be verified: {}", unseen.reason);
                Err(ChangeEnd::new(Outcome::Pending, told))
            }
        }
    }

    /// Fails where a claim whose references were, or might have been, removed was deleted.
    fn all_exist(&self, change: &ProposedChange) -> Result<(), ChangeEnd> {
        let claims = change.proposal.steps.iter().filter_map(|it| match it {
            Action::RemoveOwnerReferences { claim, .. } => Some(claim),
            _ => None,
        });
        let is_kept = |claim: &&ObjectRef| {
            self.cluster.claim(&claim.key, |known| {
                known.is_some_and(|it| {
                    it.metadata.uid == claim.uid && it.metadata.deleting.is_none()
                })
            })
        };
        let lost: Vec<_> = claims.filter(|it| !is_kept(it)).map(ToString::to_string).collect();
        let Some(first) = lost.first() else { return Ok(()) };
        let more =
            if lost.len() > 1 { format!(" and {} more", lost.len() - 1) } else { String::new() };
        let told = format!(
            "{first}{more} was deleted meanwhile, or is Terminating; where it still exists, \
             `kubectl storage retain` keeps its data"
        );
        Err(ChangeEnd::new(Outcome::Failed, told))
    }

    /// Returns the policy that a set has, where this change does not patch it.
    async fn present_policy(
        &self,
        change: &ProposedChange,
        request: &RetentionRequest,
    ) -> Result<RetentionPolicy, ChangeEnd> {
        let unread = |why: String| ChangeEnd::new(Outcome::Failed, why);
        let live = self.cluster.read_again(&change.object).await;
        let live = live.map_err(|error| unread(error.to_string()))?;
        let live = live.ok_or_else(|| unread(format!("{} does not exist", change.object)))?;
        let policy = retention_set::policy_of(&live)
            .ok_or_else(|| unread(format!("{} has no retention policy", change.object)))?;
        if request.target(&policy) != policy {
            let told = "another client has changed the policy meanwhile";
            return Err(ChangeEnd::new(Outcome::Stale, told));
        }
        Ok(policy)
    }

    async fn who_added(&self, claim: &ObjectRef, owners: &[OwnerReference]) -> String {
        let live = self.cluster.read_again(claim).await.ok().flatten();
        let by = live.and_then(|live| manager_of(&live, owners.first()?));
        by.map_or_else(|| "another client".to_owned(), |by| format!("field manager {by:?}"))
    }
}

/// Number of claims that a message names at most.
const NAMED: usize = 5;

/// Progress of a change of a policy.
#[derive(Default)]
struct RetentionProgress {
    /// The claims whose references were removed.
    released: BTreeSet<ObjectRef>,
    /// Whether the policy was patched by this run.
    patched: bool,
    /// Whether the patch was sent, and its effect is unknown.
    unanswered: bool,
    /// Reasons why owner references that contradict the policy remain: other owners count.
    remain: Vec<String>,
    /// The journal entry of the last write.
    entry: Option<u64>,
    /// Other errors.
    notes: Vec<String>,
}

impl RetentionProgress {
    /// Describes the state of everything after an early end.
    fn in_words(&self, change: &ProposedChange) -> String {
        let mut words = Vec::new();
        let names: Vec<_> = self.released.iter().map(ToString::to_string).collect();
        match &*names {
            [] => {}
            few if few.len() <= NAMED => words.push(format!(
                "{} has no owner reference that contradicts the new policy",
                few.join(", ")
            )),
            [first, ..] => words.push(format!(
                "{first} and {} more claims have no owner reference that contradicts the new policy",
                names.len() - 1
            )),
        }
        let policy = match (policies(change), self.patched) {
            (Some((from, to)), false) if self.unanswered => format!(
                "unknown whether the policy is changed (whenDeleted {}, whenScaled {} before; {}, {} afterwards)",
                from.when_deleted, from.when_scaled, to.when_deleted, to.when_scaled
            ),
            (Some((_, to)), true) => {
                format!("whenDeleted is {}, whenScaled is {}", to.when_deleted, to.when_scaled)
            }
            (Some((from, _)), false) => format!(
                "the policy is not changed (whenDeleted {}, whenScaled {})",
                from.when_deleted, from.when_scaled
            ),
            (None, _) => String::new(),
        };
        words.extend(Some(policy).filter(|it| !it.is_empty()));
        format!("{}{}", words.join("; "), again(change))
    }
}

/// Returns advice about the next command after an early end.
fn again(change: &ProposedChange) -> String {
    let key = &change.object.key;
    let namespace = key.namespace.as_deref().unwrap_or("default");
    let name = &key.name;
    // An entry is undone once.
    let next = match change.purpose.undoes() {
        Some(_) => format!(
            "`kubectl storage retention reconcile sts/{name} -n {namespace}` continues with what remains"
        ),
        None => "run the command again, which continues with what remains".to_owned(),
    };
    format!("; {next}; `kubectl storage retention show sts/{name} -n {namespace}` shows the claims")
}

/// Returns the policies before and after a change, if it patches the policy.
fn policies(change: &ProposedChange) -> Option<(RetentionPolicy, RetentionPolicy)> {
    change.proposal.steps.iter().find_map(|it| match it {
        Action::SetRetentionPolicy { from, to, .. } => Some((from.clone(), to.clone())),
        _ => None,
    })
}

/// Returns one write of a change, which was confirmed with it, as a change of its own.
fn part_of(
    change: &ProposedChange,
    request: &RetentionRequest,
    part: RetentionPart,
    object: &ObjectRef,
    steps: Vec<Action>,
) -> ProposedChange {
    let about = match object == &change.object {
        true => change.about.clone(),
        false => ObjectDetails::default(),
    };
    ProposedChange {
        purpose: Purpose::SetRetentionPart(Box::new(request.clone()), Box::new(part)),
        object: object.clone(),
        about,
        proposal: retention_set::steps_alone(steps),
    }
}
