//! Acts in the background: what `watch` does by a policy, and `-w` on commands that write.
//!
//! The loop finds what there is to do, at no cost; before anything is done about it the cluster is listed anew, judged
//! several times, planned and changed by the same code as the commands.
//!
//! What is done within which bounds, and for what there are findings by the loop, is here.
//!
//! - `session`: the look before anything is changed.
//! - `permit`: whether anything may be changed now, and how much of it.
//! - `actor`: what is done, and when, and what is told of that.
//! - `following`: `-w` on a command.

mod actor;
mod following;
mod permit;
mod session;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

pub(super) use actor::{ActingNews, Actor, ActorPast, ToldReasons};
pub(super) use following::{Following, ended, finish};
pub(super) use permit::{Busy, HEARD, HourRoom, PauseFollower, Permit, ReadPause};
use tokio::sync::watch;

use crate::{
    cluster::Cluster,
    model::{FindingEvent, ObjectRef, RuleId, Settings},
    watch::{
        Listener, Reconciler, Told,
        acting::{ActingBounds, Wanted, Work, WorkTerms},
        policy::WatchPolicy,
    },
};

/// Shortest wait between two looks, after which other findings than before are looked at.
const PAUSE: Duration = Duration::from_secs(5);
/// Longest wait before the same findings are looked at again: ages grow, and what was refused may not be any more.
const AGAIN: Duration = Duration::from_secs(600);

/// Works that are switched on, with their settings and bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActingTerms {
    /// Works that are switched on, each with whether it acts rather than reports.
    pub(super) works: Vec<(Work, bool)>,
    pub(super) terms: WorkTerms,
    /// Settings with which findings are judged.
    pub(super) judged: Settings,
    pub(super) bounds: ActingBounds,
}

impl ActingTerms {
    /// Returns the works that are switched on.
    pub(super) fn on(&self) -> Vec<Work> {
        self.works.iter().map(|it| it.0).collect()
    }

    /// Whether any work makes changes.
    pub(super) fn acts(&self) -> bool {
        self.works.iter().any(|it| it.1)
    }

    /// Returns how soon the same findings of a work are looked at again. A short grace period is looked at more often
    /// than a long one.
    fn again(&self, work: Work) -> Duration {
        match work {
            Work::Announce => (self.terms.older_than / 6).clamp(PAUSE, AGAIN),
            Work::Reclaim => (self.terms.grace / 6).clamp(PAUSE, AGAIN),
            Work::Rescue | Work::Retention | Work::Finalizers => AGAIN,
        }
    }
}

/// Function that derives the terms of acting from a policy.
type TermsOf = Box<dyn Fn(&WatchPolicy) -> ActingTerms + Send>;

/// Listener that tells actors which works the findings call for.
pub(super) struct WantedFindings {
    terms: watch::Sender<Arc<ActingTerms>>,
    wanted: watch::Sender<Wanted>,
    /// Present findings that call for any work.
    findings: BTreeSet<(RuleId, ObjectRef)>,
    /// Derives the terms of a changed policy; `None` where the terms never change.
    terms_of: Option<TermsOf>,
}

/// Receivers of the terms and the wanted works, for an actor.
pub(super) struct FollowedFindings {
    pub(super) terms: watch::Receiver<Arc<ActingTerms>>,
    pub(super) wanted: watch::Receiver<Wanted>,
}

impl WantedFindings {
    /// Begins with no findings, by terms that stay as they are.
    pub(super) fn by(terms: ActingTerms) -> (Self, FollowedFindings) {
        let (terms, follow_terms) = watch::channel(Arc::new(terms));
        let (wanted, follow_wanted) = watch::channel(Wanted::default());
        let heard = Self { terms, wanted, findings: BTreeSet::new(), terms_of: None };
        (heard, FollowedFindings { terms: follow_terms, wanted: follow_wanted })
    }

    /// Begins with no findings, by the terms of a policy that may change.
    pub(super) fn by_policy(policy: &WatchPolicy, terms_of: TermsOf) -> (Self, FollowedFindings) {
        let (heard, follow) = Self::by(terms_of(policy));
        (Self { terms_of: Some(terms_of), ..heard }, follow)
    }

    /// Takes in findings and policies from the loop.
    pub(super) fn take_in(&mut self, told: &Told) {
        if told.news.findings.is_empty() && told.policy.is_none() {
            return;
        }
        if let (Some(policy), Some(terms_of)) = (&told.policy, &self.terms_of) {
            let terms = Arc::new(terms_of(policy));
            set(&self.terms, terms);
        }
        for event in &told.news.findings {
            match event {
                FindingEvent::Appeared(it) | FindingEvent::Changed(it) => {
                    if Work::ALL.iter().any(|work| work.findings().contains(&it.rule)) {
                        self.findings.insert((it.rule, it.object.clone()));
                    }
                }
                FindingEvent::Cleared(it) => {
                    self.findings.remove(&(it.rule, it.object.clone()));
                }
            }
        }
        let on = self.terms.borrow().on();
        let findings = self.findings.iter().map(|(rule, object)| (*rule, object));
        set(&self.wanted, Wanted::by(&on, findings));
    }
}

/// Sends a value if it differs from the last one.
fn set<T: PartialEq>(told: &watch::Sender<T>, value: T) {
    told.send_if_modified(|known| {
        let is_new = *known != value;
        if is_new {
            *known = value;
        }
        is_new
    });
}

impl Listener for WantedFindings {
    fn hear(&mut self, told: &Told, _: &Cluster, _: &Reconciler) {
        self.take_in(told);
    }
}
