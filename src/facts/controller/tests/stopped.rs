//! Controllers that were at work a moment ago, and are not any more.

use super::*;

const IMAGE: &str = "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0";
const MINUTE: i64 = 60;
const LEASE: &str = "disk-csi-example-com";

fn own() -> Sidecars {
    sidecars(IMAGE, &["--drivername=disk.csi.example.com"])
}

/// With these arguments besides its name.
fn with_args(args: &[&str]) -> Sidecars {
    let mut own = own();
    own.containers[0].args = args.iter().map(|it| Text::from(*it)).collect();
    own
}

fn held(seconds: i64) -> Row {
    lease(LEASE, "storage", ago(seconds), Some("a"))
}

/// It wrote to a volume so many seconds ago.
fn wrote(seconds: i64) -> Row {
    let Row::Volume(mut written) = csi_volume(DRIVER) else { unreachable!("it makes a volume") };
    written.metadata.managers = [FieldOwner {
        field: ManagedField::Finalizer("f".into()),
        manager: "csi-provisioner".into(),
        time: Some(ago(seconds)),
    }]
    .into();
    Row::Volume(written)
}

fn emitted(host: &str, seconds: i64) -> Row {
    event(&format!("{DRIVER}_{host}_0d9e5b6c-0000-4000-8000-000000000000"), seconds)
}

fn judged(rows: Vec<Row>, blind: &[Kind], settings: &Settings) -> ControllerState {
    let cluster = cluster([csi_volume(DRIVER)].into_iter().chain(rows), blind);
    state_of(&cluster, settings, ControllerRole::Provisioner, DRIVER)
}

#[test]
fn an_expired_lease_beats_an_older_act_and_a_newer_act_beats_the_lease() {
    let registered = || registered(DRIVER);
    for (rows, expected) in [
        // Seen: scaled to zero 11 minutes ago.
        (vec![held(11 * MINUTE), wrote(12 * MINUTE)], Liveness::Unknown),
        (vec![held(11 * MINUTE), emitted("host", 12 * MINUTE)], Liveness::Unknown),
        // While the Lease was valid, an act shows no more than the Lease.
        (vec![held(11 * MINUTE), wrote(11 * MINUTE - 45)], Liveness::Unknown),
        (vec![held(11 * MINUTE), wrote(11 * MINUTE - 46)], Liveness::Alive),
        // Leader election was switched off, and the Lease remained.
        (vec![held(9 * DAY), emitted("host", 12 * MINUTE)], Liveness::Alive),
        // Released: what it did before is history as well.
        (
            vec![lease(LEASE, "storage", ago(11 * MINUTE), None), wrote(12 * MINUTE)],
            Liveness::Unknown,
        ),
        (vec![lease(LEASE, "storage", ago(-DAY), None), wrote(12 * MINUTE)], Liveness::Alive),
        (vec![wrote(12 * MINUTE)], Liveness::Alive),
    ] {
        let case = format!("{rows:?}");
        let rows = rows.into_iter().chain([registered()]).collect();
        let state = judged(rows, &[], &Settings::default());
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
    }
}

#[test]
fn of_all_leases_of_a_name_the_youngest_counts() {
    let old = || lease(LEASE, "before", ago(9 * DAY), Some("a"));
    for (rows, liveness, stopped) in [
        (vec![old(), held(5)], Liveness::Alive, None),
        (
            vec![old(), held(11 * MINUTE), wrote(12 * MINUTE)],
            Liveness::Unknown,
            Some("lease/storage/disk-csi-example-com was not renewed since 2027-01-15T07:49:00Z"),
        ),
        // It was released properly: that it is not held proves nothing.
        (vec![old(), lease(LEASE, "storage", ago(5), None)], Liveness::Unknown, None),
    ] {
        let case = format!("{rows:?}");
        let state = judged(rows, &[], &Settings::default());
        assert_eq!(state.liveness, liveness, "{case}: {state:?}");
        assert_eq!(state.stopped.as_deref(), stopped, "{case}: {state:?}");
    }
    let state = judged(vec![held(11 * MINUTE)], &[Kind::Lease], &Settings::default());
    assert_eq!(state.unseen.map(|(kind, _)| kind), Some(Kind::Lease));
}

#[test]
fn without_replicas_and_pods_its_last_acts_are_history() {
    let scaled = |replicas| workload(Kind::Deployment, replicas, own());
    for (rows, blind, expected) in [
        (vec![scaled(0), wrote(11 * MINUTE)], &[][..], Liveness::Unknown),
        (vec![scaled(0), emitted("host", 11 * MINUTE)], &[], Liveness::Unknown),
        (vec![scaled(1), wrote(11 * MINUTE)], &[], Liveness::Alive),
        (vec![scaled(0), wrote(11 * MINUTE)], &[Kind::Pod], Liveness::Alive),
        (vec![scaled(0), wrote(11 * MINUTE)], &[Kind::DaemonSet], Liveness::Alive),
        (vec![scaled(0), pod(false, own()), wrote(11 * MINUTE)], &[], Liveness::Alive),
    ] {
        let case = format!("{rows:?} {blind:?}");
        let state = judged(rows, blind, &Settings::default());
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
        if expected == Liveness::Unknown {
            let stopped = "deploy/storage/controller has no replicas";
            assert_eq!(state.stopped.as_deref(), Some(stopped), "{case}");
            assert_eq!(state.because, stopped, "{case}");
        }
    }
}

#[test]
fn an_event_of_a_pod_that_does_not_exist_any_more_is_history() {
    let scaled = |kind| workload(kind, 1, own());
    for (kind, host, pods, expected) in [
        (Kind::Deployment, "controller-7d9f8c6b5d-x2k4z", vec![], Liveness::Unknown),
        (Kind::StatefulSet, "controller-0", vec![], Liveness::Unknown),
        (Kind::StatefulSet, "controller-0", vec![pod(false, own())], Liveness::Alive),
        (Kind::DaemonSet, "controller-x2k4z", vec![], Liveness::Unknown),
        // A machine, as seen from a pod with the network of its host.
        (Kind::Deployment, "node-1", vec![], Liveness::Alive),
        (Kind::Deployment, "controller-plane", vec![], Liveness::Alive),
        (Kind::Deployment, "other-7d9f8c6b5d-x2k4z", vec![], Liveness::Alive),
    ] {
        let rows = pods.into_iter().chain([scaled(kind), emitted(host, MINUTE)]);
        let rows: Vec<_> = rows.collect();
        let state = judged(rows.clone(), &[], &Settings::default());
        assert_eq!(state.liveness, expected, "{kind} {host}: {state:?}");
        let blind = judged(rows, &[Kind::Pod], &Settings::default());
        assert_eq!(blind.liveness, Liveness::Alive, "{kind} {host}: {blind:?}");
    }
}

#[test]
fn the_word_decides_when_nothing_fresh_speaks_against_it() {
    let other = || pod(true, sidecars(IMAGE, &[]));
    for (rows, expected, objection) in [
        // Seen: uninstalled, and still called alive.
        (vec![held(11 * MINUTE), wrote(12 * MINUTE), registered(DRIVER)], Liveness::Absent, ""),
        (vec![registered(DRIVER), on_a_node(DRIVER)], Liveness::Absent, ""),
        // It may be scaled up again.
        (
            vec![workload(Kind::Deployment, 0, own()), wrote(12 * MINUTE)],
            Liveness::Unknown,
            "deploy/storage/controller would run it, 0 replicas, although --driver-absent is given",
        ),
        (vec![held(5)], Liveness::Alive, "has not expired"),
        (vec![held(-DAY)], Liveness::Unknown, "may be in the future"),
        (vec![held(11 * MINUTE), wrote(MINUTE)], Liveness::Alive, "wrote"),
        (vec![pod(true, own())], Liveness::Alive, "running and ready"),
        (vec![pod(false, own())], Liveness::Unknown, "controller-0 may run it"),
        (vec![other()], Liveness::Unknown, "controller-0 may run it"),
        (vec![workload(Kind::Deployment, 1, own())], Liveness::Unknown, "1 replicas"),
        // Out of sight, as a control plane may hide it: wait for an hour.
        (vec![wrote(12 * MINUTE)], Liveness::Unknown, "it wrote to one of its volumes at"),
        (vec![wrote(61 * MINUTE)], Liveness::Absent, ""),
    ] {
        let case = format!("{rows:?}");
        let state = judged(rows, &[], &declaring(DRIVER));
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
        assert!(state.because.contains(objection), "{case}: {state:?}");
    }
}

/// Unknown is never absence.
#[test]
fn the_word_decides_nothing_while_something_was_not_read() {
    for blind in [Kind::Lease, Kind::Pod, Kind::Deployment, Kind::Event, Kind::CsiDriver] {
        let rows = vec![held(11 * MINUTE), wrote(12 * MINUTE)];
        let state = judged(rows, &[blind], &declaring(DRIVER));
        assert_eq!(state.liveness, Liveness::Unknown, "{blind}: {state:?}");
        assert_eq!(state.expired_lease, None, "{blind}");
    }
}

#[test]
fn an_absence_that_rests_on_an_expired_lease_says_so() {
    let state = judged(vec![held(11 * MINUTE)], &[], &declaring(DRIVER));
    assert_eq!(state.expired_lease, Some(Duration::from_secs(15)), "{state:?}");
    for rows in [vec![], vec![lease(LEASE, "storage", ago(11 * MINUTE), None)]] {
        let state = judged(rows, &[], &declaring(DRIVER));
        assert_eq!((state.liveness, state.expired_lease), (Liveness::Absent, None), "{state:?}");
    }
    let undeclared = judged(vec![held(11 * MINUTE)], &[], &Settings::default());
    assert_eq!(undeclared.expired_lease, None);
}

#[test]
fn a_ready_pod_that_waits_for_a_lease_is_no_life() {
    let on = "--leader-election";
    for (args, rows, blind, expected) in [
        (&[][..], vec![], &[][..], Liveness::Alive),
        (&["--leader-election=false"], vec![], &[], Liveness::Alive),
        (&[on, "--leader-election=false"], vec![], &[], Liveness::Alive),
        (&[on], vec![held(5)], &[], Liveness::Alive),
        (&[on], vec![held(11 * MINUTE)], &[], Liveness::Unknown),
        (&[on], vec![], &[], Liveness::Unknown),
        (&["--leader-election=true"], vec![], &[], Liveness::Unknown),
        (&["-leader-election"], vec![], &[], Liveness::Unknown),
        (&["--enable-leader-election"], vec![], &[], Liveness::Unknown),
        (&["--leader-election=$(ELECT)"], vec![], &[], Liveness::Unknown),
        (&["--leader-election-namespace=x"], vec![], &[], Liveness::Alive),
        (&[], vec![held(11 * MINUTE)], &[], Liveness::Alive),
        (&[], vec![], &[Kind::Lease], Liveness::Alive),
        (&[on], vec![], &[Kind::Lease], Liveness::Unknown),
        // What it does shows that it is at work, whatever it waits for.
        (&[on], vec![held(11 * MINUTE), wrote(MINUTE)], &[], Liveness::Alive),
    ] {
        let case = format!("{args:?} {rows:?} {blind:?}");
        let rows = rows.into_iter().chain([pod(true, with_args(args))]).collect();
        let state = judged(rows, blind, &Settings::default());
        assert_eq!(state.liveness, expected, "{case}: {state:?}");
        let unread = !blind.is_empty() && expected == Liveness::Unknown;
        assert_eq!(state.unseen.is_some(), unread, "{case}");
    }
}

#[test]
fn a_lease_of_somebody_elses_dump_is_old_only_beside_others() {
    use crate::model::LeaseMoment::{Alone, Beside, Clock};
    let expired = Some("was not renewed since");
    for (read, renewed, expected) in [
        (Clock, 5, (Liveness::Alive, None)),
        (Clock, 600, (Liveness::Unknown, expired)),
        // The list was taken ten minutes before the newest time in the dump.
        (Beside(ago(598)), 600, (Liveness::Alive, None)),
        (Beside(ago(500)), 600, (Liveness::Unknown, expired)),
        // Beside one that ended long before, and where all ended days ago.
        (Beside(ago(90_000)), 600, (Liveness::Unknown, None)),
        (Beside(ago(90_000)), 90_000, (Liveness::Unknown, expired)),
        (Alone, 600, (Liveness::Unknown, None)),
        (Alone, 5, (Liveness::Alive, None)),
    ] {
        let Row::Lease(mut row) = lease("disk-csi-example-com", "storage", ago(renewed), Some("a"))
        else {
            unreachable!("it makes a Lease")
        };
        row.read = read;
        let cluster = cluster([csi_volume(DRIVER), Row::Lease(row)], &[]);
        let state = state_of(&cluster, &Settings::default(), ControllerRole::Provisioner, DRIVER);
        let stopped = state.stopped.is_some();
        assert_eq!((state.liveness, stopped), (expected.0, expected.1.is_some()), "{read:?}");
    }
}
