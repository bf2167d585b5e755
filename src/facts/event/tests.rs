//! Series of events.

use std::cell::RefCell;

use super::*;
use crate::{
    cluster::{Change, Cluster, Dirty, Reach},
    model::{ObjectKey, Row, Settings, Text, Uid, beginning, parse_time},
};

fn at(minute: i64) -> Time {
    let start = parse_time("2026-01-02T00:00:00Z").expect("it parses").expect("it is a time");
    start + chrono::Duration::minutes(minute)
}

fn about() -> ObjectRef {
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-1");
    ObjectRef { key, uid: Uid::parse("uid-1") }
}

fn event(name: usize, minute: i64, reason: &str, message: &str) -> Event {
    Event {
        namespace: "default".into(),
        name: format!("e{name}").into(),
        about: about().key,
        about_uid: about().uid,
        reason: reason.into(),
        message: message.into(),
        warning: true,
        component: "disk.example.com_csi-0_1".into(),
        count: 1,
        first_seen: None,
        last_seen: Some(at(minute)),
    }
}

fn with<T>(events: impl IntoIterator<Item = Event>, look: impl FnOnce(&Cx) -> T) -> T {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    for event in events {
        cluster.apply(Change::Seen(Row::Event(Box::new(event))), &mut dirty);
    }
    cluster.apply(Change::Whole(Reach::all(Kind::Event)), &mut dirty);
    let (settings, facts) = (Settings::default(), RefCell::default());
    look(&Cx::new(&cluster, &settings, &facts))
}

fn described(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    with(events, |cx| {
        let series = event_series(cx, &about()).expect("events were read");
        series.iter().map(EventSeries::describe_with_reason).collect()
    })
}

#[test]
fn ids_times_and_addresses_do_not_divide_a_series() {
    for (one, other, same) in [
        ("vol-0abc is in use", "vol-0abd is in use", true),
        (
            "request id: 6c1a5e0e-22ce-4d4e-8f5a-0a0f7f5e1d11",
            "request id: 0c1a5e0e-22ce-4d4e-8f5a-0a0f7f5e1d12",
            true,
        ),
        ("dial tcp 10.0.0.1:443: i/o timeout", "dial tcp 10.0.0.2:443: i/o timeout", true),
        ("dial tcp [fe80::1]:443: refused", "dial tcp [fe80::2]:443: refused", true),
        ("at 2026-01-02T00:00:00.123Z: busy", "at 2026-01-02T00:01:00.124Z: busy", true),
        ("waited 12 s", "waited 240 s", true),
        ("is in use", "does not exist", false),
        ("StatusCode=403", "StatusCode=404", false),
        ("exit status 1", "exit status 2", false),
        ("attached to node a", "attached to node b", false),
    ] {
        let folded = described([event(1, 1, "Failed", one), event(2, 2, "Failed", other)]);
        assert_eq!(folded.len(), if same { 1 } else { 2 }, "{one} / {other}: {folded:?}");
        assert!(folded[0].contains(other), "the newest message is shown: {folded:?}");
    }
}

#[test]
fn counts_and_times_are_summed() {
    let older = Event { count: 30, first_seen: Some(at(-60)), ..event(1, 5, "Failed", "no 1") };
    let restarted = Event {
        component: "disk.example.com_csi-1_2".into(),
        count: 7,
        first_seen: Some(at(6)),
        ..event(2, 9, "Failed", "no 2")
    };
    let other = event(3, 7, "Failed", "yes");
    let normal = Event { warning: false, ..event(4, 8, "Deleting", "no 3") };
    assert_eq!(
        described([older.clone(), restarted, other, normal]),
        [
            "Failed: no 2 (37 times, first 2026-01-01T23:00:00Z, last 2026-01-02T00:09:00Z)",
            "Deleting: no 3 (2026-01-02T00:08:00Z)",
            "Failed: yes (2026-01-02T00:07:00Z)",
        ]
    );
    let uncounted = Event { count: 0, last_seen: None, first_seen: None, ..older.clone() };
    assert_eq!(described([uncounted]), ["Failed: no 1"]);
    let silent = Event { message: "".into(), count: 2, first_seen: None, ..older.clone() };
    assert_eq!(described([silent]), ["Failed: <no message> (2 times, last 2026-01-02T00:05:00Z)"]);
    let namesake = Event { about_uid: Uid::parse("uid-2"), ..older };
    assert!(described([namesake]).is_empty(), "it is about an earlier object of that name");
}

#[test]
fn errors_are_those_of_responsible_components() {
    let by = |component: &str, warning: bool| Event {
        component: Text::from(component),
        warning,
        ..event(1, 1, "Failed", "no")
    };
    for (component, warning, shown) in [
        ("disk.example.com_csi-0_1", true, true),
        ("disk.example.com_csi-0_1", false, false),
        ("persistentvolume-controller", true, true),
        ("external-resizer disk.example.com", true, true),
        ("my-scheduler", true, true),
        ("", true, true),
        ("velero", true, false),
        ("kyverno-scan", true, false),
    ] {
        let found = with([by(component, warning)], |cx| {
            last_error(cx, &about()).expect("events were read").is_some()
        });
        assert_eq!(found, shown, "{component} {warning}");
    }
    for (component, shown) in [("a.example.com_h_1", true), ("b.example.com_h_1", false)] {
        assert_eq!(is_responsible(component, Some("a.example.com")), shown);
    }
    let (cluster, settings, facts) = (Cluster::default(), Settings::default(), RefCell::default());
    let unread = Cx::new(&cluster, &settings, &facts);
    assert!(last_error(&unread, &about()).is_err(), "events that were not read are no silence");
}

#[test]
fn thousands_of_long_messages_are_one_series() {
    let message = "ü\u{202e}\u{1b}[2J ".repeat(8 << 10);
    let events = (0_usize..10_000).map(|index| {
        let minute = i64::try_from(index).expect("it is small");
        event(index, minute, "Failed", &format!("{index} {}", beginning(&message, 4000)))
    });
    let brief = with(events, |cx| {
        let series = event_series(cx, &about()).expect("events were read");
        assert_eq!((series.len(), series[0].count), (1, 10_000));
        assert_eq!((series[0].first, series[0].last), (Some(at(0)), Some(at(9_999))));
        series[0].brief()
    });
    assert!(brief.chars().count() <= QUOTED && brief.starts_with("9999 "), "{brief}");
}
