//! Reporting of findings as Events about their objects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::queue::{MOST, Queue, SinkCounts, Telling, TokenBucket, ToldFindings};
use crate::apply::{EventWriter, FindingNotice, NoticeEnd, NoticeError};
use crate::client::Connection;
use crate::model::{FindingEvent, Severity, Time, escape_control};
use crate::watch::leader::{Leadership, instance};

/// Number of times that an Event is tried.
const ATTEMPTS: u32 = 4;

/// Pace of sending Events.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventPace {
    /// Number of Events that are sent at once.
    pub(super) burst: u32,
    /// Time until the next Event after those.
    pub(super) every: Duration,
    /// Time before an Event that was not answered is tried again; doubled each time.
    pub(super) pause: Duration,
}

impl Default for EventPace {
    fn default() -> Self {
        Self { burst: 25, every: Duration::from_secs(2), pause: Duration::from_secs(1) }
    }
}

/// Reporter of findings by Events.
#[derive(Debug)]
pub(super) struct EventReporter {
    told: ToldFindings,
    queue: Queue<FindingNotice>,
    counts: Arc<SinkCounts>,
    _task: JoinSet<()>,
}

impl EventReporter {
    /// Begins to report findings of a severity and worse.
    pub(super) fn start(
        severity: Severity,
        connection: &Connection,
        pace: EventPace,
        counts: Arc<SinkCounts>,
        leadership: Leadership,
    ) -> Self {
        let queue = Queue::new(MOST);
        let writer = EventWriter::new(connection, &instance());
        let mut tasks = JoinSet::new();
        tasks.spawn(send_all(queue.clone(), writer, pace, Arc::clone(&counts), leadership));
        Self { told: ToldFindings::new(severity), queue, counts, _task: tasks }
    }

    /// Sets the severity from which findings are reported.
    pub(super) fn set_severity(&mut self, severity: Severity) {
        self.told.set_severity(severity);
    }

    /// Queues changes of findings; `is_first` where it is the first look of this process.
    pub(super) fn hear(&mut self, events: &[FindingEvent], now: Option<Time>, is_first: bool) {
        let Some(now) = now else { return };
        let mut dropped = 0;
        for telling in self.told.sift(events) {
            match telling {
                Telling::Appeared(finding) => {
                    let notice = FindingNotice::of(finding, now, !is_first);
                    dropped += usize::from(!self.queue.push(notice));
                }
                // Nobody needs an Event about what is over already.
                Telling::Cleared(it) => self
                    .queue
                    .retain(|waiting| waiting.rule != it.rule || waiting.object != it.object),
            }
        }
        if dropped > 0 {
            self.counts.dropped(dropped);
            tracing::warn!(dropped, "too many Events wait to be created: these are left out");
        }
    }
}

/// Sends what is queued, for ever.
async fn send_all(
    queue: Queue<FindingNotice>,
    writer: EventWriter,
    pace: EventPace,
    counts: Arc<SinkCounts>,
    mut leadership: Leadership,
) {
    let mut bucket = TokenBucket::new(pace.burst, pace.every);
    let mut is_forbidden = false;
    loop {
        sleep(bucket.take(Instant::now())).await;
        for notice in queue.next(1).await {
            match send(&writer, &notice, pace, &mut leadership).await {
                Ok(end) => {
                    is_forbidden = false;
                    match end {
                        // It costs others nothing, and what is new must not wait for it.
                        NoticeEnd::Known => bucket.give_back(),
                        NoticeEnd::Created | NoticeEnd::Continued => counts.sent(1),
                    }
                }
                Err(error) => {
                    counts.failed(1);
                    let said = is_forbidden;
                    is_forbidden = matches!(error, NoticeError::Forbidden(_));
                    let error = error.to_string();
                    let error = escape_control(&error);
                    if !is_forbidden {
                        tracing::warn!(%error, object = %notice.object, "an Event was not created");
                    } else if !said {
                        tracing::warn!(
                            %error,
                            "no right to create Events: findings are told everywhere else; \
                             kubectl storage rbac watch -f POLICY --check lists what is missing"
                        );
                    }
                }
            }
        }
    }
}

async fn send(
    writer: &EventWriter,
    notice: &FindingNotice,
    pace: EventPace,
    leadership: &mut Leadership,
) -> Result<NoticeEnd, NoticeError> {
    let mut pause = pace.pause;
    let mut attempt = 1;
    loop {
        leadership.wait().await;
        match writer.tell(notice).await {
            Ok(end) => return Ok(end),
            Err(NoticeError::Unanswered(_)) if attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
        attempt += 1;
        sleep(pause).await;
        pause *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::tests::{cleared, finding};
    use super::*;
    use crate::client::test_server::{TestReply, TestServer, reply};
    use crate::model::parse_time;

    fn noon() -> Option<Time> {
        parse_time("2026-11-21T12:00:00Z").ok().flatten()
    }

    fn appeared(name: &str) -> FindingEvent {
        FindingEvent::Appeared(finding(name, Severity::High))
    }

    const QUICK: EventPace =
        EventPace { burst: 1000, every: Duration::from_millis(1), pause: Duration::from_millis(1) };

    async fn started(
        pace: EventPace,
        answer: impl Fn(usize) -> TestReply + Send + Sync + 'static,
    ) -> (EventReporter, TestServer, Arc<SinkCounts>) {
        let server = TestServer::start(move |asked| answer(asked.nth)).await;
        let counts = Arc::default();
        let connection = server.connect().await;
        let reporter = EventReporter::start(
            Severity::High,
            &connection,
            pace,
            Arc::clone(&counts),
            Leadership::alone(),
        );
        (reporter, server, counts)
    }

    async fn until(counts: &SinkCounts, expected: [u64; 3]) {
        let numbers = || counts.by_outcome().map(|(_, count)| count);
        for _ in 0..3000 {
            if numbers() == expected {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("{:?} instead of {expected:?}", numbers());
    }

    #[tokio::test]
    async fn an_event_is_tried_again_and_an_error_does_not_end_it() {
        let answer = |nth| reply(if nth < 2 { 500 } else { 201 }, "", "{}");
        let (mut reporter, server, counts) = started(QUICK, answer).await;
        reporter.hear(&[appeared("a"), appeared("a")], noon(), false);
        until(&counts, [1, 0, 0]).await;
        assert_eq!(server.asked().len(), 3);
    }

    #[tokio::test]
    async fn without_the_right_it_goes_on() {
        let answer = |nth| reply(if nth < 3 { 403 } else { 201 }, "", "{}");
        let (mut reporter, server, counts) = started(QUICK, answer).await;
        for name in ["a", "b", "c", "d"] {
            reporter.hear(&[appeared(name)], noon(), false);
        }
        until(&counts, [1, 3, 0]).await;
        assert_eq!(server.asked().len(), 4);
    }

    #[tokio::test]
    async fn a_thousand_wait_at_most_and_the_bucket_holds_them_back() {
        let pace = EventPace { burst: 5, every: Duration::from_secs(3600), ..QUICK };
        let (mut reporter, server, counts) = started(pace, |_| reply(201, "", "{}")).await;
        let names: Vec<_> = (0..1500).map(|it| appeared(&it.to_string())).collect();
        reporter.hear(&names, noon(), false);
        until(&counts, [5, 0, 500]).await;
        // What has cleared makes room.
        let over: Vec<_> = (5..1000).map(|it| cleared(&it.to_string(), Severity::High)).collect();
        reporter.hear(&over, noon(), false);
        reporter.hear(&names[..1000], noon(), false);
        assert_eq!(server.asked().len(), 5);
        until(&counts, [5, 0, 500]).await;
    }
}
