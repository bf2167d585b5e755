//! Tests of what a list proves, and what it does not prove for another.

use serde_json::json;

use super::forms::{Form, both, gap, is_seen_in, list, object, read_as};
use super::*;

/// Lists as files of one of the two ways of writing.
fn files(
    writing: usize,
    lists: &[(&'static str, serde_json::Value)],
) -> Vec<(&'static str, String)> {
    let written = lists.iter().map(|(name, list)| (*name, both(list)[writing].clone()));
    written
        .map(|(name, (end, text))| (&*Box::leak(format!("{name}.{end}").into_boxed_str()), text))
        .collect()
}

/// Reads the same lists in every form and way of writing.
#[track_caller]
fn in_every_form(lists: &[(&'static str, serde_json::Value)], holds: impl Fn(&Intake) -> bool) {
    for writing in 0..2 {
        for form in Form::ALL {
            let (intake, _) = read_as(form, &files(writing, lists), &[]).expect("readable");
            let gaps: Vec<_> = intake.cluster.gaps().collect();
            assert!(holds(&intake), "{form:?} {writing}: {gaps:#?}");
        }
    }
}

fn pod(namespace: &str, name: &str) -> serde_json::Value {
    object("v1", "Pod", namespace, name)
}

fn claim(namespace: &str, name: &str) -> serde_json::Value {
    object("v1", "PersistentVolumeClaim", namespace, name)
}

fn volume(name: &str) -> serde_json::Value {
    object("v1", "PersistentVolume", "", name)
}

#[test]
fn what_kubectl_gets_from_all_namespaces_is_seen_whole() {
    let items = [volume("v"), claim("a", "c"), claim("b", "c"), pod("a", "p"), pod("b", "p")];
    in_every_form(&[("all", list("List", &items))], |intake| {
        [Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod]
            .iter()
            .all(|kind| gap(intake, *kind).is_none())
            && gap(intake, Kind::Node).is_some_and(|it| it.starts_with("the dump contains none"))
    });
}

#[test]
fn lists_of_single_namespaces_prove_no_more_together_than_apart() {
    let base = list("List", &[volume("v"), claim("a", "c"), claim("b", "c")]);
    let [a, b] = ["a", "b"].map(|it| list("List", &[pod(it, "one"), pod(it, "two")]));
    in_every_form(&[("base", base), ("a", a), ("b", b)], |intake| {
        gap(intake, Kind::Pod)
            .is_some_and(|it| it.starts_with("the dump contains only namespace a, b;"))
            && is_seen_in(intake, Kind::Pod, "a")
            && is_seen_in(intake, Kind::Pod, "b")
            && !is_seen_in(intake, Kind::Pod, "c")
            && gap(intake, Kind::PersistentVolumeClaim).is_none()
            && gap(intake, Kind::PersistentVolume).is_none()
    });
}

#[test]
fn a_whole_list_beside_one_of_a_namespace_is_whole() {
    let all = list("PodList", &[pod("a", "p"), pod("b", "p")]);
    let one = list("PodList", &[pod("a", "p")]);
    in_every_form(&[("all", all), ("one", one)], |intake| gap(intake, Kind::Pod).is_none());
}

#[test]
fn a_page_proves_nothing_and_neither_does_the_last_one() {
    let mut page = list("PodList", &[pod("a", "one"), pod("b", "one")]);
    page["metadata"] = json!({"resourceVersion": "7", "continue": "x"});
    let mut last = list("PodList", &[pod("b", "two"), pod("c", "two")]);
    last["metadata"] = json!({"resourceVersion": "7"});
    let nodes = list("NodeList", &[object("v1", "Node", "", "n")]);
    let told = |intake: &Intake| {
        gap(intake, Kind::Pod)
            .is_some_and(|it| it.contains("no list of them that is certainly whole"))
    };
    in_every_form(&[("1", page.clone()), ("nodes", nodes.clone())], |intake| {
        told(intake) && gap(intake, Kind::Node).is_none()
    });
    for order in [[page.clone(), last.clone()], [last, page.clone()]] {
        let [first, second] = order;
        in_every_form(&[("1", first), ("2", second), ("nodes", nodes.clone())], |intake| {
            told(intake) && !is_seen_in(intake, Kind::Pod, "c") && gap(intake, Kind::Node).is_none()
        });
    }
    // It may be a page of anything.
    let mut empty = list("List", &[]);
    empty["metadata"] = json!({"continue": "x"});
    in_every_form(&[("1", empty), ("nodes", nodes)], |intake| gap(intake, Kind::Node).is_some());
}

#[test]
fn an_empty_list_of_a_kind_is_of_all_namespaces_only_if_no_other_is_of_one() {
    let empty = list("PodList", &[]);
    let volumes = list("PersistentVolumeList", &[volume("v")]);
    in_every_form(&[("pods", empty.clone()), ("volumes", volumes)], |intake| {
        gap(intake, Kind::Pod).is_none() && gap(intake, Kind::PersistentVolume).is_none()
    });
    let one = list("PodList", &[pod("a", "p")]);
    in_every_form(&[("pods-a", one), ("pods-b", empty)], |intake| {
        gap(intake, Kind::Pod).is_some() && is_seen_in(intake, Kind::Pod, "a")
    });
    // Of another group.
    let mut jobs = list("JobList", &[]);
    jobs["apiVersion"] = "batch.volcano.sh/v1alpha1".into();
    let volumes = list("PersistentVolumeList", &[volume("v")]);
    in_every_form(&[("jobs", jobs), ("volumes", volumes)], |intake| {
        gap(intake, Kind::Job).is_some()
    });
}

#[test]
fn the_place_of_a_list_tells_its_namespace() {
    let files = |folder: &str| {
        let pods = both(&list("PodList", &[]))[0].1.clone();
        let volumes = both(&list("PersistentVolumeList", &[volume("v")]))[0].1.clone();
        let [a, b, pv] = match folder {
            "must-gather" => [
                "x/namespaces/a/core/pods.json",
                "x/namespaces/b/core/pods.json",
                "x/cluster-scoped-resources/core/persistentvolumes.json",
            ],
            "troubleshoot" => [
                "x/cluster-resources/pods/a.json",
                "x/cluster-resources/pods/b.json",
                "x/cluster-resources/pvs.json",
            ],
            _ => [
                "x/resources/ns/a/core_v1_pods.json",
                "x/resources/ns/b/core_v1_pods.json",
                "x/resources/cluster/core_v1_persistentvolumes.json",
            ],
        };
        [(a, pods.clone()), (b, pods), (pv, volumes)]
    };
    for folder in ["must-gather", "troubleshoot", "sonobuoy"] {
        for form in Form::FOUND {
            let (intake, _) = read_as(form, &files(folder), &[]).expect("readable");
            assert!(
                gap(&intake, Kind::Pod).is_some_and(|it| it.contains("namespace a, b")),
                "{folder}"
            );
            assert!(is_seen_in(&intake, Kind::Pod, "a") && !is_seen_in(&intake, Kind::Pod, "c"));
            assert_eq!(gap(&intake, Kind::PersistentVolume), None, "{folder}");
        }
    }
}

#[test]
fn the_end_of_a_yaml_file_is_an_end() {
    let text = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: PersistentVolume\n  metadata:\n    name: v\nkind: List\nmetadata: {}";
    for end in ["", "\n", "\n# the end", "\n# the end\n", "\n...", "\n---", "\n---\n# nothing"] {
        for form in Form::ALL {
            let files = [("list.yaml", format!("{text}{end}"))];
            let (intake, _) = read_as(form, &files, &[]).expect("readable");
            assert_eq!(gap(&intake, Kind::PersistentVolume), None, "{form:?} {end:?}");
        }
    }
    let single = "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: v";
    let files = [("v.yaml", single.to_owned())];
    let (intake, _) = read_as(Form::Files, &files, &[Kind::PersistentVolume]).expect("readable");
    assert_eq!((intake.cluster.count().0, gap(&intake, Kind::PersistentVolume)), (1, None));
    // What breaks off is a document that does not parse.
    for text in [format!("{single}\n  labels: {{"), format!("{single}\n  labels: \"a")] {
        let files = [("v.yaml", text), ("w.yaml", single.to_owned())];
        let (intake, _) =
            read_as(Form::Files, &files, &[Kind::PersistentVolume]).expect("readable");
        assert!(gap(&intake, Kind::PersistentVolume).is_some());
    }
}
