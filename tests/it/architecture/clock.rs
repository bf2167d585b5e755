//! Which files of src/ read the clock of this machine, and why. Ages are by the clock of the API server.

use std::collections::BTreeMap;

use super::{Source, assert_none, sources};

/// Files that read the date of this machine, which may be wrong by days.
const DATE: [(&str, &str); 10] = [
    (
        "src/apply/receipt.rs",
        "whether the machine was suspended since something was read or judged",
    ),
    (
        "src/cli/writing/confirm.rs",
        "whether the API server's clock agrees, before something is removed because it is old",
    ),
    ("src/cli/dump/kept.rs", "the name of a dump holds the time at which it was begun"),
    ("src/cli/collect.rs", "a dump that does not tell its time was not taken later than now"),
    (
        "src/cli/acting/session.rs",
        "whether the API server's clock agrees, before what was announced is destroyed",
    ),
    ("src/client/connection.rs", "whether the client certificate of a kubeconfig has expired"),
    ("src/client/credential.rs", "when to ask a credential plugin for the next credential"),
    (
        "src/watch/report/metrics.rs",
        "when it judged last, by the clock that Prometheus compares with",
    ),
    (
        "src/sources/live/reach_watch.rs",
        "whether the machine was suspended since a watch was heard",
    ),
    ("src/watch/run.rs", "whether the machine was asleep, so that its connections may be dead"),
];

/// Files that measure durations, by a clock that has no date and is never set.
const STOPWATCH: [(&str, &str); 32] = [
    ("src/apply/receipt.rs", "how old something is that was read or judged"),
    ("src/apply/run.rs", "which change under way has taken longest"),
    ("src/apply/step.rs", "how long to wait before a step for a watch that broke"),
    ("src/apply/step/dry_run.rs", "how long to wait before expired Leases are read again"),
    ("src/apply/step/owner.rs", "how long it took to record what is taken back"),
    ("src/apply/step/reclaim.rs", "how long to wait before a step for a watch that broke"),
    (
        "src/apply/step/retention.rs",
        "how long to wait until the controller of a set has observed a change",
    ),
    ("src/apply/verify.rs", "how long to wait for a snapshot"),
    ("src/apply/verify/expansion.rs", "how long to wait until a claim has grown"),
    ("src/apply/verify/waits.rs", "how long to wait for what controllers do after a write"),
    ("src/cli/acting/actor.rs", "when to look again"),
    ("src/cli/acting/permit.rs", "how old the answer is that nobody has paused it"),
    ("src/cli/acting/session.rs", "how old a look is"),
    ("src/cli/writing/guard/status.rs", "how long to wait until what was installed is in force"),
    ("src/cli/writing/teardown/phases.rs", "how long to wait until nothing uses the claims"),
    ("src/cli/writing/teardown/record.rs", "how much of the time goes into writing the record"),
    ("src/client/credential.rs", "how long the failure of a credential plugin is remembered"),
    ("src/client/reader.rs", "how long an answer took, and its body may take"),
    ("src/journal/segment_log.rs", "when a record is given up for which a write waits"),
    ("src/sources/answers.rs", "until when answers are waited for"),
    ("src/sources/live/mod.rs", "when the server's Date was received"),
    ("src/sources/live/reach_watch.rs", "how long a watch lasted"),
    ("src/sources/live/watches.rs", "how long ago the server was heard, and its Date received"),
    ("src/watch/report/events.rs", "how often Events are sent"),
    ("src/apply/beside.rs", "whether other clusters were read after it was asked for"),
    ("src/watch/report/open_reports.rs", "how often Reports are made and written"),
    ("src/watch/report/server.rs", "how long an answer about a token counts"),
    ("src/watch/report/queue.rs", "how often something is sent"),
    ("src/watch/report/webhook.rs", "when a message is given up"),
    ("src/watch/leader.rs", "how long ago the Lease was seen to change, and when it was renewed"),
    ("src/watch/run.rs", "how long a turn takes, when to judge what has changed, and to ask again"),
    ("src/watch/judging.rs", "until when answers are waited for"),
];

/// How code reads the date, in the standard library and in crates.
const ASKS_DATE: [&str; 9] = [
    "Utc::now",
    "Local::now",
    "SystemTime::now",
    "UNIX_EPOCH.elapsed",
    "OffsetDateTime::now",
    "Timestamp::now",
    "Zoned::now",
    "Uuid::now",
    "Uuid::new_v1",
];

/// How code measures durations.
const MEASURES: [&str; 2] = ["Instant", ".elapsed("];

/// Files that read the clock in one of these ways and are not listed, and files that are listed and do not read it.
fn differences(sources: &[Source], ways: &[&str], listed: &[(&str, &str)]) -> Vec<String> {
    let listed: BTreeMap<_, _> = listed.iter().copied().collect();
    let reads = |source: &Source| {
        let code: String = source.code.split_whitespace().collect();
        ways.iter().find(|way| code.contains(**way)).copied()
    };
    let mut wrong = Vec::new();
    for source in sources {
        if let Some(way) = reads(source)
            && !listed.contains_key(&*source.path)
        {
            wrong.push(format!("{}: {way}, without a listed reason", source.path));
        }
    }
    for (path, reason) in listed {
        let source = sources.iter().find(|it| it.path == path);
        if source.is_none_or(|it| reads(it).is_none()) {
            wrong.push(format!("{path}: listed ({reason}), but does not read it any more"));
        }
    }
    wrong
}

#[test]
fn the_clock_of_this_machine_is_read_for_these_reasons_only() {
    let sources = sources(&["src"]);
    let why = "findings must not depend on the clock of this machine; list the reason in this file";
    assert_none(&differences(&sources, &ASKS_DATE, &DATE), why);
    assert_none(&differences(&sources, &MEASURES, &STOPWATCH), why);
}

#[test]
fn a_new_reader_of_the_clock_is_seen_and_so_is_an_old_reason() {
    let listed = [("src/b.rs", "a reason")];
    let reader = "let soon = chrono::Utc::\n    now() + minute;";
    for (a, b, hits) in [
        ("", reader, 0),
        (reader, reader, 1),
        (reader, "", 2),
        ("", "#[cfg(test)] mod tests { fn f() { Utc::now(); } }", 1),
        ("// not Utc::now()\nlet now = cluster.clock();", reader, 0),
        ("let age = UNIX_EPOCH.elapsed();", reader, 1),
        ("let now = stamp.unwrap_or_else(Utc::now);", reader, 1),
    ] {
        let sources = [Source::new("src/a.rs", a), Source::new("src/b.rs", b)];
        let wrong = differences(&sources, &ASKS_DATE, &listed);
        assert_eq!(wrong.len(), hits, "{a} {b}: {wrong:?}");
    }
    assert_eq!(differences(&[], &ASKS_DATE, &listed).len(), 1);
}
