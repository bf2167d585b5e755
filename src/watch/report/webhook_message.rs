//! What a webhook is told: a text for people, as Slack takes it, and the same as fields.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::model::{FindingEvent, Time, escape_control, shorten};
use crate::output::{publish, wire};

/// How many findings a message names; the rest is counted.
const LINES: usize = 20;
/// How many findings a message holds as fields.
const FIELDS: usize = 100;
/// How long a line is, in characters.
const LINE: usize = 300;

/// One finding in a message.
#[derive(Debug, Clone)]
pub(super) struct WebhookItem {
    is_first: bool,
    is_cleared: bool,
    line: String,
    event: wire::FindingEvent,
}

impl WebhookItem {
    /// Says what has become of a finding; `is_first` where it is the first look of this process.
    pub(super) fn of(event: FindingEvent, now: Option<Time>, is_first: bool) -> Self {
        let (is_cleared, line) = match &event {
            FindingEvent::Appeared(it) | FindingEvent::Changed(it) => {
                let what = shorten(&escape_control(&it.summary), LINE);
                (false, format!("{} {} {}: {what}", it.severity.name(), it.rule, it.object))
            }
            FindingEvent::Cleared(it) => {
                // What a policy leaves out may still be there.
                let what = if it.left_out { "not reported any more" } else { "cleared" };
                (true, format!("{what}: {} {} {}", it.severity.name(), it.rule, it.object))
            }
        };
        Self { is_first, is_cleared, line, event: publish::finding_event(event, now) }
    }
}

/// Builds the body of a message.
pub(super) fn render(cluster: &str, items: &[WebhookItem]) -> Value {
    let count = |is: fn(&WebhookItem) -> bool| items.iter().filter(|it| is(it)).count();
    let parts = [
        (count(|it| it.is_first && !it.is_cleared), "there at the start"),
        (count(|it| !it.is_first && !it.is_cleared), "appeared"),
        (count(|it| it.is_cleared), "cleared"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    let mut text = format!("kubectl storage, {cluster}: findings: {}", parts.join(", "));
    for item in items.iter().take(LINES) {
        text.push_str("\n• ");
        text.push_str(&item.line);
    }
    if items.len() > LINES {
        let more = items.len() - LINES;
        write!(text, "\nand {more} more").expect("because writing to a string does not fail");
    }
    let fields: Vec<_> = items.iter().take(FIELDS).map(|it| &it.event).collect();
    json!({
        "text": escape_slack(&text),
        "cluster": cluster,
        "findings": fields,
        "omitted": items.len().saturating_sub(FIELDS),
    })
}

/// Escapes the three characters that Slack takes for markup.
fn escape_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Severity;
    use crate::watch::report::told_findings::tests::{cleared, finding};

    #[test]
    fn a_message_is_for_people_and_for_programs() {
        let mut hostile = finding("a", Severity::High);
        hostile.summary = "<!channel> & \u{1b}[2J".to_owned();
        let items = [
            WebhookItem::of(FindingEvent::Appeared(hostile), None, false),
            WebhookItem::of(cleared("b", Severity::High), None, false),
        ];
        let message = render("https://c", &items);
        assert_eq!(
            message["text"],
            "kubectl storage, https://c: findings: 1 appeared, 1 cleared\n\
             • high pv-failed pv/a: &lt;!channel&gt; &amp; \\u{1b}[2J\n\
             • cleared: high pv-failed pv/b"
        );
        assert_eq!(message["findings"][0]["event"], "appeared");
        assert_eq!(message["findings"][1]["id"], "pv-failed");
        assert_eq!(message["omitted"], 0);
    }

    #[test]
    fn a_long_message_counts_the_rest() {
        let items: Vec<_> = (0..150)
            .map(|it| finding(&it.to_string(), Severity::High))
            .map(|it| WebhookItem::of(FindingEvent::Appeared(it), None, true))
            .collect();
        let message = render("c", &items);
        let text = message["text"].as_str().expect("a text");
        assert!(text.starts_with("kubectl storage, c: findings: 150 there at the start\n"));
        assert!(text.ends_with("\nand 130 more"), "{text}");
        assert_eq!(message["findings"].as_array().map(Vec::len), Some(100));
        assert_eq!(message["omitted"], 50);
    }
}
