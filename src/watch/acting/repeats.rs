//! `Repeats`: what was done again and again, since somebody else undoes it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Work;
use crate::model::ObjectRef;

/// For how long a change counts.
const WINDOW: Duration = Duration::from_secs(3600);
/// So often something is done to an object within that time, and not once more.
const MOST: usize = 3;

/// When which work has changed which object.
#[derive(Debug, Default)]
pub(crate) struct Repeats(BTreeMap<(Work, ObjectRef), Vec<Duration>>);

impl Repeats {
    /// Notes that an object was changed, by a clock that is never set.
    pub(crate) fn note(&mut self, work: Work, object: &ObjectRef, at: Duration) {
        self.0.retain(|_, times| {
            times.retain(|then| at.saturating_sub(*then) < WINDOW);
            !times.is_empty()
        });
        self.0.entry((work, object.clone())).or_default().push(at);
    }

    /// Whether it was changed so often that somebody undoes it.
    pub(crate) fn are_enough(&self, work: Work, object: &ObjectRef, at: Duration) -> bool {
        let times = self.0.get(&(work, object.clone())).map_or(&[][..], Vec::as_slice);
        times.iter().filter(|then| at.saturating_sub(**then) < WINDOW).count() >= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey};

    #[test]
    fn three_times_an_hour_is_enough() {
        let volume = |name| ObjectRef {
            key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
            uid: None,
        };
        let (fought, other) = (volume("fought"), volume("other"));
        let at = |minutes: u64| Duration::from_secs(minutes * 60);
        let mut repeats = Repeats::default();
        for minutes in [0, 1, 2] {
            assert!(!repeats.are_enough(Work::Rescue, &fought, at(minutes)));
            repeats.note(Work::Rescue, &fought, at(minutes));
        }
        assert!(repeats.are_enough(Work::Rescue, &fought, at(3)));
        assert!(!repeats.are_enough(Work::Rescue, &other, at(3)));
        assert!(!repeats.are_enough(Work::Retention, &fought, at(3)));
        assert!(!repeats.are_enough(Work::Rescue, &fought, at(60)));
        repeats.note(Work::Rescue, &other, at(200));
        assert_eq!(repeats.0.len(), 1);
    }
}
