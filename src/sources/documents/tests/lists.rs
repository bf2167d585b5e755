//! Tests of what a list proves, and what it does not prove for another; and of the time of a dump that
//! does not say when it was taken.

use serde_json::json;

use super::kinds::{Form, both, gap, is_seen_in, list, object, read_as};
use super::*;
use crate::model::{Answer, Question, parse_time};

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
        gap(intake, Kind::Pod).is_some_and(|it| it == "the dump contains only namespace a, b")
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
fn an_empty_list_of_a_kind_in_namespaces_may_be_that_of_one() {
    let empty = list("PodList", &[]);
    let volumes = list("PersistentVolumeList", &[volume("v")]);
    in_every_form(&[("pods", empty.clone()), ("volumes", volumes)], |intake| {
        gap(intake, Kind::Pod).is_some_and(|it| it.contains("which may be that of one namespace"))
            && !is_seen_in(intake, Kind::Pod, "a")
            && gap(intake, Kind::PersistentVolume).is_none()
    });
    // Of a kind that is in no namespace it is that of all.
    in_every_form(&[("pods", empty.clone()), ("nodes", list("NodeList", &[]))], |intake| {
        gap(intake, Kind::Node).is_none()
    });
    // Nor does the answer to another question, or one that was cut.
    let partial = object("meta.k8s.io/v1", "PartialObjectMetadata", "a", "p");
    let mut page = list("PodList", &[pod("a", "p"), pod("b", "p")]);
    page["metadata"] = json!({"remainingItemCount": 99});
    let mut cut = pod("a", "p");
    cut["spec"] = json!(null);
    for pods in [list("PodList", &[partial]), page, list("PodList", &[cut, pod("b", "p")])] {
        in_every_form(&[("pods", pods), ("nodes", list("NodeList", &[]))], |intake| {
            gap(intake, Kind::Pod).is_some() && !is_seen_in(intake, Kind::Pod, "a")
        });
    }
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
    let text = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: PersistentVolume\n  metadata:\n    name: v\n  spec:\n    capacity: {storage: 1Gi}\nkind: List\nmetadata: {}";
    for end in ["", "\n", "\n# the end", "\n# the end\n", "\n...", "\n---", "\n---\n# nothing"] {
        for form in Form::ALL {
            let files = [("list.yaml", format!("{text}{end}"))];
            let (intake, _) = read_as(form, &files, &[]).expect("readable");
            assert_eq!(gap(&intake, Kind::PersistentVolume), None, "{form:?} {end:?}");
        }
    }
    let single = "apiVersion: v1\nkind: PersistentVolume\nspec:\n  capacity: {storage: 1Gi}\nmetadata:\n  name: v";
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

#[test]
fn a_dump_shows_more_than_rows() {
    let lease = |namespace: &str, name: &str, renewed: &str| {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"holderIdentity": "a", "renewTime": renewed}})
    };
    let node = |name: &str, kubelet: &str, labels: serde_json::Value| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"nodeInfo": {"kubeletVersion": kubelet}}})
    };
    let items = [
        lease("kube-system", "ebs-csi-aws-com", "2026-01-01T10:00:00.000000Z"),
        lease("kube-node-lease", "node-1", "2026-01-01T10:00:02.000000Z"),
        node("node-1", "v1.30.1", json!({})),
        node("node-2", "v1.31.0-eks-1", json!({})),
        node("node-3", "v1.19.10-vk-azure-aci-1.4", json!({})),
        node("node-4", "v1.18.0", json!({"type": "virtual-kubelet"})),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"},
            "data": {"password": "bm9uZQ=="}}),
        json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"name": "vm", "namespace": "shop"}, "spec": {"running": false,
            "template": {"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "disk"}}]}}}}),
    ];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let alone = lease("storage", "alone", "2026-01-01T10:00:00.000000Z");
    let alone = json!({"apiVersion": "v1", "kind": "List", "items": [alone]});
    let (intake, notes) = read_texts(&[&list.to_string(), &alone.to_string()]);
    let read: Vec<_> =
        intake.cluster.leases().map(|it| (it.metadata.name.to_string(), it.read)).collect();
    let latest = crate::model::parse_time("2026-01-01T10:00:02Z").expect("a time").expect("a time");
    assert_eq!(
        read,
        [
            ("ebs-csi-aws-com".to_owned(), crate::model::LeaseMoment::Beside(latest)),
            ("alone".to_owned(), crate::model::LeaseMoment::Alone),
        ]
    );
    let server = intake.cluster.server().expect("kubelets tell of it");
    let known = |minor| server.at_least(1, minor);
    assert_eq!([31, 32, 33, 34].map(known), [Some(true), None, None, Some(false)]);
    assert!(notes.details.iter().any(|it| it.contains("1.31 to 1.33")), "{:?}", notes.details);
    let answers = intake.cluster.answers();
    let secret = |name: &str| {
        let question = Question::SecretExists { namespace: "n".into(), name: name.into() };
        answers.get(&question).cloned()
    };
    assert_eq!((secret("s"), secret("t")), (Some(Answer::Yes), None));
    let users = answers.get(&Question::CustomUsers { namespace: "shop".into() });
    let Some(Answer::Users(users)) = users else { panic!("no users: {users:?}") };
    let named: Vec<_> = users.users.iter().flat_map(|it| &it.claims).map(|it| &*it.name).collect();
    assert_eq!(named, ["disk"]);
    assert!(!users.unlisted.is_empty(), "other kinds are not known");
}

#[test]
fn a_lease_of_a_time_that_has_not_come_makes_no_other_old() {
    let lease = |namespace: &str, name: &str, renewed: &str| {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"holderIdentity": "a", "renewTime": renewed}})
    };
    let time = |text: &str| crate::model::parse_time(text).expect("a time").expect("a time");
    let taken = time("2026-01-01T10:00:10Z");
    for odd in ["9999-01-01T00:00:00.000000Z", "2026-01-01T10:30:00.000000Z"] {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [
            lease("kube-system", "ebs-csi-aws-com", "2026-01-01T10:00:00.000000Z"),
            lease("kube-node-lease", "node-1", "2026-01-01T10:00:02.000000Z"),
            lease("apart", "ebs-csi-aws-com", odd),
        ]});
        let options = DumpOptions { taken_at: Some(taken), ..DumpOptions::default() };
        let mut intake = Intake::new(None);
        read(&[Input::Stdin], &mut list.to_string().as_bytes(), &options, &mut intake)
            .expect("readable");
        let read: Vec<_> = intake.cluster.leases().map(|it| it.read).collect();
        let latest = time("2026-01-01T10:00:02Z");
        assert_eq!(read, [crate::model::LeaseMoment::Beside(latest); 2], "{odd}");
    }
}

fn time(text: &str) -> Option<Time> {
    parse_time(text).expect("a time")
}

/// Reads objects, and returns the time as of which they are judged, and the note about it.
fn taken(objects: &[serde_json::Value], now: Option<Time>) -> (Option<Time>, bool, String) {
    let text = list("List", objects).to_string();
    let options = DumpOptions { now, ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    let notes =
        read(&[Input::Stdin], &mut text.as_bytes(), &options, &mut intake).expect("readable");
    let note = notes.notes.iter().find(|note| note.contains("dump date unknown"));
    let (settings, facts) = (crate::model::Settings::default(), std::cell::RefCell::default());
    let cx = crate::cluster::Cx::new(&intake.cluster, &settings, &facts);
    let later = time("2027-01-01T00:00:00Z").expect("a time");
    let is_future = cx.is_future(later, std::time::Duration::ZERO);
    (intake.cluster.clock(), is_future, note.cloned().unwrap_or_default())
}

#[test]
fn a_dump_was_taken_no_earlier_than_the_newest_time_that_was_written_into_it() {
    let mut volume = object("v1", "PersistentVolume", "", "v");
    volume["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    volume["status"] =
        json!({"phase": "Released", "lastPhaseTransitionTime": "2026-01-02T00:00:00Z"});
    let mut attachment = object("storage.k8s.io/v1", "VolumeAttachment", "", "a");
    attachment["spec"] = json!({"attacher": "d", "source": {"persistentVolumeName": "v"}});
    attachment["status"] =
        json!({"detachError": {"time": "2026-01-04T00:00:00Z", "message": "busy"}});
    let mut pod = object("v1", "Pod", "a", "p");
    pod["metadata"]["deletionTimestamp"] = "2026-01-05T00:01:00Z".into();
    pod["metadata"]["deletionGracePeriodSeconds"] = 60.into();
    let mut secret = object("v1", "Secret", "a", "s");
    secret["metadata"]["creationTimestamp"] = "2026-01-09T00:00:00Z".into();

    let volumes = [volume.clone(), secret];
    assert_eq!(taken(&volumes, None).0, time("2026-01-02T00:00:00Z"));
    assert_eq!(taken(&[volume.clone(), attachment.clone()], None).0, time("2026-01-04T00:00:00Z"));
    let all = [volume.clone(), attachment, pod];
    let (clock, is_future, note) = taken(&all, time("2026-02-01T00:00:00Z"));
    // It may have been later: nothing lies in its future.
    assert_eq!((clock, is_future), (time("2026-01-05T00:00:00Z"), false));
    assert!(note.contains("ages are minimums, counted to 2026-01-05T00:00:00Z"), "{note}");
    // What has not happened by now did not: it moves no clock.
    let (clock, is_future, note) = taken(&all, time("2026-01-03T00:00:00Z"));
    assert_eq!((clock, is_future), (time("2026-01-02T00:00:00Z"), false));
    assert!(note.contains("the newest time in it"), "{note}");
    let (clock, is_future, note) = taken(&all, time("2025-01-03T00:00:00Z"));
    assert_eq!((clock, is_future), (time("2025-01-03T00:00:00Z"), false));
    assert!(note.contains("the time of this machine"), "{note}");
}

#[test]
fn a_time_that_is_told_is_taken_at_its_word() {
    let mut volume = object("v1", "PersistentVolume", "", "v");
    volume["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    let text = list("List", &[volume]).to_string();
    let taken_at = time("2025-01-01T00:00:00Z");
    let options =
        DumpOptions { taken_at, now: time("2024-01-01T00:00:00Z"), ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    read(&[Input::Stdin], &mut text.as_bytes(), &options, &mut intake).expect("readable");
    assert_eq!(intake.cluster.clock(), taken_at);
    let (settings, facts) = (crate::model::Settings::default(), std::cell::RefCell::default());
    let cx = crate::cluster::Cx::new(&intake.cluster, &settings, &facts);
    assert!(cx.is_future(time("2025-01-02T00:00:00Z").expect("a time"), std::time::Duration::ZERO));
}
