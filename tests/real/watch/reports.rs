//! `watch`: where a policy has findings reported, as whoever reads it there sees it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use serde_json::{Value, json};

use super::reporting::{Reporting, ask, count_of, events};
use super::{PAST, Watcher, released};
use crate::support::{Cluster, Options, Scenario, eventually, never, program};

/// Whether the metrics say of each id what an audit counts that is made now.
fn agrees_with_an_audit(reporting: &Reporting, cluster: &Cluster) -> bool {
    let report = cluster.audit(&["--older-than", "1s"]);
    let by_id = report.json["summary"]["byId"].as_object().cloned().unwrap_or_default();
    let numbers = reporting.numbers("kubectl_storage_findings");
    let all: u64 = by_id.values().filter_map(Value::as_u64).sum();
    all == count_of(&numbers, &[])
        && by_id.iter().all(|(id, count)| {
            count.as_u64() == Some(count_of(&numbers, &[&format!("id=\"{id}\"")]))
        })
}

#[test]
fn findings_become_events_and_numbers() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let first = released(&on, "first");
    let reporting = Reporting::new(
        "{events: {severity: medium}, metrics: {address: '127.0.0.1:PORT', perNamespace: 5}}",
    );
    let before = cluster.mark();
    let watcher = Watcher::by_policy(cluster.kubeconfig(), &reporting.policy());
    eventually("it is ready", || reporting.get("/readyz").is_some_and(|it| it.0 == 200));
    assert_eq!(reporting.get("/healthz").map(|it| it.0), Some(200));
    assert_eq!(reporting.get("/").map(|it| it.0), Some(404));

    // An Event, in `default`, of what has no namespace.
    let of = |name: &str| {
        let name = name.trim_start_matches("pv/").to_owned();
        move |cluster: &Cluster| -> Vec<Value> {
            let is_it = |it: &Value| {
                it["regarding"]["name"] == name.as_str()
                    && it["reason"] == "PvReleasedPastThreshold"
            };
            events(cluster, "default").into_iter().filter(is_it).collect()
        }
    };
    let (of_first, of_second) = (of(&first), of("pv/none"));
    eventually("there is an Event", || of_first(&cluster).len() == 1);
    assert!(of_second(&cluster).is_empty());
    let event = &of_first(&cluster)[0];
    assert_eq!(event["type"], "Warning");
    assert!(event["note"].as_str().is_some_and(|it| it.starts_with(PAST)), "{event}");
    let shown = cluster.kubectl(&["describe", &first]);
    assert!(shown.contains("PvReleasedPastThreshold"), "{shown}");

    // Numbers, through the life of a finding.
    eventually("as an audit", || agrees_with_an_audit(&reporting, &cluster));
    let second = released(&on, "second");
    let of_second = of(&second);
    eventually("there is a second Event", || of_second(&cluster).len() == 1);
    let namespace = format!("namespace=\"{}\"", on.name);
    let past = || {
        let numbers = reporting.numbers("kubectl_storage_findings");
        count_of(&numbers, &[&format!("id=\"{PAST}\""), &namespace])
    };
    eventually("two are counted", || past() == 2);
    eventually("as an audit", || agrees_with_an_audit(&reporting, &cluster));
    let released_bytes = reporting.numbers("kubectl_storage_released_bytes");
    assert!(count_of(&released_bytes, &["driver=\"none.example\""]) > 0, "{released_bytes:?}");
    let (_, text) = reporting.get("/metrics").expect("it is there");
    for name in [&first, &second] {
        assert!(!text.contains(name.trim_start_matches("pv/")), "{text}");
    }
    lint(&text);

    // One that has cleared, and appears again, is the same series.
    let ignore =
        |id: Option<&str>| json!({"metadata": {"annotations": {"storage.kubectl.dev/ignore": id}}});
    on.patch(&second, &ignore(Some(PAST)));
    eventually("one is counted", || past() == 1);
    on.patch(&second, &ignore(None));
    eventually("its series goes on", || of_second(&cluster)[0]["series"]["count"] == 2);
    assert_eq!(of_second(&cluster).len(), 1);
    watcher.terminate();

    // Who comes after it tells nothing again.
    let created = || cluster.events_since(before, "events.k8s.io/v1/namespaces/default/events");
    let earlier = events(&cluster, "default");
    let asked = created().len();
    let watcher = Watcher::by_policy(cluster.kubeconfig(), &reporting.policy());
    watcher.tells("appeared", PAST, &second);
    eventually("it has tried to tell", || created().len() > asked + 1);
    never("an Event changes", Duration::from_secs(3), || events(&cluster, "default") != earlier);
    watcher.terminate();

    // It wrote nothing but Events, and none of them made a finding.
    let writes = cluster.requests_since(before);
    let is_event = |it: &Value| it["objectRef"]["resource"] == "events";
    let wrote = |it: &&Value| {
        let agent = it["userAgent"].as_str().unwrap_or_default();
        let verb = it["verb"].as_str().unwrap_or_default();
        agent.starts_with("kubectl-storage")
            && matches!(verb, "create" | "patch" | "delete" | "update")
    };
    let others: Vec<_> = writes.iter().filter(wrote).filter(|it| !is_event(it)).collect();
    assert!(
        others.iter().all(|it| it["objectRef"]["resource"]
            .as_str()
            .is_some_and(|it| it.ends_with("reviews"))),
        "{others:#?}"
    );
}

/// Has the linter of `promtool check metrics` judge an exposition.
fn lint(text: &str) {
    let mut promlint = Command::new(program("promlint"));
    let mut promlint = promlint
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("because the testbed has it");
    let mut into = promlint.stdin.take().expect("because it is piped");
    into.write_all(text.as_bytes()).expect("because it reads");
    drop(into);
    let outcome = promlint.wait_with_output().expect("because it was started");
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success() && said.is_empty(), "{said}{text}");
}

/// What `audit -o openmetrics` prints, a textfile collector takes as the older format.
#[test]
#[ignore = "extended suite: tools of others"]
fn metrics_of_an_audit_are_what_promtool_takes() {
    let ran = Command::new(env!("CARGO_BIN_EXE_kubectl-storage"))
        .args(["audit", "-o", "openmetrics", "-f"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky-cluster.json.gz"))
        .output()
        .expect("the binary runs");
    let text = String::from_utf8(ran.stdout).expect("it is text");
    assert!(text.contains("kubectl_storage_findings{") && text.ends_with("# EOF\n"), "{text}");
    lint(&text);
}

#[test]
fn without_the_right_to_create_events_everything_else_goes_on() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    cluster.grant(
        "user-1",
        &json!([
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        ]),
    );
    let reporting =
        Reporting::new("{events: {severity: info}, metrics: {address: '127.0.0.1:PORT'}}");
    let watcher = Watcher::by_policy(&cluster.kubeconfig_of("user-1"), &reporting.policy());
    let first = released(&on, "first");
    watcher.tells("appeared", PAST, &first);
    watcher.says("no right to create Events");
    released(&on, "second");
    let failed = || {
        let numbers = reporting.numbers("kubectl_storage_reports_total");
        count_of(&numbers, &["sink=\"events\"", "outcome=\"failed\""])
    };
    eventually("two have failed", || failed() >= 2);
    assert_eq!(watcher.said().matches("no right to create Events").count(), 1);
    assert!(events(&cluster, "default").is_empty());
    // The right is granted.
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "tells"},
        "rules": [{"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}],
    }));
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "tells"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tells"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "user-1"}],
    }));
    // The authorizer learns of it a moment later.
    eventually("the right is known", || {
        let can = ["auth", "can-i", "create", "events.events.k8s.io", "--as", "user-1"];
        cluster.try_kubectl(&can, "").is_ok()
    });
    released(&on, "third");
    eventually("there is an Event", || !events(&cluster, "default").is_empty());
    watcher.terminate();
}

#[test]
fn metrics_beyond_loopback_are_for_whoever_may_read_them() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let reporting = Reporting::new(
        "{metrics: {address: '0.0.0.0:PORT', tls: {certFile: FOLDER/tls.crt, keyFile: FOLDER/tls.key}}}",
    );
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("because it is a name");
    let write = |name: &str, text: String| {
        fs::write(reporting.folder.path().join(name), text).expect("because it is writable");
    };
    write("tls.crt", pem("CERTIFICATE", made.cert.der()));
    write("tls.key", pem("PRIVATE KEY", &made.signing_key.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("because it is a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("because it has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let get = |path: &str, token: &str| -> Option<(u16, String)> {
        let name = ServerName::try_from("localhost").ok()?;
        let client = ClientConnection::new(Arc::clone(&config), name).ok()?;
        let socket = TcpStream::connect(("127.0.0.1", reporting.port)).ok()?;
        let header = match token {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        ask(StreamOwned::new(client, socket), path, &header)
    };
    let watcher = Watcher::by_policy(cluster.kubeconfig(), &reporting.policy());
    eventually("it is ready", || get("/readyz", "").is_some_and(|it| it.0 == 200));
    let token = |name: &str| {
        cluster.kubectl(&["create", "serviceaccount", "-n", &on.name, name]);
        let token = cluster.kubectl(&["create", "token", "-n", &on.name, name]);
        token.trim().to_owned()
    };
    let (prometheus, guest) = (token("prometheus"), token("guest"));
    cluster.grant(
        &format!("system:serviceaccount:{}:prometheus", on.name),
        &json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]),
    );
    assert_eq!(get("/metrics", "").map(|it| it.0), Some(401));
    assert_eq!(get("/metrics", "nonsense").map(|it| it.0), Some(401));
    assert_eq!(get("/metrics", &guest).map(|it| it.0), Some(403));
    eventually("whoever may reads it", || {
        get("/metrics", &prometheus).is_some_and(|(status, text)| {
            status == 200 && text.contains("kubectl_storage_build_info")
        })
    });
    // Not without TLS.
    assert_ne!(reporting.get("/healthz").map(|it| it.0), Some(200));
    watcher.terminate();
}

fn pem(label: &str, der: &[u8]) -> String {
    let base64 = serde_json::to_value(k8s_openapi::ByteString(der.to_vec()));
    let base64 = base64.expect("because it is text").as_str().unwrap_or_default().to_owned();
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
}

/// Answers one request over TLS with a status, and returns its body.
fn take(listener: &TcpListener, tls: &Arc<ServerConfig>, status: &str) -> Value {
    let (socket, _) = listener.accept().expect("because it listens");
    let server = ServerConnection::new(Arc::clone(tls)).expect("because it is configured");
    let mut socket = StreamOwned::new(server, socket);
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let count = socket.read(&mut piece).expect("because it was sent");
        bytes.extend(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        assert!(head.starts_with("POST /services/secret "), "{head}");
        let length = head.to_ascii_lowercase();
        let length = length.split("content-length: ").nth(1).and_then(|it| it.lines().next());
        let length: usize = length.and_then(|it| it.parse().ok()).expect("because it is told");
        if body.len() < length {
            continue;
        }
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        socket.write_all(answer.as_bytes()).expect("because it is waited for");
        socket.flush().expect("because it is waited for");
        return serde_json::from_str(body).expect("because it is JSON");
    }
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn a_webhook_in_trouble_holds_nothing_up_and_loses_nothing() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let first = released(&on, "first");
    let reporting = Reporting::new(
        "{webhook: {urlFile: FOLDER/url, severity: medium}, metrics: {address: '127.0.0.1:PORT'}}",
    );
    // Nobody listens there yet, and the file comes later too.
    let free = TcpListener::bind("127.0.0.1:0").expect("because loopback has free ports");
    let address = free.local_addr().expect("because it is bound");
    drop(free);
    // It speaks HTTPS, by a certificate that only this machine trusts.
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]);
    let made = made.expect("because it is a name");
    let trusted = reporting.folder.path().join("trusted.pem");
    fs::write(&trusted, pem("CERTIFICATE", made.cert.der())).expect("because it is writable");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let tls =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("because it has them")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into());
    let tls = Arc::new(tls.expect("because they fit together"));
    let watcher = Watcher::trusting(&trusted, cluster.kubeconfig(), &reporting.policy());
    watcher.tells("appeared", PAST, &first);
    watcher.says("is tried again");
    let url = format!("https://{address}/services/secret\n");
    fs::write(reporting.folder.path().join("url"), url).expect("because it is writable");
    // What happens meanwhile is told everywhere else.
    let second = released(&on, "second");
    watcher.tells("appeared", PAST, &second);
    let counted = || {
        let numbers = reporting.numbers("kubectl_storage_findings");
        count_of(&numbers, &[&format!("id=\"{PAST}\"")])
    };
    eventually("both are counted", || counted() == 2);

    let listener = TcpListener::bind(address).expect("because it is free");
    take(&listener, &tls, "500 Broken");
    take(&listener, &tls, "429 Later");
    let mut told = Vec::new();
    while told.len() < 2 {
        let message = take(&listener, &tls, "200 OK");
        let text = message["text"].as_str().expect("Slack asks for it").to_owned();
        for finding in message["findings"].as_array().expect("they are there") {
            assert_eq!(finding["event"], "appeared", "{message}");
            let name = finding["object"]["name"].as_str().expect("it has one");
            if finding["id"] == PAST {
                assert!(text.contains(&format!("{PAST} pv/{name}")), "{text}");
                told.push(format!("pv/{name}"));
            }
        }
    }
    assert_eq!(told, [first, second]);
    let dropped = reporting.numbers("kubectl_storage_reports_total");
    eventually("both are counted as sent", || {
        let numbers = reporting.numbers("kubectl_storage_reports_total");
        count_of(&numbers, &["webhook", "sent"]) >= 2
    });
    assert_eq!(count_of(&dropped, &["webhook", "dropped"]), 0, "{dropped:?}");
    assert_eq!(count_of(&dropped, &["webhook", "failed"]), 0, "{dropped:?}");
    let said = watcher.said();
    assert!(!said.contains("secret") && !said.contains(&address.to_string()), "{said}");
    watcher.terminate();
}
