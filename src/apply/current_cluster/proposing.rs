//! Proposals right before a write, based only on answers and objects that were read for them.
//!
//! Questions on which proposals rest are asked again before each write. Expired Leases are read twice
//! before they decide that a controller is absent: when a Lease was renewed is told by the clock of its
//! holder, which may be wrong. Any change is life.

use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use serde_json::Value;
use tokio::sync::{
    Mutex,
    oneshot::{self, error::TryRecvError},
};

use super::{CurrentCluster, ReadAgainError, ReadObjects, References};
use crate::cluster::{Cx, Lookup, Reach, Seen, Unseen};
use crate::dump::DumpError;
use crate::facts::{self, OwnerPresence};
use crate::model::{
    ControllerRole, Fact, FactKey, Kind, MountedClaim, ObjectKey, ObjectRef, OwnerReference,
    PodUse, Proposal, Question, ReclaimPolicy, Refusal, Text, Time, Volume,
};
use crate::plan::Purpose;
use crate::rules;
use crate::sources::{
    answers,
    live::{Watches, list_again},
};

/// Maximum number of rounds of questions about one object: an answer may raise another question.
const ROUNDS: usize = 4;

impl CurrentCluster {
    /// Reads an object again, and proposes the change of it as it is now.
    ///
    /// Questions are asked first: other changes are made at the same time, and what they take in
    /// may be older than what is read here. Between the last read and the proposal nothing is taken
    /// in.
    ///
    /// Whatever the proposal looks up was asked or read in the same round: an earlier answer may be
    /// wrong by now. What was just read, or what a watch has brought meanwhile, may raise a question
    /// that was not asked: then there is another round, and where rounds do not suffice no proposal.
    pub(in crate::apply) async fn propose_again(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
    ) -> Result<(ReadObjects, Seen<Result<Proposal, Refusal>>), ReadAgainError> {
        let mut looked_up = BTreeSet::new();
        let mut rounds = ROUNDS;
        loop {
            let asked = self.ask_again(purpose, object, looked_up).await?;
            let (objects, read) = self.read_round(purpose, object).await?;
            let (proposed, questions) = self.propose(purpose, object);
            looked_up = questions;
            looked_up.retain(|it| !matches!(it, Question::Exists(key) if read.contains(key)));
            let Some(earlier) = looked_up.difference(&asked).next() else {
                return Ok((objects, proposed));
            };
            rounds -= 1;
            if rounds == 0 {
                let unseen = Unseen {
                    kind: earlier.kind(),
                    namespace: earlier.namespace().cloned(),
                    reason: "what it rests on has changed while it was being read".to_owned(),
                };
                return Ok((objects, proposed.and(Err(unseen))));
            }
        }
    }

    /// Reads the objects of a proposal again, and returns them with the keys of everything that was read.
    async fn read_round(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
    ) -> Result<(ReadObjects, BTreeSet<ObjectKey>), ReadAgainError> {
        let mut lists = purpose.listed_again(object);
        if purpose.loses_data() {
            lists.extend(self.unheard());
            if let Some(beside) = &self.beside {
                let clusters = beside.read().await.clusters;
                self.state.borrow_mut().intake.cluster.set_beside(clusters);
            }
        }
        let mut read = BTreeSet::new();
        if let Some(key) = purpose.read_before() {
            let object = ObjectRef { key, uid: None };
            let before = self.read_with_references(&object, &[], References::ITS_OWN).await?;
            read.extend(before.keys_with(object.key));
        }
        if let Some(subject) = purpose.subject(object) {
            let references = References {
                its_own: purpose.rests_on_references(),
                others: self.rests_on(purpose, subject),
            };
            let objects = self.read_with_references(subject, &lists, references).await?;
            read.extend(objects.keys_with(subject.key.clone()));
            return Ok((objects, read));
        }
        for (index, key) in purpose.counterparts(object).into_iter().enumerate() {
            let lists = if index == 0 { &lists[..] } else { &[] };
            let object = ObjectRef { key, uid: None };
            let objects = self.read_with_references(&object, lists, References::ITS_OWN).await?;
            read.extend(objects.keys_with(object.key));
        }
        Ok((ReadObjects { subject: Some(Value::Null), referenced: Vec::new() }, read))
    }

    /// Returns the lists that must be read again before anything is destroyed, because their watches may be dead.
    fn unheard(&self) -> Vec<Reach> {
        self.state.borrow().watches.as_ref().map(Watches::unheard).unwrap_or_default()
    }

    /// Returns the objects on which a decision rests, besides those that the object references. What was not read, the
    /// proposal reports.
    fn rests_on(&self, purpose: &Purpose, object: &ObjectRef) -> Vec<ObjectKey> {
        let state = self.state.borrow();
        purpose.rests_on(&state.cx(&self.settings), object).unwrap_or_default()
    }

    /// Proposes a change from what was read so far, and returns every question that the proposal looked up, answered or
    /// not.
    pub(super) fn propose(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
    ) -> (Seen<Result<Proposal, Refusal>>, BTreeSet<Question>) {
        let mut state = self.state.borrow_mut();
        state.drop_outdated_facts();
        let cx = state.cx(&self.settings);
        cx.listen();
        let mut proposed = purpose.propose(&cx, object);
        if self.in_scope
            && let Ok(Ok(proposal)) = &proposed
            && let Some(subject) = cx.cluster().subject(&object.key)
            && !rules::in_scope(cx.cluster(), &self.settings, &subject)
        {
            let reason = "it is out of the scope by now".to_owned();
            proposed = Ok(Err(Refusal { reason, effect: proposal.effect.clone() }));
        }
        // Facts are derived without questions: those about them are looked up by who uses a fact.
        let mut questions = cx.take_questions();
        let (looked, _) = cx.take_notes();
        questions.extend(looked.into_iter().filter_map(|it| match it {
            Lookup::Answer(question) => Some(question),
            _ => None,
        }));
        (proposed, questions)
    }
}

/// Questions of changes that are under way at the same time.
#[derive(Default)]
pub(super) struct QuestionQueue {
    /// The questions that wait to be asked, each with the sender that reports their answers.
    waiting: RefCell<Vec<(BTreeSet<Question>, oneshot::Sender<()>)>>,
    /// Held while questions are being asked.
    asking: Mutex<()>,
}

impl CurrentCluster {
    /// Asks all questions on which a proposal rests now, answered before or not, and the `others`, and returns all of
    /// them.
    ///
    /// Whether the object exists, and those that it references, is known when they are read.
    ///
    /// Changes that come to it while others wait for their answers are asked for together then: a
    /// question that several of them have is sent once, after all of them came.
    pub(super) async fn ask_again(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
        others: BTreeSet<Question>,
    ) -> Result<BTreeSet<Question>, DumpError> {
        let (_, mut questions) = self.propose(purpose, object);
        questions.retain(|it| !matches!(it, Question::Exists(key) if is_read_by_reference(key)));
        questions.extend(others);
        if questions.is_empty() {
            return Ok(questions);
        }
        let (answer, mut answered) = oneshot::channel();
        self.questions.waiting.borrow_mut().push((questions.clone(), answer));
        let asking = self.questions.asking.lock().await;
        let waiting = match answered.try_recv() {
            Ok(()) => return Ok(questions),
            Err(TryRecvError::Empty) => self.questions.waiting.take(),
            // Another change took them along, and could not take in the answers.
            Err(TryRecvError::Closed) => Vec::new(),
        };
        let mut all = questions.clone();
        all.extend(waiting.iter().flat_map(|(questions, _)| questions.iter().cloned()));
        let replies = answers::replies(&self.reader, all).await;
        replies.take_in(&mut self.state.borrow_mut().intake)?;
        for (_, answer) in waiting {
            // Whoever has stopped waiting needs no answer.
            let _ = answer.send(());
        }
        drop(asking);
        Ok(questions)
    }
}

/// Whether objects of this kind are read with the objects that reference them.
const fn is_read_by_reference(key: &ObjectKey) -> bool {
    matches!(
        key.kind,
        Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::VolumeAttachment
            | Kind::VolumeSnapshot
            | Kind::VolumeSnapshotContent
    )
}

impl CurrentCluster {
    /// Whether a deleted volume had the deletion-protection finalizer, and every csi-provisioner that may have removed
    /// it still honors it: then its driver had answered OK.
    ///
    /// It cannot be told who deleted the object.
    pub(in crate::apply) async fn driver_answered(&self, object: &ObjectRef) -> bool {
        let Some(uid) = &object.uid else { return false };
        if self.catch_up().is_err() {
            return false;
        }
        let driver = {
            let state = self.state.borrow();
            state.intake.protected_deletion(uid).and_then(facts::finalizer_driver)
        };
        let Some(driver) = driver else { return false };
        let questions = self.provisioners_honor_finalizer(&driver).1;
        let replies = answers::replies(&self.reader, questions).await;
        if self.catch_up().is_err() || replies.take_in(&mut self.state.borrow_mut().intake).is_err()
        {
            return false;
        }
        self.provisioners_honor_finalizer(&driver).0
    }

    /// Returns whether every csi-provisioner of a driver honors the finalizer, and the questions asked for it.
    fn provisioners_honor_finalizer(&self, driver: &Text) -> (bool, Vec<Question>) {
        let mut state = self.state.borrow_mut();
        state.drop_outdated_facts();
        let cx: Cx = state.cx(&self.settings);
        cx.listen();
        let honored = facts::every_provisioner_honors_finalizer(&cx, driver).is_ok();
        let asked = cx.take_notes().0.into_iter().filter_map(|it| match it {
            Lookup::Answer(question) => Some(question),
            _ => None,
        });
        (honored, asked.collect())
    }
}

impl CurrentCluster {
    /// Lists the pods of the namespace of a claim now and returns those that use it, or why they are
    /// unknown. A pod that waits for an ephemeral volume of its name is none of them.
    pub(in crate::apply) async fn users_of(
        &self,
        claim: &ObjectRef,
    ) -> Result<Vec<String>, String> {
        let Some(key) = claim.key.as_claim() else { return Ok(Vec::new()) };
        let reach = Reach { kind: Kind::Pod, namespace: Some(key.namespace.clone()) };
        let again = list_again(&self.reader, &reach, Kind::Pod.group().version).await;
        let again = again.map_err(|error| error.to_string())?;
        let state = &mut *self.state.borrow_mut();
        again.take_in(&mut state.intake).map_err(|error| error.to_string())?;
        let cx = state.cx(&self.settings);
        let pods: Seen<Vec<&PodUse>> = match cx.claim(&key) {
            Ok(Some(claim)) => facts::pod_users(&cx, claim)
                .map(|users| users.into_iter().map(|it| it.pod).collect()),
            Ok(None) | Err(_) => cx.pods_of(&key).map(|mut pods| {
                let names_it = |it: &MountedClaim| it.claim == key.name && !it.ephemeral;
                pods.retain(|pod| pod.claims.iter().any(names_it));
                pods
            }),
        };
        let pods = pods.map_err(|unseen| unseen.reason)?;
        Ok(pods.into_iter().map(|pod| pod.object().to_string()).collect())
    }

    /// Returns the owners of a claim whose kind is served in no version, as it was last read.
    pub(in crate::apply) fn unserved_owners(&self, claim: &ObjectRef) -> Vec<String> {
        let state = self.state.borrow();
        let cx = state.cx(&self.settings);
        let Some(Ok(Some(claim))) = claim.key.as_claim().map(|key| cx.claim(&key)) else {
            return Vec::new();
        };
        let unserved = |owner: &&OwnerReference| {
            facts::owner_presence(&cx, claim, owner) == Ok(OwnerPresence::KindGone)
        };
        let owners = claim.metadata.owners.iter().filter(unserved);
        owners.map(|it| format!("{} {}", it.kind, it.name)).collect()
    }

    /// Returns the names of the volumes that are bound to a claim by its uid, with another policy than
    /// Retain.
    pub(in crate::apply) fn volumes_bound_to(&self, claim: &ObjectRef) -> Vec<String> {
        let state = self.state.borrow();
        let volumes = state.intake.cluster.volumes().map(|(_, volume)| volume);
        let is_bound = |it: &&Volume| {
            it.claim_ref.as_ref().is_some_and(|it| it.uid.is_some() && it.uid == claim.uid)
                && it.reclaim_policy != ReclaimPolicy::Retain
        };
        volumes.filter(is_bound).map(|it| it.object().to_string()).collect()
    }
}

/// The Leases of the controllers that a proposal takes for absent, as they were read.
pub(in crate::apply) struct ExpiredLeases {
    controllers: Vec<(ControllerRole, Text)>,
    read: Vec<LeaseReading>,
    /// The wait before the Leases are read again: the longest duration among them.
    pub(in crate::apply) wait: Duration,
}

/// The fields of a Lease that change while its holder is running.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LeaseReading {
    namespace: Text,
    name: Box<str>,
    holder: Option<Box<str>>,
    renewed: Option<Time>,
}

impl CurrentCluster {
    /// Returns the expired Leases on which a proposal rests and that were not read twice yet.
    pub(in crate::apply) fn unconfirmed_leases(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
    ) -> Option<ExpiredLeases> {
        let state = self.state.borrow();
        let cx = state.cx(&self.settings);
        cx.listen();
        // Only what it looks up is of interest: it was proposed before.
        let _ = purpose.propose(&cx, object);
        let (looked, _) = cx.take_notes();
        let (mut controllers, mut wait) = (Vec::new(), Duration::ZERO);
        for lookup in looked {
            let Lookup::Fact(key) = lookup else { continue };
            let FactKey::Controller(role, driver) = &key else { continue };
            let known = state.facts.borrow().get(&key).map(|(fact, _)| std::sync::Arc::clone(fact));
            let Some(Fact::Controller(controller)) = known.as_deref() else { continue };
            let controller_key = (*role, Text::clone(driver));
            if let Some(duration) = controller.expired_lease
                && !controllers.contains(&controller_key)
                && !self.read_twice.borrow().contains(&controller_key)
            {
                controllers.push(controller_key);
                wait = wait.max(duration);
            }
        }
        drop(state);
        let read = self.leases(&controllers);
        (!controllers.is_empty()).then_some(ExpiredLeases { controllers, read, wait })
    }

    /// Reads expired Leases again, and returns the one that has changed.
    pub(in crate::apply) async fn confirm_leases(
        &self,
        before: ExpiredLeases,
    ) -> Result<Option<String>, ReadAgainError> {
        let again =
            list_again(&self.reader, &Reach::all(Kind::Lease), Kind::Lease.group().version).await?;
        self.catch_up()?;
        again.take_in(&mut self.state.borrow_mut().intake)?;
        let changed =
            self.leases(&before.controllers).into_iter().find(|it| !before.read.contains(it));
        if changed.is_none() {
            self.read_twice.borrow_mut().extend(before.controllers);
        }
        Ok(changed.map(|it| format!("lease/{}/{}", it.namespace, it.name)))
    }

    fn leases(&self, controllers: &[(ControllerRole, Text)]) -> Vec<LeaseReading> {
        let state = self.state.borrow();
        let cx = state.cx(&self.settings);
        let each = controllers.iter().flat_map(|(role, driver)| facts::leases(&cx, *role, driver));
        each.map(|lease| LeaseReading {
            namespace: Text::clone(&lease.namespace),
            name: lease.metadata.name.clone(),
            holder: lease.holder.clone(),
            renewed: lease.renewed,
        })
        .collect()
    }
}

#[cfg(test)]
mod tests;
