use super::*;
use crate::model::Retention;

fn uid(text: &str) -> Option<Uid> {
    Uid::parse(text)
}

/// `set`, `pod` (`web-1`), `old set`, `old pod`, `other pod`, `app`, with `*` for a controller.
fn reference(text: &str) -> OwnerReference {
    let (text, controller) = text.strip_suffix('*').map_or((text, false), |it| (it, true));
    let (api_version, kind, name, uid) = match text {
        "set" => ("apps/v1", "StatefulSet", "web", "set"),
        "old set" => ("apps/v1", "StatefulSet", "web", "old-set"),
        "set without uid" => ("apps/v1", "StatefulSet", "web", ""),
        "set under another version" => ("apps/v1beta2", "StatefulSet", "web", "set"),
        "pod" => ("v1", "Pod", "web-1", "pod"),
        "old pod" => ("v1", "Pod", "web-1", "old-pod"),
        "other pod" => ("v1", "Pod", "web-2", "other-pod"),
        "app" => ("example.com/v1", "App", "web", "app"),
        other => panic!("what is {other}?"),
    };
    OwnerReference {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: Uid::parse(uid),
        controller,
        blocks_deletion: controller,
    }
}

fn references(text: &str) -> Vec<OwnerReference> {
    text.split(", ").filter(|it| !it.is_empty()).map(reference).collect()
}

fn retention(letter: char) -> Retention {
    match letter {
        'R' => Retention::Retain,
        'D' => Retention::Delete,
        _ => Retention::Other("Archive".into()),
    }
}

/// `DR`: `whenDeleted` is Delete, `whenScaled` is Retain; `--`: no policy.
fn policy(text: &str) -> Option<RetentionPolicy> {
    let mut letters = text.chars().map(retention);
    (text != "--").then(|| RetentionPolicy {
        when_deleted: letters.next().expect("because there are two"),
        when_scaled: letters.next().expect("because there are two"),
    })
}

fn next(before: &str, written: &str, condemned: bool, form: ReferenceForm) -> ReferenceUpdate {
    let (set, pod) = (uid("set"), uid("pod"));
    let set = OwnerIdentity { name: "web", uid: set.as_ref() };
    let pod = OwnerIdentity { name: "web-1", uid: pod.as_ref() };
    let place = if condemned { ClaimPod::Condemned(pod) } else { ClaimPod::InRange(pod) };
    expected_ownership(&references(before), set, policy(written).as_ref(), &place, form)
}

#[test]
fn the_matrix_of_policies() {
    for (written, in_range, condemned) in [
        ("--", "", ""),
        ("RR", "", ""),
        ("DR", "set*", "set*"),
        ("RD", "", "pod*"),
        ("DD", "set*", "pod*"),
        ("D?", "", ""),
        ("?D", "", ""),
        ("R?", "", ""),
        ("??", "", ""),
    ] {
        for before in ["", "set*", "pod*", "set*, pod*", "set", "pod", "set, pod*"] {
            for (is_condemned, wanted) in [(false, in_range), (true, condemned)] {
                let next = next(before, written, is_condemned, ReferenceForm::Controller);
                let expected = if before == wanted {
                    ReferenceUpdate::Leaves(NoUpdateReason::Matches)
                } else {
                    ReferenceUpdate::Writes(references(wanted))
                };
                assert_eq!(next, expected, "{written} {before:?}, condemned: {is_condemned}");
            }
        }
    }
}

#[test]
fn references_of_others_stay_where_they_are() {
    for (before, after) in [
        ("app", "app, set*"),
        ("app, set", "app, set*"),
        ("set, app", "app, set*"),
        ("other pod, pod*", "other pod, set*"),
        ("app, other pod", "app, other pod, set*"),
    ] {
        let next = next(before, "DR", false, ReferenceForm::Controller);
        assert_eq!(next, ReferenceUpdate::Writes(references(after)), "{before}");
    }
    for before in ["app", "app*", "other pod*"] {
        let kept = next(before, "RR", false, ReferenceForm::Controller);
        assert_eq!(kept, ReferenceUpdate::Leaves(NoUpdateReason::Matches), "{before}");
        let taken_off = next(&format!("set*, {before}"), "RR", true, ReferenceForm::Controller);
        assert_eq!(taken_off, ReferenceUpdate::Writes(references(before)), "{before}");
    }
}

#[test]
fn a_foreign_controller_makes_the_controller_take_its_own_references_off() {
    for policy in ["DR", "RD", "DD", "?R", "D?"] {
        for condemned in [false, true] {
            for (before, after) in [
                ("app*", None),
                ("other pod*", None),
                ("app*, set", Some("app*")),
                ("pod, app*", Some("app*")),
                ("set, other pod*, pod", Some("other pod*")),
            ] {
                let expected = after
                    .map_or(ReferenceUpdate::Leaves(NoUpdateReason::ForeignController), |after| {
                        ReferenceUpdate::Writes(references(after))
                    });
                let next = next(before, policy, condemned, ReferenceForm::Controller);
                assert_eq!(next, expected, "{policy} {before}, condemned: {condemned}");
            }
        }
    }
}

#[test]
fn claims_of_earlier_sets_and_pods_are_left_alone() {
    for policy in ["--", "RR", "DR", "RD", "DD", "?D"] {
        for condemned in [false, true] {
            for before in [
                "old set*",
                "old set",
                "old pod*",
                "old pod",
                "set without uid*",
                "old set, set*",
                "app*, old pod",
                "old set, pod*",
            ] {
                let next = next(before, policy, condemned, ReferenceForm::Controller);
                assert_eq!(
                    next,
                    ReferenceUpdate::Leaves(NoUpdateReason::Stale),
                    "{policy} {before}"
                );
            }
        }
    }
    // Only the first reference of a name is checked; a later one counts as another controller.
    let second = next("set*, old set", "DR", false, ReferenceForm::Controller);
    assert_eq!(second, ReferenceUpdate::Writes(Vec::new()));
    assert_eq!(
        next("set*, old set", "RR", false, ReferenceForm::Controller),
        ReferenceUpdate::Writes(Vec::new())
    );
}

#[test]
fn a_reference_of_another_version_is_nobodys() {
    let next =
        |policy| next("set under another version*", policy, false, ReferenceForm::Controller);
    assert_eq!(next("RR"), ReferenceUpdate::Leaves(NoUpdateReason::Unrecognised));
    // With the right uid it is an owner, and an unexpected controller.
    assert_eq!(next("DR"), ReferenceUpdate::Leaves(NoUpdateReason::Unrecognised));
}

#[test]
fn old_servers_write_plain_references_and_respect_nobody() {
    for (before, policy, condemned, expected) in [
        ("", "DR", false, Some("set")),
        ("set", "DR", false, None),
        ("set*", "DR", true, None),
        ("set", "DD", true, Some("pod")),
        ("old set", "DR", false, Some("old set, set")),
        ("app*", "DR", false, Some("app*, set")),
        ("set, app*", "RR", false, Some("app*")),
    ] {
        let expected = expected.map_or(ReferenceUpdate::Leaves(NoUpdateReason::Matches), |it| {
            ReferenceUpdate::Writes(references(it))
        });
        assert_eq!(
            next(before, policy, condemned, ReferenceForm::Plain),
            expected,
            "{policy} {before}"
        );
    }
}

#[test]
fn nobody_visits_a_claim_without_a_pod_and_the_controller_waits_for_one_that_goes() {
    let set = uid("set");
    let set = OwnerIdentity { name: "web", uid: set.as_ref() };
    let pod = OwnerIdentity { name: "web-1", uid: None };
    let expected = |before: &str, written: &str, place: &ClaimPod| {
        expected_ownership(
            &references(before),
            set,
            policy(written).as_ref(),
            place,
            ReferenceForm::Controller,
        )
    };
    for (before, written) in [("set*", "RR"), ("", "DD"), ("app*", "DR"), ("old set", "RR")] {
        let podless = expected(before, written, &ClaimPod::Podless);
        assert_eq!(podless, ReferenceUpdate::Leaves(NoUpdateReason::Podless));
        let leaving = expected(before, written, &ClaimPod::Leaving(pod));
        assert_eq!(leaving, ReferenceUpdate::Leaves(NoUpdateReason::Waits));
    }
}

#[test]
fn the_form_follows_the_servers_version() {
    let form = |version| ReferenceForm::of(Some(&Server { version, ..Server::default() }));
    assert_eq!(form(Some((1, 36))), ReferenceForm::Controller);
    assert_eq!(form(Some((1, 31))), ReferenceForm::Controller);
    assert_eq!(form(Some((1, 30))), ReferenceForm::Unknown);
    assert_eq!(form(Some((1, 29))), ReferenceForm::Plain);
    assert_eq!(form(None), ReferenceForm::Unknown);
    assert_eq!(ReferenceForm::of(None), ReferenceForm::Unknown);
}
