//! Findings as messages to a chat.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::queue::{MOST, Queue, SinkCounts};
use super::told_findings::{Telling, ToldFindings};
use super::webhook_message::{WebhookItem, render};
use super::webhook_post::{PostError, post};
use crate::model::{FindingEvent, Time};
use crate::watch::leader::Leadership;
use crate::watch::policy::report::WebhookPolicy;

/// How a message is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct WebhookPace {
    /// How long an answer may take.
    pub(super) timeout: Duration,
    /// How long to wait before a message is tried again; doubled each time.
    pub(super) pause: Duration,
    /// The longest such wait, whatever the server asks for.
    pub(super) longest_pause: Duration,
    /// After this time a message is given up.
    pub(super) give_up: Duration,
}

impl Default for WebhookPace {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(300),
            give_up: Duration::from_secs(3600),
        }
    }
}

/// Tells findings by messages.
#[derive(Debug)]
pub(super) struct WebhookReporter {
    told: ToldFindings,
    queue: Queue<WebhookItem>,
    counts: Arc<SinkCounts>,
    /// The file that holds the URL.
    url_file: Arc<Mutex<PathBuf>>,
    _task: JoinSet<()>,
}

impl WebhookReporter {
    /// Begins to tell findings of a cluster.
    pub(super) fn start(
        policy: &WebhookPolicy,
        cluster: &str,
        pace: WebhookPace,
        counts: Arc<SinkCounts>,
        leadership: Leadership,
    ) -> Self {
        let queue = Queue::new(MOST);
        let url_file = Arc::new(Mutex::new(policy.url_file.clone()));
        let mut tasks = JoinSet::new();
        let sender = Sender {
            queue: queue.clone(),
            url_file: Arc::clone(&url_file),
            cluster: cluster.to_owned(),
            pace,
            counts: Arc::clone(&counts),
            leadership,
        };
        tasks.spawn(sender.send_all());
        let told = ToldFindings::new(policy.severity);
        Self { told, queue, counts, url_file, _task: tasks }
    }

    /// Goes on by another policy: what waits is sent where that says.
    pub(super) fn follow(&mut self, policy: &WebhookPolicy) {
        self.told.set_severity(policy.severity);
        let mut url_file = self.url_file.lock().unwrap_or_else(PoisonError::into_inner);
        url_file.clone_from(&policy.url_file);
    }

    /// Takes in what has become of findings; `is_first` where it is the first look of this process.
    pub(super) fn hear(&mut self, events: &[FindingEvent], now: Option<Time>, is_first: bool) {
        let item = |telling| {
            let event = match telling {
                Telling::Appeared(it) => FindingEvent::Appeared(Box::new(it.clone())),
                Telling::Cleared(it) => FindingEvent::Cleared(it.clone()),
            };
            WebhookItem::of(event, now, is_first)
        };
        // All at once, so that they are one message.
        let dropped = self.queue.push_all(self.told.sift(events).into_iter().map(item).collect());
        if dropped > 0 {
            self.counts.dropped(dropped);
            tracing::warn!(dropped, "too many findings wait for the webhook: these are left out");
        }
    }
}

/// What sends.
struct Sender {
    queue: Queue<WebhookItem>,
    url_file: Arc<Mutex<PathBuf>>,
    cluster: String,
    pace: WebhookPace,
    counts: Arc<SinkCounts>,
    leadership: Leadership,
}

impl Sender {
    /// Sends what is queued, for ever: all that waits in one message.
    async fn send_all(mut self) {
        loop {
            let items = self.queue.next(MOST).await;
            let body = render(&self.cluster, &items).to_string();
            match self.send(&body).await {
                Ok(()) => self.counts.sent(items.len()),
                Err(error) => {
                    self.counts.failed(items.len());
                    let findings = items.len();
                    tracing::warn!(%error, findings, "a message to the webhook was given up");
                }
            }
        }
    }

    /// Sends a message until it is taken, or cannot be. While this process does not lead, it waits.
    async fn send(&mut self, body: &str) -> Result<(), PostError> {
        let (begun, pace) = (Instant::now(), self.pace);
        let mut pause = pace.pause;
        loop {
            self.leadership.wait().await;
            let url_file = self.url_file.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let error = match post(&url_file, body, pace.timeout).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let Some(asked) = error.retry() else { return Err(error) };
            let wait = asked.unwrap_or(pause).max(pause).min(pace.longest_pause);
            if begun.elapsed() + wait > pace.give_up {
                return Err(error);
            }
            if pause == pace.pause {
                tracing::warn!(%error, "a message to the webhook was not taken, and is tried again");
            }
            sleep(wait).await;
            pause = (pause * 2).min(pace.longest_pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::test_server::{TestReply, TestServer, reply};
    use crate::model::Severity;
    use crate::watch::report::told_findings::tests::finding;

    const QUICK: WebhookPace = WebhookPace {
        timeout: Duration::from_millis(300),
        pause: Duration::from_millis(5),
        longest_pause: Duration::from_millis(50),
        give_up: Duration::from_secs(60),
    };

    struct Hook {
        server: TestServer,
        reporter: WebhookReporter,
        counts: Arc<SinkCounts>,
        folder: tempfile::TempDir,
    }

    impl Hook {
        async fn start(
            pace: WebhookPace,
            answer: impl Fn(usize) -> TestReply + Send + Sync + 'static,
        ) -> Self {
            let server = TestServer::start(move |asked| answer(asked.nth)).await;
            let folder = tempfile::tempdir().expect("a folder");
            let url_file = folder.path().join("url");
            std::fs::write(&url_file, format!("{}/secret/path\n", server.url)).expect("a file");
            let counts = Arc::default();
            let policy = WebhookPolicy { url_file, severity: Severity::High };
            let reporter = WebhookReporter::start(
                &policy,
                "c",
                pace,
                Arc::clone(&counts),
                Leadership::alone(),
            );
            Self { server, reporter, counts, folder }
        }

        fn tell(&mut self, names: std::ops::Range<usize>) {
            let found = names.map(|it| finding(&it.to_string(), Severity::High));
            let events: Vec<_> = found.map(FindingEvent::Appeared).collect();
            self.reporter.hear(&events, None, false);
        }

        async fn until(&self, expected: [u64; 3]) {
            let numbers = || self.counts.by_outcome().map(|(_, count)| count);
            for _ in 0..3000 {
                if numbers() == expected {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
            panic!("{:?} instead of {expected:?}", numbers());
        }
    }

    #[tokio::test]
    async fn nothing_is_lost_while_the_server_is_in_trouble() {
        let mut hook = Hook::start(QUICK, |nth| match nth {
            0 => reply(500, "", ""),
            1 => TestReply::Hang(Vec::new()),
            2 => TestReply::Cut(Vec::new()),
            3 => reply(429, "retry-after: 1\r\n", ""),
            _ => reply(200, "", "ok"),
        })
        .await;
        hook.tell(0..1);
        hook.until([0, 0, 0]).await;
        hook.tell(1..3);
        hook.until([3, 0, 0]).await;
        let asked = hook.server.asked();
        assert!(asked.iter().all(|it| it.path == "/secret/path"), "{asked:?}");
        let bodies = asked.iter().map(|it| it.body.as_str()).collect::<Vec<_>>().join("\n");
        assert!(["pv/0", "pv/1", "pv/2"].iter().all(|it| bodies.contains(it)), "{bodies}");
        // What waited meanwhile came in one message.
        assert!((5..=6).contains(&asked.len()), "{}", asked.len());
    }

    #[tokio::test]
    async fn no_redirect_is_followed_and_a_refusal_is_final() {
        let other = TestServer::start(|_| reply(200, "", "")).await;
        let location = format!("location: {}\r\n", other.url);
        let mut hook = Hook::start(QUICK, move |nth| match nth {
            0 => reply(302, &location, ""),
            1 => reply(404, "", ""),
            _ => reply(200, "", ""),
        })
        .await;
        for number in 0..3 {
            hook.tell(number..number + 1);
            hook.until(if number < 2 { [0, number as u64 + 1, 0] } else { [1, 2, 0] }).await;
        }
        assert_eq!(hook.server.asked().len(), 3);
        assert!(other.asked().is_empty());
    }

    #[tokio::test]
    async fn a_server_that_stays_away_costs_nothing_but_messages() {
        let pace = WebhookPace { give_up: Duration::from_millis(200), ..QUICK };
        let mut hook = Hook::start(pace, |_| reply(503, "", "")).await;
        hook.tell(0..1200);
        hook.until([0, 1000, 200]).await;
    }

    #[tokio::test]
    async fn what_waits_when_the_policy_changes_is_sent_where_the_new_one_says() {
        let mut hook = Hook::start(QUICK, |_| reply(503, "", "")).await;
        hook.tell(0..3);
        hook.until([0, 0, 0]).await;
        let other = TestServer::start(|_| reply(200, "", "")).await;
        let url_file = hook.folder.path().join("other");
        std::fs::write(&url_file, format!("{}/other", other.url)).expect("a file");
        hook.reporter.follow(&WebhookPolicy { url_file, severity: Severity::Critical });
        hook.until([3, 0, 0]).await;
        let bodies: String = other.asked().iter().map(|it| it.body.as_str()).collect();
        assert!(["pv/0", "pv/1", "pv/2"].iter().all(|it| bodies.contains(it)), "{bodies}");
        // What comes now is looked at by the new policy, and what was told stays told.
        hook.tell(0..4);
        let worse = FindingEvent::Changed(finding("4", Severity::Critical));
        hook.reporter.hear(&[worse], None, false);
        hook.until([4, 0, 0]).await;
        let last = other.asked().pop().expect("it was asked").body;
        assert!(last.contains("pv/4") && !last.contains("pv/3"), "{last}");
    }

    #[tokio::test]
    async fn the_url_is_read_again_when_it_changes() {
        let mut hook = Hook::start(QUICK, |_| reply(200, "", "")).await;
        let file = hook.folder.path().join("url");
        std::fs::remove_file(&file).expect("it is there");
        hook.tell(0..1);
        sleep(Duration::from_millis(50)).await;
        std::fs::write(&file, format!("{}/other", hook.server.url)).expect("a file");
        hook.until([1, 0, 0]).await;
        assert_eq!(hook.server.asked()[0].path, "/other");
    }
}
