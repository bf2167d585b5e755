//! What a policy says of acting, and what contradicts it.

use std::time::Duration;

use super::super::acting::{ReclaimTimes, ReconcilerMode, ReconcilerName};
use super::{parse, wrong};
use crate::model::Threshold;
use crate::rules;
use crate::watch::policy::RecordPlaces;

const HOUR: u64 = 3600;

#[test]
fn nothing_acts_unless_the_policy_says_so() {
    for text in ["", "reconcilers: {}", "reconcilers: {rescue: {}, reclaim: {mode: \"off\"}}"] {
        let policy = parse(text).expect(text);
        assert!(policy.reconcilers.is_off() && !policy.reconcilers.acts(), "{text}");
        assert_eq!(policy.reconcilers.reclaim.times(), None, "{text}");
    }
    let policy = parse("reconcilers: {rescue: {mode: report}}").expect("a policy");
    assert!(!policy.reconcilers.is_off() && !policy.reconcilers.acts());
    assert_eq!(policy.cluster_journal(), None);
    let bounds = policy.bounds;
    assert_eq!(
        (bounds.changes_per_run.get(), bounds.changes_per_hour.get()),
        (10, 20),
        "{bounds:?}"
    );
    assert_eq!(bounds.unchanged_judgements.get(), 3);
    assert_eq!(bounds.judgement_interval, Duration::from_secs(5));
    assert_eq!(bounds.newly_eligible_percent.get(), 10);
}

#[test]
fn everything_can_be_said_of_acting() {
    let policy = parse(
        "leaderElection: {}
reconcilers:
  rescue: {mode: act}
  retention: {mode: report}
  finalizers: {mode: off}
  reclaim: {mode: act, olderThan: 30d, grace: 72h}
bounds: {changesPerRun: 1, changesPerHour: 4294967295, unchangedJudgements: 2, judgementInterval: 1m, newlyEligiblePercent: 100}
clusterJournal: storage-system
",
    )
    .expect("a policy");
    let reconcilers = &policy.reconcilers;
    let modes = ReconcilerName::ALL.map(|it| reconcilers.mode(it).name());
    assert_eq!(modes, ["act", "report", "off", "act"]);
    let acting: Vec<_> =
        reconcilers.of_mode(ReconcilerMode::Act).map(ReconcilerName::name).collect();
    assert_eq!(acting, ["rescue", "reclaim"]);
    let (day, times) = (24 * HOUR, reconcilers.reclaim.times());
    let expected = ReclaimTimes {
        older_than: Duration::from_secs(30 * day),
        grace: Duration::from_secs(3 * day),
    };
    assert_eq!(times, Some(expected));
    assert_eq!(policy.bounds.changes_per_run.get(), 1);
    assert_eq!(policy.bounds.changes_per_hour.get(), 4_294_967_295);
    assert_eq!(policy.bounds.unchanged_judgements.get(), 2);
    assert_eq!(policy.bounds.judgement_interval, Duration::from_secs(60));
    assert_eq!(policy.bounds.newly_eligible_percent.get(), 100);
    assert_eq!(policy.cluster_journal().as_deref(), Some("storage-system"));
    // The times stay in the file while it is off, and are ignored.
    let off = parse("reconcilers: {reclaim: {mode: off, olderThan: 30d, grace: 72h}}");
    assert_eq!(off.map(|it| it.reconcilers.reclaim.times()), Ok(None));
}

#[test]
fn reconcilers_have_names_and_answer_findings_that_exist() {
    for name in ReconcilerName::ALL {
        assert_eq!(ReconcilerName::parse(name.name()), Some(name));
        assert!(!name.answers().is_empty());
        for id in name.answers() {
            assert!(rules::find(id).is_some(), "{name}: {id}");
        }
    }
    assert_eq!(ReconcilerName::parse("gc"), None);
}

#[test]
fn what_is_wrong_with_acting_is_told_with_its_place() {
    for (text, expected) in [
        (
            "reconcilers: {rescu: {mode: act}}",
            &["1:15: unknown key \"rescu\"; did you mean \"rescue\"?"][..],
        ),
        ("reconcilers:", &["1:12: expected keys and values, found nothing"]),
        ("reconcilers: {rescue: act}", &["1:23: expected keys and values, found \"act\""]),
        (
            "reconcilers: {rescue: {mode: acts}}",
            &["1:30: unknown value \"acts\"; did you mean \"act\"?"],
        ),
        (
            "reconcilers: {rescue: {mode: on}}",
            &["1:30: unknown value \"on\"; known are off, report, act"],
        ),
        (
            "reconcilers: {rescue: {mode: false}}",
            &[
                "1:30: expected off, report or act, found false: a tool with YAML 1.1 may have made \
               it of off; write \"off\" in quotes",
            ],
        ),
        (
            "reconcilers: {rescue: {mode: true}}",
            &[
                "1:30: expected off, report or act, found true: nothing acts without being told so; \
               write report or act",
            ],
        ),
        ("reconcilers: {rescue: {mode: }}", &["1:28: expected off, report or act, found nothing"]),
        (
            "reconcilers: {rescue: {mode: report, grace: 1h}}",
            &["1:38: unknown key \"grace\"; expected \"mode\""],
        ),
        (
            "reconcilers: {reclaim: {mode: report, grace: 1h}}",
            &["1:24: the key \"olderThan\" is missing"],
        ),
        (
            "reconcilers: {reclaim: {mode: report, olderThan: 1d}}",
            &["1:24: the key \"grace\" is missing"],
        ),
        (
            "reconcilers: {reclaim: {mode: report, olderThan: 30, grace: 500ms}}",
            &[
                "1:50: \"30\" has no unit: write 30d, 30h, 30m or 30s",
                "1:61: a grace period is at least 1s",
            ],
        ),
        (
            "reconcilers: {reclaim: {mode: report, olderThan: 1ms, grace: 11y}}",
            &[
                "1:50: the age of a volume is at least 1s",
                "1:62: a grace period is at most ten years",
            ],
        ),
        (
            "reconcilers: {reclaim: {mode: report, olderThan: 1d, grac: 72h}}",
            &["1:54: unknown key \"grac\"; did you mean \"grace\"?"],
        ),
    ] {
        assert_eq!(wrong(text), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_with_bounds_is_told_with_its_place() {
    const ON: &str = "reconcilers: {rescue: {mode: report}}\n";
    for (text, expected) in [
        (
            "bounds: {changesPerRun: 0}",
            "zero would keep every reconciler from acting: write mode: report instead",
        ),
        ("bounds: {changesPerHour: -1}", "-1 is negative"),
        ("bounds: {changesPerHour: 4294967296}", "4294967296 is more than 4294967295"),
        (
            "bounds: {unchangedJudgements: 1.5}",
            "expected a whole number, found floating point `1.5`",
        ),
        ("bounds: {unchangedJudgements: many}", "expected a whole number, found \"many\""),
        (
            "bounds: {newlyEligiblePercent: 0}",
            "zero would keep the first volume from being reclaimed: write mode: report instead",
        ),
        ("bounds: {newlyEligiblePercent: 101}", "101 is more than 100 percent"),
        ("bounds: {newlyEligiblePercent: -5}", "-5 is negative"),
        ("bounds: {newlyEligiblePercent: 10%}", "expected a whole number, found \"10%\""),
        (
            "bounds: {changesPerRn: 1}",
            "unknown key \"changesPerRn\"; did you mean \"changesPerRun\" or \"changesPerHour\"?",
        ),
        ("bounds: {judgementInterval: 5}", "\"5\" has no unit: write 5d, 5h, 5m or 5s"),
        ("bounds: {judgementInterval: 100ms}", "an interval is at least 1s"),
        (
            "bounds: {unchangedJudgements: 61}",
            "so many judgements take 5m or more, and nothing is done by a look that is so old",
        ),
        (
            "bounds: {judgementInterval: 150s}",
            "so many judgements take 5m or more, and nothing is done by a look that is so old",
        ),
        ("bounds:", "expected keys and values, found nothing"),
        ("clusterJournal: Storage", "\"Storage\" is not a valid name of a namespace"),
    ] {
        let told = wrong(&format!("{ON}{text}"));
        assert!(matches!(&*told, [one] if one.ends_with(&format!(": {expected}"))), "{told:?}");
        assert!(told[0].starts_with("2:"), "{told:?}");
    }
}

#[test]
fn what_contradicts_acting_is_told_with_its_place() {
    for (text, expected) in [
        (
            "reconcilers: {rescue: {mode: act}}",
            &["1:30: act requires leaderElection: only one process may act at a time"][..],
        ),
        ("bounds: {changesPerRun: 1}", &["1:9: \"bounds\" is of no use: every reconciler is off"]),
        (
            "reconcilers: {rescue: {mode: off}, reclaim: {}}\nclusterJournal: a",
            &["2:17: \"clusterJournal\" is of no use: every reconciler is off"],
        ),
        (
            "rules: {off: [pv-failed, pvc-doomed-by-gc]}\nreconcilers: {rescue: {mode: report}}",
            &["1:26: \"pvc-doomed-by-gc\" is off, but reconcilers.rescue answers it"],
        ),
        (
            "reconcilers: {retention: {mode: report}}\nrules: {only: [sts-stale-ownerref]}",
            &["2:15: \"only\" lacks what reconcilers.retention answers: \
               sts-ownerref-contradicts-retain, sts-claim-owned-by-pod-in-range"],
        ),
        (
            "reconcilers: {finalizers: {mode: report}}\nrules: {off: [va-node-missing]}",
            &["2:15: \"va-node-missing\" is off, but reconcilers.finalizers answers it"],
        ),
        (
            "reconcilers: {rescue: {mode: report, includeRecreated: true}}",
            &[
                "1:38: no reconciler takes --include-recreated: what needs it is done by a person who \
               looks at the object",
            ],
        ),
        (
            "reconcilers: {backend-verified: true}\naccept_leak: true",
            &[
                "1:15: no reconciler takes --backend-verified: what needs it is done by a person \
                 who looks at the object",
                "2:1: no reconciler takes --accept-leak: what needs it is done by a person who \
                 looks at the object",
            ],
        ),
        // And everything at once.
        (
            "rules: {off: [pvc-terminating-in-use, pvc-lots]}\nreconcilers:\n  rescue: {mode: act}\n  \
             reclaim: {mode: act, olderThan: 1d, grace: 0s, destroyData: true}",
            &[
                "1:15: \"pvc-terminating-in-use\" is off, but reconcilers.rescue answers it",
                "1:39: unknown finding \"pvc-lots\"; did you mean \"pvc-lost\"?",
                "3:18: act requires leaderElection: only one process may act at a time",
                "4:19: act requires leaderElection: only one process may act at a time",
                "4:46: zero is not an age to act on",
                "4:50: no reconciler takes --destroy-data: what needs it is done by a person who \
                 looks at the object",
            ],
        ),
    ] {
        assert_eq!(wrong(text), expected, "{text}");
    }
    for bounds in ["unchangedJudgements: 60", "judgementInterval: 149s", "unchangedJudgements: 1"] {
        let fine = format!("reconcilers: {{rescue: {{mode: report}}}}\nbounds: {{{bounds}}}");
        assert!(parse(&fine).is_ok(), "{bounds}");
    }
    // What a reconciler that is off would answer may be hidden, and what no reconciler answers too.
    let fine = "rules: {only: [pv-released-past-threshold, pv-reclaim-announced]}\nleaderElection: {}\n\
                reconcilers: {reclaim: {mode: act, olderThan: 1d, grace: 1s}, rescue: {mode: off}}";
    assert!(parse(fine).is_ok(), "{:?}", parse(fine));
}

#[test]
fn what_is_hardly_meant_is_said() {
    let doubts = |rest: &str| parse(rest).expect(rest).doubts();
    let usual = "reconcilers: {reclaim: {mode: report, olderThan: 30d, grace: 72h}}\n";
    assert_eq!(doubts(usual), [""; 0]);
    assert_eq!(doubts("reconcilers: {reclaim: {mode: off, olderThan: 1s, grace: 1s}}"), [""; 0]);
    let short = "thresholds: {older-than: 60d}\n\
                 reconcilers: {reclaim: {mode: report, olderThan: 1s, grace: 59m}}";
    assert_eq!(
        doubts(short),
        [
            "reconcilers.reclaim.grace is 59m: a veto takes people at least 1h",
            "thresholds.older-than is 60d, but what reconcilers.reclaim announces is reported \
             before: after 1s",
        ]
    );
    let settings = parse(short).expect(short).settings();
    assert_eq!(settings.thresholds.get(Threshold::OlderThan), Duration::from_secs(1));
    let open = format!("{usual}bounds: {{newlyEligiblePercent: 100}}");
    assert_eq!(
        doubts(&open),
        ["bounds.newlyEligiblePercent is 100: the circuit breaker never opens"]
    );
}

/// The context, the policy and the Lease may name three namespaces: everybody looks for a record in the same one.
#[test]
fn one_function_says_where_the_records_of_a_policy_are() {
    let act = "reconcilers: {rescue: {mode: act}}\n";
    for (text, here, records, lease, pauses) in [
        ("leaderElection: {}\n", "pod", "pod", "pod", &["pod"][..]),
        (
            "leaderElection: {}\nclusterJournal: journal\n",
            "pod",
            "journal",
            "journal",
            &["journal", "pod"],
        ),
        (
            "leaderElection: {}\nclusterJournal: journal\n",
            "journal",
            "journal",
            "journal",
            &["journal"],
        ),
        (
            "leaderElection: {namespace: leases}\nclusterJournal: journal\n",
            "default",
            "journal",
            "leases",
            &["journal", "default"],
        ),
        ("leaderElection: {namespace: leases}\n", "default", "default", "leases", &["default"]),
    ] {
        let policy = parse(&format!("{act}{text}")).expect(text);
        let places = policy.places(here);
        let expected = (records.into(), lease.into(), pauses.iter().map(|&it| it.into()).collect());
        let RecordPlaces { records, lease, pauses } = places;
        assert_eq!((records, lease, pauses), expected, "{text} in {here}");
    }
}
