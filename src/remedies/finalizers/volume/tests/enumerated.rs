//! Steps that must never be planned, for every volume, controller and flag.

use super::*;

fn subsets(of: &[&'static str]) -> Vec<Vec<&'static str>> {
    let all = 1_usize << of.len();
    let chosen = |mask: usize| {
        of.iter().enumerate().filter(move |(bit, _)| mask & (1 << bit) != 0).map(|(_, it)| *it)
    };
    (0..all).map(|mask| chosen(mask).collect()).collect()
}

#[test]
fn nothing_is_ever_planned_that_could_leak_or_that_somebody_else_would_do() {
    let policies = [
        ReclaimPolicy::Retain,
        ReclaimPolicy::Delete,
        ReclaimPolicy::Recycle,
        ReclaimPolicy::Other("Later".into()),
    ];
    let phases = [Phase::Pending, Phase::Available, Phase::Bound, Phase::Released, Phase::Failed];
    let origins = [
        Origin::Csi,
        Origin::StaticCsi,
        Origin::Migrated,
        Origin::InTree,
        Origin::External,
        Origin::StaticInTree,
    ];
    let mut planned = 0_usize;
    for driver in [Driver::Alive, Driver::Unknown, Driver::Unseen, Driver::Absent] {
        for minor in [32, 36] {
            for (accept_leak, rolled_back) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                let base =
                    Case { driver, attacher: driver, minor, accept_leak, rolled_back, ..case() };
                let cluster = cluster(&base);
                let (settings, known) = (settings(&base), RefCell::default());
                let cx = Cx::new(&cluster, &settings, &known);
                for origin in origins {
                    let attacher = match origin {
                        Origin::Migrated => ATTACHER_OF_MIGRATED,
                        _ => ATTACHER_OF_DRIVER,
                    };
                    let known = [EXTERNAL_PROVISIONER, IN_TREE, PV_PROTECTION, attacher];
                    for (policy, phase) in policies
                        .iter()
                        .flat_map(|policy| phases.iter().map(move |phase| (policy, phase)))
                    {
                        for finalizers in subsets(&known) {
                            for terminating in [false, true] {
                                let case = Case {
                                    origin,
                                    policy: policy.clone(),
                                    phase: phase.clone(),
                                    terminating,
                                    finalizers: finalizers.clone(),
                                    ..base.clone()
                                };
                                planned += hold(&cx, &case);
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(planned > 1000, "a table in which nothing is planned proves nothing: {planned}");
}

/// Asserts the invariants for one row, and returns how many remedies propose something.
fn hold(cx: &Cx, case: &Case) -> usize {
    let has = |finalizer: &str| case.finalizers.contains(&finalizer);
    let csi = matches!(case.origin, Origin::Csi | Origin::StaticCsi | Origin::Migrated);
    let in_tree = case.origin == Origin::InTree;
    let attacher = |it: &&&str| it.starts_with("external-attacher/");
    let attached_by = case.finalizers.iter().find(attacher).copied().unwrap_or("none");
    let mut planned = 0;
    for (remedy, removed) in
        [(&EXTERNAL, EXTERNAL_PROVISIONER), (&IN_TREE_FINALIZER, IN_TREE), (&ATTACHER, attached_by)]
    {
        let says = ask(cx, remedy, case);
        if case.driver == Driver::Unseen && remedy.id == EXTERNAL.id && csi && has(removed) {
            assert_eq!(says, Says::DidNotSee, "{case:?}");
        }
        if says != Says::Plans {
            continue;
        }
        planned += 1;
        let id = remedy.id;
        assert!(has(removed), "{id} {case:?}: there is nothing to remove");
        assert!(csi || in_tree, "{id} {case:?}: nobody knows whose finalizer that is");
        let waits_for_driver = remedy.id == ATTACHER.id || remedy.id == EXTERNAL.id && csi;
        if waits_for_driver {
            assert_eq!(case.driver, Driver::Absent, "{id} {case:?}: its controller may act");
        }
        if in_tree {
            assert!(case.rolled_back && case.minor == 32, "{id} {case:?}: its controller acts");
        }
        let guarded = [EXTERNAL_PROVISIONER, IN_TREE].iter().any(|it| *it != removed && has(it));
        if case.terminating && case.policy == ReclaimPolicy::Delete && !guarded {
            assert!(case.accept_leak, "{id} {case:?}: leaks");
        }
        if case.terminating && case.phase == Phase::Bound {
            let held = case.finalizers.iter().any(|it| *it != removed);
            assert!(held, "{id} {case:?}: its claim would be lost");
        }
        if matches!(case.policy, ReclaimPolicy::Other(_)) {
            let harmless = !case.terminating || guarded || case.accept_leak;
            assert!(harmless, "{id} {case:?}: who knows what that means");
        }
    }
    planned
}
