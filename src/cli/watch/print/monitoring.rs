//! What the Prometheus operator reads: where the metrics are, and when to raise an alarm.

use serde_json::{Value, json};

use super::installation::Installation;

/// The rules, as any Prometheus loads them.
const ALERTS: &str = include_str!("../../../../deploy/alerts.yaml");

/// The objects of the group `monitoring.coreos.com`.
///
/// # Errors
/// When the rules that this program holds are no YAML.
pub(super) fn objects(of: &Installation) -> Result<[Value; 2], serde_yaml::Error> {
    let object =
        |kind: &str, spec: Value| of.object("monitoring.coreos.com/v1", kind, ("spec", spec));
    // Nothing here knows who signed the certificate: each process has its own, unless the policy says.
    let endpoint = json!({
        "port": "metrics",
        "scheme": "https",
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "tlsConfig": {"insecureSkipVerify": true},
    });
    let monitor = json!({
        "selector": {"matchLabels": Installation::labels()},
        "endpoints": [endpoint],
    });
    let rules: Value = serde_yaml::from_str(ALERTS)?;
    Ok([object("ServiceMonitor", monitor), object("PrometheusRule", rules)])
}
