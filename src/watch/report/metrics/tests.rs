use std::time::Duration;

use super::*;
use crate::apply::Moment;
use crate::journal::{Outcome, Term};
use crate::watch::acting::{AnnouncementCounts, Work};
use crate::watch::leader::Standing;

fn metrics() -> Metrics {
    let counts = Arc::new(SinkCounts::default());
    counts.sent(2);
    Metrics::new(Leadership::alone(), vec![("events", counts)])
}

fn totals(findings: &[(&'static str, Severity, Option<&str>, usize)]) -> Totals {
    let mut totals = Totals::default();
    for (rule, severity, namespace, count) in findings {
        let place = (*rule, *severity, namespace.map(Text::from));
        totals.by_namespace.insert(place, *count);
    }
    totals
}

/// The samples of a family.
fn samples(text: &str, family: &MetricFamily) -> Vec<String> {
    let name = family.full_name();
    let lines = text.lines().filter_map(|line| line.strip_prefix(&name));
    lines.filter(|it| it.starts_with([' ', '{'])).map(str::to_owned).collect()
}

#[test]
fn namespaces_have_labels_only_when_asked_for_and_not_too_many() {
    let metrics = metrics();
    let high = Severity::High;
    let found = [
        ("pv-failed", high, None, 1),
        ("pv-failed", high, Some("c"), 2),
        ("pv-failed", high, Some("d"), 4),
    ];
    metrics.total(totals(&found));
    let all = || samples(&metrics.text(), &FINDINGS);
    assert_eq!(all(), [r#"{id="pv-failed",severity="high"} 7.0"#]);
    metrics.label_namespaces(NonZeroUsize::new(2));
    assert_eq!(
        all(),
        [
            r#"{id="pv-failed",severity="high"} 1.0"#,
            r#"{id="pv-failed",severity="high",namespace="c"} 2.0"#,
            r#"{id="pv-failed",severity="high",namespace="d"} 4.0"#,
        ]
    );
    // Those that have a label keep it.
    let more = [("pv-failed", high, Some("a"), 8), found[1], found[2]];
    metrics.total(totals(&more));
    assert_eq!(
        all(),
        [
            r#"{id="pv-failed",severity="high",namespace="c"} 2.0"#,
            r#"{id="pv-failed",severity="high",namespace="d"} 4.0"#,
            r#"{id="pv-failed",severity="high",namespace="other"} 8.0"#,
        ]
    );
}

/// Bytes in namespaces: Released, leaking and unused ones.
fn bytes(storage: &[(Option<&str>, [u64; 3])]) -> Totals {
    let of = |(namespace, bytes): &(Option<&str>, [u64; 3])| {
        let [released, leaking, unused] = *bytes;
        let namespace = namespace.map(Text::from);
        let pool = StoragePool { namespace, class: Some("fast".into()), ..StoragePool::default() };
        let mut totals = StorageTotals::default();
        totals.add(Waste::Released, released);
        totals.add(Waste::Leaking, leaking);
        totals.add(Waste::Unused, unused);
        (pool, totals)
    };
    Totals { storage: storage.iter().map(of).collect(), ..Totals::default() }
}

#[test]
fn bytes_have_the_labels_of_findings() {
    let metrics = metrics();
    let all = || [&RELEASED, &LEAKING, &UNUSED].map(|it| samples(&metrics.text(), it));
    let series = |samples: &[&str]| -> Vec<String> {
        samples.iter().map(|it| format!(r#"{{storageclass="fast"{it}.0"#)).collect()
    };
    metrics.total(bytes(&[
        (None, [1, 0, 0]),
        (Some("c"), [2, 0, 16]),
        (Some("d"), [4, 8, 32]),
        (Some("e"), [0, 64, 0]),
    ]));
    assert_eq!(all(), [series(&["} 7"]), series(&["} 72"]), series(&["} 48"])]);
    metrics.label_namespaces(NonZeroUsize::new(1));
    let (e, other) = (r#",namespace="e"} "#, r#",namespace="other"} "#);
    let of = |name: &str, bytes: u64| format!("{name}{bytes}");
    assert_eq!(
        all(),
        [
            series(&["} 1", &of(other, 6)]),
            series(&[&of(e, 64), &of(other, 8)]),
            series(&[&of(other, 48)]),
        ]
    );
    // A namespace without findings keeps its label while there are bytes in it, and no longer.
    metrics.total(bytes(&[(Some("a"), [128, 0, 0]), (Some("e"), [0, 0, 16])]));
    let unused = series(&[&of(e, 16)]);
    assert_eq!(all(), [series(&[&of(other, 128)]), Vec::new(), unused]);
    metrics.total(bytes(&[(Some("a"), [128, 0, 0])]));
    assert_eq!(all()[0], series(&[r#",namespace="a"} 128"#]));
}

#[test]
fn labels_go_to_the_namespaces_with_the_most_bytes_and_then_findings() {
    let metrics = metrics();
    let labelled = || -> Vec<_> { metrics.numbers().labelled.iter().cloned().collect() };
    let high = Severity::High;
    let totals = Totals {
        by_namespace: totals(&[
            ("pv-failed", high, Some("a"), 1),
            ("pvc-lost", high, Some("a"), 1),
            ("pv-failed", high, Some("b"), 3),
        ])
        .by_namespace,
        ..bytes(&[(Some("c"), [1, 0, 0]), (Some("z"), [1, 1, 1])])
    };
    metrics.total(totals.clone());
    for (most, expected) in [(1, "z"), (2, "c z"), (3, "b c z"), (9, "a b c z"), (2, "c z")] {
        metrics.label_namespaces(NonZeroUsize::new(most));
        assert_eq!(labelled().join(" "), expected, "{most}");
    }
    // A label is kept, also where more bytes are elsewhere by now.
    metrics.total(Totals {
        storage: bytes(&[(Some("a"), [9, 0, 0]), (Some("c"), [1, 0, 0]), (Some("z"), [1, 0, 0])])
            .storage,
        ..totals
    });
    assert_eq!(labelled().join(" "), "c z");
}

#[test]
fn names_of_a_dump_that_read_the_same_are_added_up() {
    let namespaces = [Some("a\r"), Some("a\\r")];
    let mut totals = bytes(&namespaces.map(|it| (it, [1, 2, 4])));
    let escaped = |it: &str| crate::model::escape_control(it).into_owned();
    assert_eq!(escaped("a\r"), escaped("a\\r"), "the premise");
    totals.by_namespace =
        namespaces.map(|it| (("pv-failed", Severity::High, it.map(Text::from)), 1)).into();
    let measured =
        MeasuredCluster { name: String::new(), totals, gaps: BTreeSet::new(), taken_at: None };
    let text = report_metrics(vec![measured]);
    for (family, number) in
        [(&RELEASED, "2.0"), (&LEAKING, "4.0"), (&UNUSED, "8.0"), (&FINDINGS, "2.0")]
    {
        let samples = samples(&text, family);
        assert!(samples.len() == 1 && samples[0].ends_with(&format!(" {number}")), "{samples:?}");
    }
}

#[test]
fn whether_it_leads_is_asked_when_the_metrics_are_and_nobody_who_is_alone_says_so() {
    let leader = |metrics: &Metrics| samples(&metrics.text(), &LEADER);
    assert!(leader(&metrics()).is_empty());
    let (standing, leadership) = Leadership::of_test(Standing::Unknown);
    let metrics = Metrics::new(leadership, Vec::new());
    let says = |number: &str| [format!(r#"{{lease_namespace="a",lease="watch"}} {number}"#)];
    assert_eq!(leader(&metrics), says("0.0"));
    let hour = Duration::from_secs(3600);
    let leads = |renewed| {
        let term = Term { lease: "u".to_owned(), transitions: 1 };
        let (unattended, restarted) = (None, None);
        standing.send_replace(Standing::Leads {
            term,
            renewed,
            lasts: hour,
            unattended,
            restarted,
        });
    };
    let now = Moment::now();
    leads(now);
    assert_eq!(leader(&metrics), says("1.0"));
    // It gives the Lease back, or could not renew it; the loop does nothing meanwhile.
    // The machine was suspended, and its stopwatch with it.
    leads(now.suspended(hour));
    assert_eq!(leader(&metrics), says("0.0"));
    leads(now);
    standing.send_replace(Standing::Stands { leader: None, failure: None });
    assert_eq!(leader(&metrics), says("0.0"));
}

#[test]
fn both_texts_say_the_same() {
    let metrics = metrics();
    metrics.judged(Some(Duration::from_millis(3)), [Kind::Pod].into());
    metrics.worked(5, 1, 2);
    let acting = ActingCounts::default();
    acting.count(Work::Rescue, Outcome::Done);
    acting.announced(AnnouncementCounts { announced: 1, due: 2, vetoed: 3 });
    acting.pause(true);
    acting.break_circuit(false);
    acting.changed(Some(Utc::now()));
    metrics.act(&acting);
    let pool = StoragePool {
        class: Some("fast \"\\\n".into()),
        driver: Some("d".into()),
        ..StoragePool::default()
    };
    let oldest_released = Some(Utc::now());
    let mut storage = StorageTotals::default();
    storage.oldest_released = oldest_released;
    storage.add(Waste::Released, 7);
    metrics.total(Totals { storage: [(pool, storage)].into(), ..Totals::default() });
    let (open, older) = (metrics.open_metrics(), metrics.text());
    assert!(open.ends_with("# EOF\n") && !older.contains("# EOF"));
    assert!(open.contains("# TYPE kubectl_storage_defects counter\n"), "{open}");
    assert!(older.contains("# TYPE kubectl_storage_defects_total counter\n"), "{older}");
    for text in [&open, &older] {
        assert!(text.contains("kubectl_storage_defects_total 2\n"), "{text}");
        assert_eq!(samples(text, &GAP), [r#"{resource="pods"} 1.0"#]);
        assert_eq!(samples(text, &RELEASED), [r#"{storageclass="fast \"\\\n",driver="d"} 7.0"#]);
        assert!(samples(text, &LEAKING).is_empty());
        assert_eq!(samples(text, &REPORTS)[0], r#"{sink="events",outcome="sent"} 2"#);
        assert!(text.contains("kubectl_storage_judgement_duration_seconds_count 1\n"));
        assert_eq!(samples(text, &CHANGES), [r#"{reconciler="rescue",outcome="done"} 1"#]);
        for line in ["announced 1.0", "due 2.0", "vetoed 3.0", "paused 1.0", "breaker_open 0.0"] {
            assert!(text.contains(&format!("kubectl_storage_watch_{line}\n")), "{text}");
        }
    }
    for family in FAMILIES.iter().filter(|it| it.labels.is_empty()) {
        assert!(older.contains(&format!("# HELP {} ", family.full_name())), "{older}");
    }
}

/// The table of metrics in the documentation.
fn table() -> String {
    let mut table = "| metric | type | labels | what it says |\n|---|---|---|---|\n".to_owned();
    for family in FAMILIES {
        let labels: Vec<_> = family.labels.iter().map(|it| format!("`{it}`")).collect();
        let (name, kind) = (family.full_name(), family.kind.as_str());
        let line = format!("| `{name}` | {kind} | {} | {} |\n", labels.join(", "), family.help);
        table.push_str(&line);
    }
    table
}

#[test]
fn the_documentation_lists_every_metric() {
    const BEGIN: &str = "<!-- metrics: generated -->\n";
    const END: &str = "<!-- end of metrics -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/watch-reports.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("where the table begins");
    let (_, after) = rest.split_once(END).expect("where the table ends");
    let expected = format!("{before}{BEGIN}{}{END}{after}", table());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &expected).expect("the page");
    } else {
        assert_eq!(page, expected, "UPDATE=1 writes it");
    }
}

#[test]
fn names_follow_the_conventions() {
    for family in FAMILIES {
        let lower = |it: &str| it.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(lower(family.name) && family.labels.iter().all(|it| lower(it)), "{family:?}");
        assert!(!family.name.ends_with("_total"), "{family:?}");
        assert!(family.help.ends_with('.') && !family.help.contains('\\'), "{family:?}");
    }
}
