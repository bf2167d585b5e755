//! Expired Leases are read twice before they decide that a controller is absent: when a Lease was
//! renewed is told by the clock of its holder, which may be wrong. Any change is life.

use std::time::Duration;

use super::{CurrentCluster, ReadAgainError};
use crate::cluster::{Lookup, Reach};
use crate::facts;
use crate::model::{ControllerRole, Fact, FactKey, Kind, ObjectRef, Text, Time};
use crate::plan::Purpose;
use crate::sources::live::list_again;

/// The Leases of the controllers that a proposal takes for absent, as they were read.
pub(in crate::apply) struct ExpiredLeases {
    controllers: Vec<(ControllerRole, Text)>,
    read: Vec<LeaseReading>,
    /// How long to wait before they are read again: the longest duration among them.
    pub(in crate::apply) wait: Duration,
}

/// What changes in a Lease while its holder lives.
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
