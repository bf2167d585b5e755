//! Stream of findings as they appear, change and clear, in any format; what waits for a reader is folded.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::{
    jsonpath::RenderError,
    lines::readable,
    list,
    report::{self, Printer, ReportStyle},
    table::{GrowingTable, TableStyle, resource_name, short_name},
    wire::{EventFinding, FindingEvent, ObjectReference},
};
use crate::model::escape_control;

/// Printer of finding events, which goes on beneath what it has printed.
pub struct EventStream {
    printer: Printer,
    table: GrowingTable,
}

impl EventStream {
    /// Begins a stream of events. Nothing is printed yet.
    pub fn new(printer: Printer, page: ReportStyle) -> Self {
        let (headers, width) = match &printer {
            Printer::Table { wide } => {
                (["EVENT"].iter().chain(report::headers(*wide)).copied().collect(), page.width)
            }
            Printer::Columns(columns) => (columns.headers(), None),
            _ => (Vec::new(), None),
        };
        let escape = match &printer {
            Printer::Table { .. } => readable,
            _ => escape_control,
        };
        let look = TableStyle { headers: page.headers, width, escape };
        let table = GrowingTable::new(&headers, look);
        Self { printer, table }
    }

    /// Prints new events.
    ///
    /// # Errors
    /// When writing fails, or a template does not fit an event.
    pub fn print(
        &mut self,
        out: &mut dyn Write,
        events: Vec<FindingEvent>,
    ) -> Result<(), RenderError> {
        match &self.printer {
            Printer::Table { wide } => {
                let rows = events.into_iter().map(|event| cells(event, *wide)).collect();
                self.table.rows(out, rows)?;
            }
            Printer::Columns(columns) => {
                let rows = events.iter().map(|event| columns.cells(&value(event)?));
                self.table.rows(out, rows.collect::<Result<_, RenderError>>()?)?;
            }
            Printer::Json => {
                for event in &events {
                    serde_json::to_writer(&mut *out, event).map_err(io::Error::from)?;
                    writeln!(out)?;
                }
            }
            Printer::Yaml => {
                for event in &events {
                    writeln!(out, "---")?;
                    list::yaml(out, event)?;
                }
            }
            Printer::Name => {
                for event in &events {
                    writeln!(out, "{}", escape_control(&resource_name(object(event))))?;
                }
            }
            Printer::JsonPath(template) => {
                for event in &events {
                    let mut event = value(event)?;
                    report::escape_all(&mut event);
                    template.render(&event, out)?;
                }
            }
            Printer::JsonPathAsJson(template) => {
                for event in &events {
                    template.render_json(&value(event)?, out)?;
                }
            }
        }
        Ok(())
    }
}

fn value(event: &FindingEvent) -> Result<serde_json::Value, io::Error> {
    serde_json::to_value(event).map_err(io::Error::other)
}

fn object(event: &FindingEvent) -> &ObjectReference {
    match &event.finding {
        EventFinding::Present(finding) => &finding.object,
        EventFinding::Cleared(cleared) => &cleared.object,
    }
}

fn cells(event: FindingEvent, wide: bool) -> Vec<String> {
    let name = event.event.to_uppercase();
    let of_finding = match event.finding {
        EventFinding::Present(finding) => report::cells(*finding, wide),
        EventFinding::Cleared(cleared) => {
            let mut cells = vec![cleared.severity, cleared.id, short_name(&cleared.object)];
            cells.resize(report::headers(wide).len(), String::new());
            if let Some(what) = cells.last_mut().filter(|_| cleared.left_out) {
                what.push_str("left out: not reported any more");
            }
            cells
        }
    };
    std::iter::once(name).chain(of_finding).collect()
}

/// Backlog of events that wait to be printed, in order. Of a finding it holds at most that it has cleared and that it
/// has appeared again: however long it is unread, there is no more of it than there are findings, and what is read adds
/// up all the same.
#[derive(Debug, Default)]
pub struct EventBacklog {
    next: u64,
    waiting: BTreeMap<u64, FindingEvent>,
    /// Places of the waiting events of each finding.
    places: BTreeMap<FindingKey, Vec<u64>>,
}

/// Identity of a finding: its rule and its object.
type FindingKey = (String, [String; 4]);

impl EventBacklog {
    /// Adds an event to the backlog. What waits of the same finding becomes one with it.
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

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes out all waiting events.
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
    let ObjectReference { cluster: _, api_version: _, kind, namespace, name, uid } = object.clone();
    (id.clone(), [kind, namespace.unwrap_or_default(), name, uid.unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{
        collection::vec,
        prelude::{any, prop_assert, prop_assert_eq, proptest},
    };

    use super::*;
    use crate::{
        model::{
            ClearedFinding, FindingEvent as Event, Kind, ObjectKey, ObjectRef, Severity, Time,
        },
        output::{publish, wire},
    };

    fn object() -> ObjectRef {
        let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "a\u{1b}b");
        ObjectRef { key, uid: None }
    }

    fn finding() -> crate::model::Finding {
        crate::model::Finding {
            rule: "pv-failed",
            severity: Severity::High,
            object: object(),
            summary: "it failed".to_owned(),
            age: None,
            evidence: Vec::new(),
            related: Vec::new(),
            caused_by: Vec::new(),
            verdict: crate::model::Verdict {
                state: crate::model::VerdictState::ReportOnly,
                reason: "look".to_owned(),
            },
            offer: None,
            volume: None,
        }
    }

    fn events() -> Vec<FindingEvent> {
        let cleared = ClearedFinding {
            rule: "pv-failed",
            severity: Severity::High,
            object: object(),
            left_out: false,
        };
        let now = Time::from_timestamp(1_790_000_000, 0);
        [Event::Appeared(Box::new(finding())), Event::Cleared(cleared)]
            .into_iter()
            .map(|event| publish::finding_event(event, now))
            .collect()
    }

    fn printed(printer: Printer) -> String {
        let page = ReportStyle { headers: true, width: None, colour: false, reverse: false };
        let mut stream = EventStream::new(printer, page);
        let mut out = Vec::new();
        for event in events() {
            stream.print(&mut out, vec![event]).expect("because memory does not fail");
        }
        String::from_utf8(out).expect("because it is text")
    }

    #[test]
    fn rows_come_as_findings_do() {
        assert_eq!(
            printed(Printer::Table { wide: false }),
            "EVENT      SEVERITY   ID          OBJECT        AGE   SIZE   WHAT\n\
             APPEARED   high       pv-failed   pv/a\\u{1b}b                it failed\n\
             CLEARED    high       pv-failed   pv/a\\u{1b}b\n"
        );
    }

    #[test]
    fn each_event_is_a_line_of_json() {
        let text = printed(Printer::Json);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let names: Vec<_> = lines.iter().map(|line| line["event"].clone()).collect();
        assert_eq!(names, ["appeared", "cleared"]);
        for line in &lines {
            assert_eq!(line["id"], "pv-failed");
            assert_eq!(line["kind"], "FindingEvent");
            assert_eq!(line["time"], "2026-09-21T14:13:20Z");
            let read: FindingEvent = serde_json::from_value(line.clone()).expect("its own shape");
            assert_eq!(serde_json::to_value(read).expect("JSON"), *line);
        }
        assert_eq!(lines[1].get("summary"), None);
    }

    #[test]
    fn names_and_documents_follow_each_other() {
        let name = "persistentvolume/a\\u{1b}b\n";
        assert_eq!(printed(Printer::Name), name.repeat(2));
        assert_eq!(printed(Printer::Yaml).matches("---\n").count(), 2);
    }

    /// An event of the finding of this number; `cleared` is the only one without its content.
    fn event(name: &str, number: u8) -> FindingEvent {
        let object = ObjectReference {
            cluster: None,
            api_version: "v1".to_owned(),
            kind: "PersistentVolume".to_owned(),
            namespace: None,
            name: number.to_string(),
            uid: None,
        };
        let cleared = wire::ClearedFinding {
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
