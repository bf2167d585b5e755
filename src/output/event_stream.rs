//! Prints findings as they appear, change and clear, in any format.

use std::io::{self, Write};

use super::{
    cells::{resource_name, short_name},
    jsonpath::RenderError,
    list,
    report::{self, Printer, ReportStyle},
    table::{GrowingTable, TableStyle},
    wire::{EventFinding, FindingEvent, ObjectReference},
};
use crate::model::escape_control;

/// What is printed so far, and how it goes on.
pub struct EventStream {
    printer: Printer,
    table: GrowingTable,
}

impl EventStream {
    /// Begins a stream. Nothing is printed yet.
    pub fn new(printer: Printer, page: ReportStyle) -> Self {
        let (headers, width) = match &printer {
            Printer::Table { wide } => {
                (["EVENT"].iter().chain(report::headers(*wide)).copied().collect(), page.width)
            }
            Printer::Columns(columns) => (columns.headers(), None),
            _ => (Vec::new(), None),
        };
        let look = TableStyle { headers: page.headers, width, escape: escape_control };
        let table = GrowingTable::new(&headers, look);
        Self { printer, table }
    }

    /// Prints what is new.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        ClearedFinding, FindingEvent as Event, Kind, ObjectKey, ObjectRef, Severity, Time,
    };
    use crate::output::publish;

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
        let page = ReportStyle { headers: true, width: None, colour: false };
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
}
