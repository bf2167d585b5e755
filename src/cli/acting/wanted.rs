//! Hears from the loop for what there are findings.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

use super::terms::ActingTerms;
use crate::cluster::Cluster;
use crate::model::{FindingEvent, ObjectRef, RuleId};
use crate::watch::{
    Listener, Reconciler, Told,
    acting::{Wanted, Work},
    policy::WatchPolicy,
};

/// What a policy says of work.
type TermsOf = Box<dyn Fn(&WatchPolicy) -> ActingTerms + Send>;

/// Hears for what there are findings.
pub(in crate::cli) struct WantedFindings {
    terms: watch::Sender<Arc<ActingTerms>>,
    wanted: watch::Sender<Wanted>,
    /// Those that call for any work.
    findings: BTreeSet<(RuleId, ObjectRef)>,
    /// Where policies come into force while it goes on.
    terms_of: Option<TermsOf>,
}

/// What follows them.
pub(in crate::cli) struct FollowedFindings {
    pub(in crate::cli) terms: watch::Receiver<Arc<ActingTerms>>,
    pub(in crate::cli) wanted: watch::Receiver<Wanted>,
}

impl WantedFindings {
    /// Begins with no findings, by terms that stay as they are.
    pub(in crate::cli) fn by(terms: ActingTerms) -> (Self, FollowedFindings) {
        let (terms, follow_terms) = watch::channel(Arc::new(terms));
        let (wanted, follow_wanted) = watch::channel(Wanted::default());
        let heard = Self { terms, wanted, findings: BTreeSet::new(), terms_of: None };
        (heard, FollowedFindings { terms: follow_terms, wanted: follow_wanted })
    }

    /// The same, by a policy that may change.
    pub(in crate::cli) fn by_policy(
        policy: &WatchPolicy,
        terms_of: TermsOf,
    ) -> (Self, FollowedFindings) {
        let (heard, follow) = Self::by(terms_of(policy));
        (Self { terms_of: Some(terms_of), ..heard }, follow)
    }

    /// Takes in what the loop tells.
    pub(in crate::cli) fn take_in(&mut self, told: &Told) {
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

/// Tells a value, if it is another one.
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
