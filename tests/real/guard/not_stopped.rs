//! What the guard says that it does not stop, it does not stop: each line of the list, on a cluster with all controllers.

use http::Method;
use serde_json::{Value, json};

use super::ask::{Actor, Asked, Asker, JSON, MERGE, Seen};
use super::world::{install, let_everybody, namespace, set};
use crate::support::{
    Cluster, Driver, DriverOptions, Options, PersistentVolume, claim, eventually,
};

const STRICT: &str = "/api/v1/namespaces/strict/persistentvolumeclaims";

struct World {
    cluster: Cluster,
    driver: Driver,
    asker: Asker,
}

impl World {
    /// Creates a claim, and returns its handle when it is bound.
    fn claim(&self, namespace: &str, name: &str, owner: Option<&Value>) -> String {
        let mut claim = claim(name, &self.driver.class_delete);
        claim["metadata"]["namespace"] = json!(namespace);
        if let Some(owner) = owner {
            let field = |it: &str| owner["metadata"][it].clone();
            claim["metadata"]["ownerReferences"] = json!([{
                "apiVersion": owner["apiVersion"], "kind": owner["kind"],
                "name": field("name"), "uid": field("uid"),
            }]);
        }
        self.cluster.create(&claim);
        self.handle(namespace, name)
    }

    fn handle(&self, namespace: &str, name: &str) -> String {
        let object = format!("pvc/{name}");
        let bound = || {
            let live = self.cluster.get(namespace, &object)?;
            (live["status"]["phase"] == "Bound").then(|| live["spec"]["volumeName"].clone())
        };
        eventually("the claim is bound", || bound().is_some());
        let volume = bound().expect("it is bound");
        let volume = format!("pv/{}", volume.as_str().expect("it has a volume"));
        let volume = self.cluster.get("", &volume).expect("it is bound");
        volume["spec"]["csi"]["volumeHandle"].as_str().expect("it is the driver's").to_owned()
    }

    fn ask(&self, actor: &Actor, method: Method, path: &str, body: Value) -> Seen {
        let content = if method == Method::PATCH { MERGE } else { JSON };
        self.asker.ask(actor, &Asked { method, path: path.to_owned(), content, body }).seen()
    }

    fn destroyed(&self, what: &str, handle: &str) {
        eventually(what, || !self.driver.has(handle));
    }
}

#[test]
fn what_is_listed_as_not_stopped_is_not_stopped() {
    let cluster = Cluster::start(Options::COMPLETE);
    let options = DriverOptions { attach: false, ..DriverOptions::default() };
    let driver = cluster.start_driver("disk.csi.example", &options);
    namespace(&cluster, "strict", Some("deny"));
    namespace(&cluster, "plain", None);
    let_everybody(&cluster);
    install(&cluster, &["--volumes=deny"]);
    let asker = Asker::of(&cluster);
    let on = World { cluster, driver, asker };
    let (cluster, person) = (&on.cluster, Actor::person());
    let guarded = on.claim("strict", "guarded", None);
    let path = format!("{STRICT}/guarded");
    let dry = || json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]});
    eventually("the guard is in force", || {
        on.ask(&person, Method::DELETE, &path, dry()) == Seen::Refused
    });

    // Scaling down under whenScaled Delete.
    let mut web = set("web", "Retain");
    web["metadata"]["namespace"] = json!("strict");
    web["spec"]["replicas"] = json!(1);
    web["spec"]["persistentVolumeClaimRetentionPolicy"]["whenScaled"] = json!("Delete");
    web["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] =
        json!(on.driver.class_delete);
    let web = cluster.create(&web);
    eventually("the set has made its claim", || cluster.get("strict", "pvc/data-web-0").is_some());
    let scaled = on.handle("strict", "data-web-0");
    let sets = "/apis/apps/v1/namespaces/strict/statefulsets/web";
    let scale = format!("{sets}/scale");
    let zero = json!({"spec": {"replicas": 0}});
    assert_eq!(on.ask(&person, Method::PATCH, &scale, zero), Seen::Passed);
    on.destroyed("the data of the replica is destroyed", &scaled);

    // A set under whenDeleted Retain whose claim still has its owner reference; a custom resource that owns a claim, in
    // whose place stands a ConfigMap: the garbage collector does the same for every owner.
    let left = on.claim("strict", "left", Some(&web));
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db", "namespace": "strict"},
    });
    let of_owner = on.claim("strict", "owned", Some(&cluster.create(&map)));
    assert_eq!(on.ask(&person, Method::DELETE, sets, json!(null)), Seen::Passed);
    let map = "/api/v1/namespaces/strict/configmaps/db";
    assert_eq!(on.ask(&person, Method::DELETE, map, json!(null)), Seen::Passed);
    on.destroyed("the data of the set's claim is destroyed", &left);
    on.destroyed("the data of the owner's claim is destroyed", &of_owner);

    // Service accounts that are not listed.
    let of_account = on.claim("strict", "piped", None);
    let account = Actor::new(
        "system:serviceaccount:ci:deployer",
        &["system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"],
        false,
    );
    let piped = format!("{STRICT}/piped");
    assert_eq!(on.ask(&account, Method::DELETE, &piped, json!(null)), Seen::Passed);
    on.destroyed("the data is destroyed", &of_account);

    // A namespace without the label: a warning only, and everything in it.
    let plain = on.claim("plain", "data", None);
    let warned = on.ask(&person, Method::DELETE, "/api/v1/namespaces/plain", json!(null));
    assert_eq!(warned, Seen::Warned);
    on.destroyed("the data of the namespace is destroyed", &plain);

    // Volumes with policy Retain, and changes of the policy.
    let retained = PersistentVolume::csi("retained", "other.csi.example", "retained");
    cluster.create(&retained.policy("Retain").0);
    let volume = "/api/v1/persistentvolumes/retained";
    let delete = json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}});
    assert_eq!(on.ask(&person, Method::PATCH, volume, delete), Seen::Passed);
    let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
    assert_eq!(on.ask(&person, Method::PATCH, volume, retain), Seen::Passed);
    assert_eq!(on.ask(&person, Method::DELETE, volume, json!(null)), Seen::Passed);

    // All of that with a claim beside it that the guard has protected all the time; its label is the last.
    assert!(on.driver.has(&guarded));
    let namespace = "/api/v1/namespaces/strict";
    assert_eq!(on.ask(&person, Method::DELETE, namespace, json!(null)), Seen::Refused);
    let label = json!({"metadata": {"labels": {"storage.kubectl.dev/guard": null}}});
    assert_eq!(on.ask(&person, Method::PATCH, namespace, label), Seen::Passed);
    eventually("the guard knows the label", || {
        on.ask(&person, Method::DELETE, &path, dry()) == Seen::Warned
    });
    assert_eq!(on.ask(&person, Method::DELETE, &path, json!(null)), Seen::Warned);
    on.destroyed("the data is destroyed", &guarded);
}
