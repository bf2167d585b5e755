//! No text of a report is more than a text on its page, whatever it contains and wherever it stands.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::output::lines::readable;

/// A page on which everything that is not ours is this text: of one cluster, or of several.
fn printed(text: &str, are_several: bool) -> String {
    let object = json!({"apiVersion": "v1", "kind": text, "namespace": text, "name": text});
    let (mut cluster, mut clusters, mut of) =
        (json!({"uid": text, "server": text, "version": text}), json!([]), json!(null));
    if are_several {
        clusters = json!([{
            "name": text, "uid": text, "server": text, "version": text, "takenAt": text, "source": "live",
            "volumes": 1, "claims": 1, "findings": 1, "bySeverity": {"high": 1}, "gaps": 1,
        }]);
        (cluster, of) = (json!({}), json!(text));
    }
    let mut related = object.clone();
    related["cluster"] = of.clone();
    let finding = json!({
        "cluster": of, "id": text, "severity": text, "object": object, "summary": text,
        "age": {"seconds": 5, "trust": text},
        "volume": {
            "capacity": "1Gi", "phase": "Released", "claim": text, "storageClass": text, "driver": text, "reclaimPolicy": text,
        },
        "evidence": [{"object": text, "field": text, "value": text}],
        "related": [related], "causedBy": [{"id": text, "object": object}],
        "verdict": {"state": text, "reason": text},
        "remedy": {"command": text, "effect": text, "risk": text},
    });
    let metadata = json!({
        "takenAt": text, "source": "live", "cluster": cluster, "clusters": clusters,
        "tool": {"version": text}, "thresholds": {},
    });
    let summary = json!({
        "volumes": 1, "claims": 1, "bySeverity": {"high": 1}, "byId": {}, "exempted": 0,
        "reclaimable": text, "released": text, "leaking": text, "atRisk": text,
        "storage": [{
            "cluster": of, "namespace": text, "storageClass": text, "driver": text, "leakingBytes": 1, "releasedBytes": 1,
            "unusedBytes": 1, "volumes": 1, "atRiskBytes": 1, "volumesAtRisk": 1,
        }],
    });
    let gap = json!({"resource": text, "namespace": text, "reason": text, "ids": [text]});
    let tail = ReportTail { gaps: vec![read(gap)] };
    let head = ReportHead {
        api_version: "",
        kind: "AuditReport",
        metadata: read(metadata),
        summary: read(summary),
        baseline: None,
    };
    let mut out = Vec::new();
    let findings = &mut [read(finding)].into_iter();
    print(&mut out, &head, findings, &tail).expect("nothing fails to write into memory");
    String::from_utf8(out).expect("it is text")
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it has that shape")
}

/// Where markup begins and ends, and where attributes do.
fn marks(page: &str) -> [usize; 3] {
    let island = island_of(page);
    let page = page.replace(island, "");
    ['<', '>', '"'].map(|mark| page.matches(mark).count())
}

fn island_of(page: &str) -> &str {
    let (_, rest) = page.split_once("id=\"findings\">").expect("there is one");
    rest.split_once("</script>").expect("it ends").0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn texts_change_no_markup(are_several in any::<bool>(), text in "(\\PC|[<>\"'&/!\\-]|</script>|<!--|\u{202e}|\u{2028}|\n|\\{\\{body\\}\\}){1,30}") {
        let page = printed(&text, are_several);
        prop_assert_eq!(marks(&page), marks(&printed("x", are_several)));
        let island: Value = serde_json::from_str(island_of(&page)).expect("the island is JSON");
        prop_assert_eq!(island[0]["summary"].as_str(), Some(&*readable(&text)));
        prop_assert_eq!(island.as_array().map(Vec::len), Some(1));
    }
}
