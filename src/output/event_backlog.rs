//! `EventBacklog`: what waits to be printed of findings that come and go, while nobody reads.

use std::collections::BTreeMap;

use super::wire::{EventFinding, FindingEvent, ObjectReference};

/// What waits to be printed, in order. Of a finding it holds at most that it has cleared and that it
/// has appeared again: however long nobody reads, there is no more of it than there are findings, and
/// what is read adds up all the same.
#[derive(Debug, Default)]
pub struct EventBacklog {
    next: u64,
    waiting: BTreeMap<u64, FindingEvent>,
    /// Where the events of a finding stand.
    places: BTreeMap<FindingKey, Vec<u64>>,
}

/// A finding: its rule and its object.
type FindingKey = (String, [String; 4]);

impl EventBacklog {
    /// Adds an event. What waits of the same finding becomes one with it.
    pub fn push(&mut self, event: FindingEvent) {
        let key = key(&event);
        let places = self.places.entry(key.clone()).or_default();
        let last = places.last().and_then(|place| self.waiting.get_mut(place));
        match (last.map(|it| (it.event.clone(), it)), event.event.as_str()) {
            (None, _) => {}
            // It comes back before anybody has read that it was gone.
            (Some((earlier, _)), "appeared") if earlier == "cleared" => {}
            // Nobody has read that it was there.
            (Some((earlier, _)), "cleared") if earlier == "appeared" => {
                if let Some(place) = places.pop() {
                    self.waiting.remove(&place);
                }
                if places.is_empty() {
                    self.places.remove(&key);
                }
                return;
            }
            (Some((earlier, last)), now) => {
                let event_name = if now == "changed" { earlier } else { now.to_owned() };
                *last = FindingEvent { event: event_name, ..event };
                return;
            }
        }
        places.push(self.next);
        self.waiting.insert(self.next, event);
        self.next += 1;
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes out everything that waits.
    pub fn take(&mut self) -> Vec<FindingEvent> {
        self.places.clear();
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}

fn key(event: &FindingEvent) -> FindingKey {
    let (id, object) = match &event.finding {
        EventFinding::Present(it) => (&it.id, &it.object),
        EventFinding::Cleared(it) => (&it.id, &it.object),
    };
    let ObjectReference { api_version: _, kind, namespace, name, uid } = object.clone();
    (id.clone(), [kind, namespace.unwrap_or_default(), name, uid.unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::output::wire::ClearedFinding;

    /// An event of the finding of this number; `cleared` is the only one without its content.
    fn event(name: &str, number: u8) -> FindingEvent {
        let object = ObjectReference {
            api_version: "v1".to_owned(),
            kind: "PersistentVolume".to_owned(),
            namespace: None,
            name: number.to_string(),
            uid: None,
        };
        let cleared = ClearedFinding {
            id: "pv-failed".to_owned(),
            severity: "high".to_owned(),
            object,
            left_out: false,
        };
        FindingEvent {
            api_version: "v1".to_owned(),
            kind: "FindingEvent".to_owned(),
            event: name.to_owned(),
            time: None,
            finding: EventFinding::Cleared(cleared),
        }
    }

    fn waits(events: &[&str]) -> Vec<String> {
        let mut backlog = EventBacklog::default();
        for name in events {
            backlog.push(event(name, 0));
        }
        let waits = backlog.take().into_iter().map(|it| it.event).collect();
        assert!(backlog.is_empty());
        waits
    }

    #[test]
    fn what_nobody_has_read_becomes_one() {
        for (events, expected) in [
            (vec!["appeared", "changed"], vec!["appeared"]),
            (vec!["changed", "changed"], vec!["changed"]),
            (vec!["appeared", "cleared"], vec![]),
            (vec!["changed", "cleared"], vec!["cleared"]),
            (vec!["cleared", "appeared"], vec!["cleared", "appeared"]),
            (vec!["cleared", "appeared", "changed"], vec!["cleared", "appeared"]),
            (vec!["cleared", "appeared", "cleared"], vec!["cleared"]),
            (vec!["cleared", "appeared", "cleared", "appeared"], vec!["cleared", "appeared"]),
        ] {
            assert_eq!(waits(&events), expected, "{events:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_adds_up_however_rarely(steps in vec((0..4_u8, any::<u8>()), 0..200)) {
            let mut backlog = EventBacklog::default();
            let (mut there, mut read) = (BTreeSet::new(), BTreeSet::new());
            for (number, what) in steps {
                let name = match (there.contains(&number), what % 3) {
                    (true, 0) => "changed",
                    (true, _) => "cleared",
                    (false, _) => "appeared",
                };
                match name {
                    "appeared" => drop(there.insert(number)),
                    "cleared" => drop(there.remove(&number)),
                    _ => {}
                }
                backlog.push(event(name, number));
                prop_assert!(backlog.waiting.len() <= 8);
                if what % 16 == 0 {
                    follow(&mut read, backlog.take())?;
                    prop_assert_eq!(&read, &there);
                }
            }
            follow(&mut read, backlog.take())?;
            prop_assert_eq!(read, there);
        }
    }

    /// What a reader believes; each event has to follow from what it believed before.
    fn follow(
        read: &mut BTreeSet<u8>,
        events: Vec<FindingEvent>,
    ) -> Result<(), proptest::test_runner::TestCaseError> {
        for told in events {
            let number: u8 = key(&told).1[2].parse().expect("because it is a number");
            let follows = match told.event.as_str() {
                "appeared" => read.insert(number),
                "changed" => read.contains(&number),
                _ => read.remove(&number),
            };
            prop_assert!(follows, "{} {number}", told.event);
        }
        Ok(())
    }
}
