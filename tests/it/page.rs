//! The page of `audit -o html`, and that of `audit trend`: what is in the file, and what a real browser makes of it.

use std::{fs, io::Write as _, path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::{Call, Ran, root};

/// A Released volume that its policy keeps: one finding.
fn volume(name: &str, number: usize, of: &Value) -> Value {
    let (namespace, class) = (&of["namespace"], &of["class"]);
    let released = format!("2026-0{}-01T00:00:00Z", 1 + number % 9);
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": format!("uid-{number}"), "resourceVersion": "1", "creationTimestamp": "2025-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pv-protection"]},
        "spec": {
            "capacity": {"storage": format!("{}Gi", 1 + number % 500)}, "accessModes": ["ReadWriteOnce"],
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": format!("data-{number}"), "uid": format!("claim-{number}")},
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": class,
            "csi": {"driver": "disk.example.com", "volumeHandle": format!("handle-{number:05}")},
        },
        "status": {"phase": "Released", "lastPhaseTransitionTime": released},
    })
}

fn usual(count: usize) -> Vec<Value> {
    let of = |number: usize| {
        let of = json!({"namespace": format!("team-{}", number % 40), "class": format!("class-{}", number % 5)});
        volume(&format!("volume-{number:05}"), number, &of)
    };
    (0..count).map(of).collect()
}

/// Volumes whose names are what no API server accepts, and a dump may contain all the same.
fn hostile() -> Vec<Value> {
    let texts = [
        "<script>window.planted = 1</script>",
        "</script><script>window.planted = 2</script><!--<script>",
        "\"><img src=x onerror=\"window.planted = 3\">",
        "javascript:window.planted=4",
        "' onfocus='window.planted = 5' autofocus='",
        "\u{202e}gpj.exe\u{2066}\u{2028}",
        "{{body}}{{script-source}}",
        "&lt;&#60;&amp;",
        "عدد-ملفات",
    ];
    let of = |(number, text): (usize, &&str)| {
        volume(text, number, &json!({"namespace": text, "class": text}))
    };
    texts.iter().enumerate().map(of).collect()
}

fn audit(volumes: &[Value], output: &str, more: &[&str]) -> Ran {
    let dump = json!({"apiVersion": "v1", "kind": "List", "items": volumes});
    let args = [
        "audit",
        "-f",
        "-",
        "--taken-at",
        "2026-11-01T12:00:00Z",
        "--complete",
        "all",
        "-o",
        output,
    ];
    let mut call = Call::new(args.iter().chain(more).copied());
    call.stdin = dump.to_string().into_bytes();
    let ran = call.run();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran
}

fn page(volumes: &[Value]) -> String {
    audit(volumes, "html", &["--allow-gaps"]).stdout
}

/// The page of several clusters, one of which cannot be read.
fn page_of_clusters() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, numbers) in [("eu", 0..30), ("us", 30..50)] {
        let items = &usual(50)[numbers];
        let dump = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        fs::write(folder.path().join(format!("{name}.json")), dump).expect("it is writable");
    }
    // They have the same volumes.
    let dumps =
        ["--distinct", "eu,us", "-f", "eu=eu.json", "-f", "us=us.json", "-f", "asia=asia.json"];
    let more = ["--taken-at", "2026-11-01T12:00:00Z", "--complete", "all", "-o", "html"];
    let call = Call::new(["audit"].iter().chain(&dumps).chain(&more).copied());
    let ran = Call { folder: Some(folder.path().to_owned()), ..call }.run();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    ran.stdout
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

fn island(page: &str) -> Vec<Value> {
    let json = between(page, r#"<script type="application/json" id="findings">"#, "</script>");
    serde_json::from_str(json).expect("the island is JSON")
}

/// Elements, as a parser counts them: in a text, no element begins.
fn elements(page: &str) -> usize {
    page.matches('<').count()
}

/// A StatefulSet with three claims, each bound to a volume, and no pods.
fn set(replicas: usize, when_scaled: &str) -> Vec<Value> {
    let (access, size) = (json!(["ReadWriteOnce"]), json!({"storage": "1Gi"}));
    let meta = |name: &str| json!({"name": name, "namespace": "shop", "uid": name, "creationTimestamp": "2025-01-01T00:00:00Z"});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta("web"),
        "spec": {
            "replicas": replicas, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": when_scaled},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": access, "resources": {"requests": size}}}],
        },
    });
    let mut all = vec![set];
    for number in 0..3 {
        let name = format!("data-web-{number}");
        let mut bound = volume(
            &format!("volume-{number}"),
            number,
            &json!({"namespace": "shop", "class": "fast"}),
        );
        bound["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "namespace": "shop", "name": name, "uid": name});
        bound["spec"]["capacity"] = size.clone();
        bound["status"]["phase"] = json!("Bound");
        all.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta(&name),
            "spec": {"volumeName": format!("volume-{number}"), "storageClassName": "fast", "accessModes": access, "resources": {"requests": size}},
            "status": {"phase": "Bound", "capacity": size, "accessModes": access},
        }));
        all.push(bound);
    }
    all
}

/// A scale-up uses the claims of a paused StatefulSet again: they are reported, and no waste. The page and the metric agree.
#[test]
fn claims_of_a_paused_statefulset_are_not_unused() {
    for (replicas, when_scaled, unused) in
        [(3, "Retain", 0), (1, "Retain", 2), (0, "Retain", 0), (0, "Delete", 3)]
    {
        let cluster = set(replicas, when_scaled);
        let page = page(&cluster);
        let figure = between(&page, "<span class=\"key unused\"></span>Unused</h3>", "</div>");
        let bytes = if unused == 0 { "0".to_owned() } else { format!("{unused}Gi") };
        assert!(figure.contains(&format!("<p class=\"big\">{bytes}</p>")), "{replicas}: {figure}");
        assert!(figure.contains("paused StatefulSet"), "{figure}");
        let metrics = audit(&cluster, "openmetrics", &["--allow-gaps"]).stdout;
        let samples = metrics.lines().filter(|it| it.starts_with("kubectl_storage_unused_bytes{"));
        let numbers = samples.filter_map(|it| it.rsplit_once(' ')?.1.parse::<f64>().ok());
        let expected = f64::from(unused) * f64::from(1 << 30);
        assert!((numbers.sum::<f64>() - expected).abs() < 0.5, "{replicas}: {metrics}");
        let findings = metrics.matches("id=\"sts-scaled-down-leftover\"").count();
        assert_eq!(findings, usize::from(replicas < 3), "{replicas}: {metrics}");
    }
}

#[test]
fn the_page_has_every_finding_once_and_the_first_hundred_twice() {
    let page = page(&usual(250));
    assert_eq!(island(&page).len(), 250);
    assert_eq!(page.matches("<li><details><summary>").count(), 100);
    assert!(page.contains("<noscript><p>The first 100 of 250"), "it says so");
    assert!(page.contains("<h2 id=\"list-title\">250 findings</h2>"));
    let bytes: u64 = island(&page).iter().filter_map(|it| it["bytes"].as_u64()).sum();
    assert_eq!(bytes, (1..=250_u64).sum::<u64>() << 30);
    assert!(page.contains("<p class=\"big\">30.6Ti</p><p>in 250 backend volumes</p>"), "31375Gi");
    for (heading, rows) in
        [("By namespace", 9), ("By storage class", 5), ("By driver", 1), ("Released, by age", 2)]
    {
        let panel = between(&page, &format!(">{heading}</h3>"), "</section>");
        assert_eq!(panel.matches("<tr>").count(), rows + 1, "{heading}: {panel}");
    }
}

/// A manager who compares them must find one figure.
#[test]
fn page_summary_and_metrics_have_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let example = root().join("examples/leaky-cluster.json.gz").display().to_string();
    let files = ["html=a.html", "json=a.json", "openmetrics=a.om"];
    let outputs = files.into_iter().flat_map(|it| ["-o", it]);
    let call = Call::new(["audit", "-f", &example].into_iter().chain(outputs));
    let ran = Call { folder: Some(folder.path().to_owned()), ..call }.run();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let of = |name: &str| fs::read_to_string(folder.path().join(name)).expect("it is there");
    let (page, metrics) = (of("a.html"), of("a.om"));
    let report: Value = serde_json::from_str(&of("a.json")).expect("it is JSON");
    let shares = report["summary"]["storage"].as_array().expect("a list");
    for kind in ["leaking", "released", "unused"] {
        let sum: u64 = shares.iter().filter_map(|it| it[format!("{kind}Bytes")].as_u64()).sum();
        let family = format!("kubectl_storage_{kind}_bytes{{");
        let samples = metrics.lines().filter(|it| it.starts_with(&family));
        let sample = |it: &str| it.rsplit_once(' ').and_then(|it| it.1.parse::<f64>().ok());
        #[expect(clippy::cast_precision_loss, reason = "it is far below 2^53")]
        let (sum, samples) = (sum as f64, samples.filter_map(sample).sum::<f64>());
        assert!(sum > 0.0 && (sum - samples).abs() < 1.0, "{kind}: {sum} {samples}");
    }
    let at_risk: u64 = shares.iter().filter_map(|it| it["atRiskBytes"].as_u64()).sum();
    assert_eq!((report["summary"]["atRisk"].as_str(), at_risk >> 30), (Some("935Gi"), 935));
    assert!(page.contains("<p class=\"big\">935Gi</p>"), "the page says it, too");
}

#[test]
fn planted_markup_is_text() {
    let harmless: Vec<_> = (0..9)
        .map(|it| volume(&format!("plain-{it}"), it, &json!({"namespace": "n", "class": "c"})))
        .collect();
    let hostile = page(&hostile());
    assert_eq!(island(&hostile).len(), 9);
    // Rows of panels differ, for there all have one name; those of the list do not.
    let list = |page: &str| elements(between(page, "<section id=\"list\"", "</section>"));
    assert_eq!(list(&hostile), list(&page(&harmless)));
    assert_eq!(hostile.matches("<script").count(), 2);
    assert_eq!(hostile.matches("</script>").count(), 2);
    assert!(!hostile.contains("<img") && !hostile.contains(['\u{202e}', '\u{2066}', '\u{2028}']));
    let object =
        &island(&hostile).iter().any(|it| it["object"] == "pv/<script>window.planted = 1</script>");
    assert!(object, "what is escaped is the same text");
}

#[test]
fn a_page_fetches_nothing_and_is_bounded() {
    let page = page(&usual(1000));
    for forbidden in [
        "src=",
        "url(",
        "@import",
        "http-equiv=\"refresh",
        "innerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    let whole = page.len();
    let frame = self::page(&[]).len();
    assert!(frame < 40_000, "a page without findings has {frame} bytes");
    assert!((whole - frame) / 1000 < 2500, "{} bytes for a finding", (whole - frame) / 1000);
}

#[test]
fn a_page_says_what_it_leaves_out() {
    let some = audit(&usual(3), "html", &["--allow-gaps", "--severity", "high"]).stdout;
    assert!(
        some.contains(
            "3 findings counted, not listed: those less severe than high: not on this page."
        ),
        "{some}"
    );
    let some = audit(&usual(3), "html", &["--allow-gaps", "--rule", "pvc-unused"]).stdout;
    assert!(some.contains("This report is only about: findings of pvc-unused."), "{some}");
    assert!(page(&[]).contains("<h2 id=\"list-title\">0 findings</h2>"));
}

#[test]
fn clusters_are_told_apart() {
    let page = page_of_clusters();
    let found = island(&page);
    let of = |cluster: &str| found.iter().filter(|it| it["cluster"] == cluster).count();
    assert!(of("eu") > of("us") && of("us") > 0, "{} and {}", of("eu"), of("us"));
    assert_eq!(of("eu") + of("us"), found.len());
    assert!(page.contains("<title>Storage audit: 3 clusters</title>"), "{page}");
    let bytes = between(&page, ">By cluster</h3>", "</section>");
    assert_eq!(bytes.matches("data-by=\"cluster\">").count(), 2, "{bytes}");
    let table = between(&page, "aria-label=\"Table of clusters\"", "</table>");
    assert!(table.contains("<th scope=\"row\">asia</th>"), "nothing to filter: {table}");
    assert!(table.contains("data-by=\"cluster\">eu</th>"), "{table}");
    assert!(page.contains("<small> cluster us</small>"), "also without a script");
    let alone = self::page(&usual(3));
    assert!(!alone.contains("data-by=\"cluster\"") && island(&alone)[0].get("cluster").is_none());
}

#[test]
fn missing_lists_are_on_the_page() {
    let dump = json!({"apiVersion": "v1", "kind": "List", "items": usual(2)}).to_string();
    let mut call = Call::new(["audit", "-f", "-", "-o", "html"]);
    call.stdin = dump.into_bytes();
    let ran = call.run();
    assert_eq!(ran.code, Some(4));
    assert!(
        ran.stdout.contains("<strong>Incomplete:</strong>")
            && ran.stdout.contains("<h2 id=\"gaps-title\">Not read</h2>")
    );
}

/// Saves reports of a cluster over some months.
fn save_reports(folder: &Path) {
    for month in 0..6 {
        let volumes = usual(20 + month * 17);
        let dump = json!({"apiVersion": "v1", "kind": "List", "items": volumes}).to_string();
        let at = format!("2027-0{}-01T12:00:00Z", month + 1);
        let mut call = Call::new([
            "audit",
            "-f",
            "-",
            "--taken-at",
            &at,
            "--complete",
            "all",
            "-o",
            "json",
            "--allow-gaps",
        ]);
        call.stdin = dump.into_bytes();
        let ran = call.run();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        fs::write(folder.join(format!("{month}.json")), ran.stdout).expect("it is writable");
    }
}

fn trend(folder: &Path, output: &str) -> Ran {
    let ran = Call::new(["audit", "trend", &folder.display().to_string(), "-o", output]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran
}

#[test]
fn reports_over_time_are_drawn() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    save_reports(folder.path());
    let shown: Value =
        serde_json::from_str(&trend(folder.path(), "json").stdout).expect("it is JSON");
    let reports = shown["series"][0]["reports"].as_array().expect("reports");
    assert_eq!(reports.len(), 6);
    let released = |at: usize| reports[at]["releasedBytes"].as_u64().unwrap_or_default() >> 30;
    assert_eq!((released(0), released(5)), (210, 5565));
    let parts = reports[0]["byNamespace"].as_object().expect("namespaces");
    assert_eq!((parts.len(), &parts["team-3"]["releasedBytes"]), (20, &json!(4_u64 << 30)));
    let page = trend(folder.path(), "html").stdout;
    assert!(page.contains("script-src 'none'") && !page.contains("<script"), "it needs none");
    let line = between(&page, "<polyline class=\"released\" points=\"", "\"");
    let points: Vec<_> = line.split_whitespace().collect();
    assert_eq!(points.len(), 6);
    assert!(points[0].starts_with("0.0,") && points[5] == "1000.0,0.0", "{line}");
}

/// Writes the pages that are tried in a browser.
fn write_pages(folder: &Path) {
    for count in [10, 1000, 10_000] {
        fs::write(folder.join(format!("{count}.html")), page(&usual(count)))
            .expect("it is writable");
    }
    let example = root().join("examples/leaky-cluster.json.gz").display().to_string();
    let ran = Call::new(["audit", "-f", &example, "-o", "html"]).run();
    fs::write(folder.join("example.html"), ran.stdout).expect("it is writable");
    fs::write(folder.join("hostile.html"), page(&hostile())).expect("it is writable");
    fs::write(folder.join("none.html"), page(&[])).expect("it is writable");
    fs::write(folder.join("clusters.html"), page_of_clusters()).expect("it is writable");
    let reports = tempfile::tempdir().expect("a temporary folder");
    save_reports(reports.path());
    fs::write(folder.join("trend.html"), trend(reports.path(), "html").stdout)
        .expect("it is writable");
}

#[test]
#[ignore = "extended suite: tools of others"]
fn a_browser_shows_the_page() {
    let pages = tempfile::tempdir().expect("a temporary folder");
    write_pages(pages.path());
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    let tried = Command::new(root().join("tests/page/try")).arg(pages.path()).arg(&out).output();
    let tried = tried.expect("the script runs");
    let (said, complained) =
        (String::from_utf8_lossy(&tried.stdout), String::from_utf8_lossy(&tried.stderr));
    assert!(tried.status.success(), "{said}\n{complained}");
    writeln!(std::io::stderr(), "{said}screenshots: {}", out.display()).expect("stderr is open");
}
