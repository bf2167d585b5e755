//! `watch` with a policy that has Reports written, with the definitions of `OpenReports`.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::reporting::Reporting;
use super::{PAST, Watcher, bind, released};
use crate::support::{Cluster, Mark, Options, Run, Scenario, eventually, program};

const NAME: &str = "kubectl-storage-watch";

/// Installs the definitions as they were released.
fn install(cluster: &Cluster) {
    for plural in ["reports", "clusterreports"] {
        let file = program(&format!("../share/open-reports-crds/openreports.io_{plural}.yaml"));
        cluster.kubectl(&["apply", "-f", &file.display().to_string()]);
        let definition = format!("crd/{plural}.openreports.io");
        cluster.kubectl(&["wait", "--for=condition=established", &definition, "--timeout=60s"]);
    }
}

/// The results of a report: ids, with what became of each, and objects.
fn results(cluster: &Cluster, namespace: Option<&str>) -> Option<Vec<String>> {
    let kind = match namespace {
        Some(_) => "reports.openreports.io",
        None => "clusterreports.openreports.io",
    };
    let shown = cluster.kubectl(&[
        "get",
        kind,
        NAME,
        "-n",
        namespace.unwrap_or("default"),
        "-o",
        "json",
        "--ignore-not-found",
    ]);
    let shown: Value = serde_json::from_str(&shown).ok()?;
    let text = |it: &'_ Value| it.as_str().unwrap_or_default().to_owned();
    let result = |it: &Value| {
        let object = &it["resources"][0];
        format!("{} {} {}", text(&it["policy"]), text(&it["result"]), text(&object["name"]))
    };
    Some(shown["results"].as_array()?.iter().map(result).collect())
}

/// What was asked to be written of reports: verb, resource and namespace. Nothing else was, but questions.
fn writes(cluster: &Cluster, since: Mark) -> Vec<[String; 3]> {
    let of = |it: Value| {
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let object = &it["objectRef"];
        if it["verb"] == "delete" {
            let wanted = &it["requestObject"]["preconditions"];
            assert!(wanted["uid"].is_string() && wanted["resourceVersion"].is_string(), "{it:#}");
        }
        [text(&it["verb"]), text(&object["resource"]), text(&object["namespace"])]
    };
    let is_write = |it: &Value| !["get", "list", "watch"].iter().any(|verb| it["verb"] == *verb);
    let all = cluster.requests_since(since).into_iter().filter(is_write);
    let (of_reports, others): (Vec<_>, Vec<_>) =
        all.partition(|it| it["objectRef"]["apiGroup"] == "openreports.io");
    for it in others {
        let resource = it["objectRef"]["resource"].as_str().unwrap_or_default();
        assert!(resource.ends_with("reviews"), "{it:#}");
    }
    of_reports.into_iter().map(of).collect()
}

#[test]
#[ignore = "extended suite: takes minutes"]
fn findings_become_reports_and_what_is_over_is_deleted() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let (on, other) = (Scenario::on(&cluster), Scenario::part(&cluster, "-other"));
    let first = released(&on, "first");
    let reporting = Reporting::new("{openReports: {severity: medium}}");
    let path = reporting.policy().display().to_string();
    // With exactly the rights that are printed.
    let role = Run::of(&["rbac", "watch", "-f", &path]).go().stdout;
    cluster.try_kubectl(&["create", "-f", "-"], &role).expect("because it is a role");
    bind(&cluster, NAME, "user-1");
    let before = cluster.mark();
    let watcher = Watcher::by_policy(&cluster.kubeconfig_of("user-1"), &reporting.policy());

    // Without the definitions it says so, once, and everything else goes on.
    watcher.tells("appeared", PAST, &first);
    watcher.says("does not serve openreports.io/v1alpha1");
    let second = released(&on, "second");
    watcher.tells("appeared", PAST, &second);
    assert_eq!(writes(&cluster, before), Vec::<[String; 3]>::new());
    install(&cluster);
    let of = |volume: &str| format!("{PAST} warn {}", volume.trim_start_matches("pv/"));
    let both = || {
        let listed = results(&cluster, None).unwrap_or_default();
        listed.contains(&of(&first)) && listed.contains(&of(&second))
    };
    eventually("there is a report of the cluster", both);
    // Those of another name are not within its reach.
    let may = |verb, object: &str| {
        let asked = ["auth", "can-i", verb, object, "-A", "--as", "user-1"];
        cluster.try_kubectl(&asked, "").is_ok()
    };
    for plural in ["reports", "clusterreports"] {
        for verb in ["update", "delete"] {
            let of = |name: &str| format!("{plural}.openreports.io/{name}");
            assert!(may(verb, &of(NAME)) && !may(verb, &of("another")), "{verb} {plural}");
        }
    }
    assert_eq!(watcher.said().matches("does not serve").count(), 1, "{}", watcher.said());
    let written = writes(&cluster, before);
    assert_eq!(written[0], ["create", "clusterreports", ""]);
    // The second volume may have been found after that.
    assert!(written[1..].iter().all(|it| it[..2] == ["update", "clusterreports"]), "{written:?}");

    // A claim that has lost its volume is told in its namespace; and in another one where another policy has the name.
    cluster.create(&json!({
        "apiVersion": "openreports.io/v1alpha1", "kind": "Report", "source": "another",
        "metadata": {
            "name": NAME, "namespace": other.name,
            "labels": {"app.kubernetes.io/managed-by": "kubectl-storage"},
            "annotations": {"storage.kubectl.dev/written-for": format!("elsewhere/{NAME}")},
        },
    }));
    let before = cluster.mark();
    for on in [&on, &other] {
        on.create(&json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "lost", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {
                "volumeName": "nowhere", "storageClassName": "none", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }));
    }
    let lost = || results(&cluster, Some(&on.name));
    eventually("there is a report of the namespace", || {
        lost().is_some_and(|it| it.contains(&"pvc-lost fail lost".to_owned()))
    });
    watcher.says("is another client's");
    let of_others = cluster.kubectl(&[
        "get",
        "reports.openreports.io",
        NAME,
        "-n",
        &other.name,
        "-o",
        "jsonpath={.source}",
    ]);
    assert_eq!(of_others, "another");
    let created: Vec<_> =
        writes(&cluster, before).into_iter().filter(|it| it[2] == on.name).collect();
    assert_eq!(created, [["create", "reports", &on.name].map(str::to_owned)]);

    // What says the same is not written again: that of the cluster was not, and now nothing is.
    other.delete("pvc/lost");
    watcher.tells("cleared", "pvc-lost", &format!("pvc/{}/lost", other.name));
    // What was found of the claims since their report was made is written once more.
    sleep(Duration::from_secs(35));
    let quiet = cluster.mark();
    sleep(Duration::from_secs(65));
    assert_eq!(writes(&cluster, quiet), Vec::<[String; 3]>::new());

    // Nothing is found there any more.
    let before = cluster.mark();
    on.delete("pvc/lost");
    eventually("the report of the namespace is deleted", || lost().is_none());
    let deleted: Vec<_> =
        writes(&cluster, before).into_iter().filter(|it| it[0] == "delete").collect();
    assert_eq!(deleted, [["delete", "reports", &on.name].map(str::to_owned)]);
    assert!(both(), "that of the cluster stands");
    watcher.terminate();
}
