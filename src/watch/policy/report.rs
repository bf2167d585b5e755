//! Sections `report:` and `leaderElection:` of the policy file: where findings are reported, and by which of several
//! processes.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, de};

use super::values::{LeaseName, NamespaceName};
use crate::model::{Severity, Text};

/// Where findings are told besides the log. What is absent is off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
#[schemars(transform = super::values::without_null)]
pub struct ReportPolicy {
    /// Events about the objects.
    pub events: Option<EventsPolicy>,
    /// Metrics, and the probes of a kubelet where these have no address of their own.
    pub metrics: Option<MetricsPolicy>,
    /// The probes of a kubelet, `/healthz` and `/readyz`, apart from metrics.
    pub probes: Option<ProbesPolicy>,
    /// Messages to a chat.
    pub webhook: Option<WebhookPolicy>,
    /// Reports of namespaces and one of the cluster (`openreports.io`).
    pub open_reports: Option<OpenReportsPolicy>,
}

/// Findings as reports, of which the custom resources must be installed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct OpenReportsPolicy {
    /// Only findings of this severity and worse.
    #[serde(default = "high", deserialize_with = "severity")]
    #[schemars(schema_with = "super::values::severity")]
    pub severity: Severity,
}

/// Events about the objects of findings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct EventsPolicy {
    /// Only findings of this severity and worse.
    #[serde(default = "high", deserialize_with = "severity")]
    #[schemars(schema_with = "super::values::severity")]
    pub severity: Severity,
}

/// A server of `/healthz` and `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct ProbesPolicy {
    /// Where it listens. It speaks HTTP, and says nothing but whether this process is alive and ready.
    #[schemars(schema_with = "super::values::address")]
    pub address: SocketAddr,
}

/// A server of `/metrics`, `/healthz` and `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
#[schemars(transform = super::values::without_null)]
pub struct MetricsPolicy {
    /// Where it listens. On a loopback address it speaks HTTP, and every local process may read the metrics;
    /// on any other it speaks HTTPS, and a reader needs the right to.
    #[schemars(schema_with = "super::values::address")]
    pub address: SocketAddr,
    /// How many namespaces have a label of their own, the rest being `other`; without it findings
    /// and bytes have no label for their namespace.
    pub per_namespace: Option<NonZeroUsize>,
    /// The certificate; without one, an address that is not loopback has a self-signed one.
    pub tls: Option<TlsPolicy>,
}

impl ProbesPolicy {
    /// Whether only this machine reaches the address.
    pub(crate) fn is_local(&self) -> bool {
        is_loopback(self.address)
    }
}

impl MetricsPolicy {
    /// Whether only this machine reaches the address.
    pub(crate) fn is_local(&self) -> bool {
        is_loopback(self.address)
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// A certificate in files, read again when they change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct TlsPolicy {
    /// The certificate and those that signed it, in PEM.
    pub cert_file: PathBuf,
    /// Its key, in PEM.
    pub key_file: PathBuf,
}

/// Messages to a chat, or to anything that takes what Slack takes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct WebhookPolicy {
    /// The file that holds the URL, which is a secret. It is read again for every message.
    #[serde(deserialize_with = "url_file")]
    pub url_file: PathBuf,
    /// Only findings of this severity and worse.
    #[serde(default = "high", deserialize_with = "severity")]
    #[schemars(schema_with = "super::values::severity")]
    pub severity: Severity,
}

/// Reads the path of the file that holds a URL. A URL in its place is a secret, and is not repeated.
fn url_file<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    let path = PathBuf::deserialize(from)?;
    match path.to_string_lossy().contains("://") {
        true => Err(de::Error::custom("expected the path of a file that holds the URL, not a URL")),
        false => Ok(path),
    }
}

const fn high() -> Severity {
    Severity::High
}

/// Reads a severity by its name.
fn severity<'de, D: Deserializer<'de>>(from: D) -> Result<Severity, D::Error> {
    struct Named;
    impl Visitor<'_> for Named {
        type Value = Severity;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a severity")
        }

        fn visit_str<E: de::Error>(self, name: &str) -> Result<Severity, E> {
            const NAMES: &[&str] = &["critical", "high", "medium", "low", "info"];
            Severity::parse(name).ok_or_else(|| E::unknown_variant(name, NAMES))
        }
    }
    from.deserialize_str(Named)
}

/// Of the processes with the same Lease one reports, and the others stand by: they judge all the
/// same, and serve metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
#[schemars(transform = super::values::without_null)]
pub struct LeaderElectionPolicy {
    /// The namespace of the Lease; that of the journal, unless it says otherwise.
    namespace: Option<NamespaceName>,
    /// The name of the Lease, `kubectl-storage-watch` unless it says otherwise: policies that differ need Leases that do.
    name: Option<LeaseName>,
}

impl LeaderElectionPolicy {
    /// Returns the name of the Lease.
    pub(crate) fn name(&self) -> &str {
        self.name.as_ref().map_or(LeaseName::DEFAULT, |it| &*it.0)
    }

    /// Returns the namespace of the Lease, if the policy names it.
    pub(crate) fn namespace(&self) -> Option<Text> {
        self.namespace.as_ref().map(|it| Text::clone(&it.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
        serde_yaml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_absent_is_off() {
        assert_eq!(parse("{}"), Ok(ReportPolicy::default()));
    }

    #[test]
    fn everything_can_be_said() {
        let policy = parse(
            "events: {severity: critical}
metrics: {address: '127.0.0.1:8080', perNamespace: 50, tls: {certFile: a, keyFile: b}}
probes: {address: '0.0.0.0:8081'}
webhook: {urlFile: /etc/hook/url, severity: low}
openReports: {severity: medium}",
        );
        let expected = ReportPolicy {
            events: Some(EventsPolicy { severity: Severity::Critical }),
            metrics: Some(MetricsPolicy {
                address: SocketAddr::from(([127, 0, 0, 1], 8080)),
                per_namespace: NonZeroUsize::new(50),
                tls: Some(TlsPolicy { cert_file: "a".into(), key_file: "b".into() }),
            }),
            probes: Some(ProbesPolicy { address: SocketAddr::from(([0, 0, 0, 0], 8081)) }),
            webhook: Some(WebhookPolicy {
                url_file: "/etc/hook/url".into(),
                severity: Severity::Low,
            }),
            open_reports: Some(OpenReportsPolicy { severity: Severity::Medium }),
        };
        assert_eq!(policy, Ok(expected));
    }

    #[test]
    fn high_is_what_nobody_named() {
        let policy: ReportPolicy = parse("{events: {}, webhook: {urlFile: a}}").expect("a policy");
        assert_eq!(policy.events.map(|it| it.severity), Some(Severity::High));
        assert_eq!(policy.webhook.map(|it| it.severity), Some(Severity::High));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for (text, error) in [
            ("event: {}", "unknown field `event`, expected one of `events`"),
            ("events: {severty: high}", "unknown field `severty`, expected `severity`"),
            ("events: {severity: hihg}", "unknown variant `hihg`, expected one of `critical`"),
            ("events: {severity: 3}", "unknown variant `3`"),
            ("metrics: {}", "missing field `address`"),
            ("probes: {}", "missing field `address`"),
            ("probes: {address: '[::1]:80', tls: {}}", "unknown field `tls`"),
            ("metrics: {address: here}", "invalid socket address"),
            ("metrics: {address: '127.0.0.1'}", "invalid socket address"),
            ("metrics: {address: '[::1]:80', perNamespace: 0}", "nonzero"),
            ("metrics: {address: '[::1]:80', perNamespace: -1}", "nonzero"),
            ("metrics: {address: '[::1]:80', tls: {certFile: a}}", "missing field `keyFile`"),
            ("webhook: {}", "missing field `urlFile`"),
            ("webhook: {urlFile: 'https://example.com/s3cret'}", "the path of a file"),
            ("openReports: {namespaces: [a]}", "unknown field `namespaces`, expected `severity`"),
            ("webhook: {url: 'https://example.com'}", "unknown field `url`"),
        ] {
            let refused = parse::<ReportPolicy>(text).expect_err(text);
            assert!(refused.contains(error), "{text}: {refused}");
            assert!(!refused.contains("s3cret"), "{refused}");
        }
    }

    #[test]
    fn only_loopback_is_loopback() {
        for (address, is) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("10.0.0.1:1", false),
        ] {
            let at = format!("{{address: '{address}'}}");
            let text = format!("{{metrics: {at}, probes: {at}}}");
            let policy: ReportPolicy = parse(&text).expect("a policy");
            assert_eq!(policy.metrics.map(|it| it.is_local()), Some(is), "{address}");
            assert_eq!(policy.probes.map(|it| it.is_local()), Some(is), "{address}");
        }
    }

    #[test]
    fn a_lease_has_the_name_of_the_program_unless_the_policy_says_otherwise() {
        const NAME: &str = "kubectl-storage-watch";
        for (text, namespace, name) in [
            ("{}", None, NAME),
            ("{namespace: storage}", Some("storage"), NAME),
            ("{name: kubectl-storage-watch}", None, NAME),
            ("{name: kubectl-storage-watch-shop}", None, "kubectl-storage-watch-shop"),
        ] {
            let policy: LeaderElectionPolicy = parse(text).expect(text);
            assert_eq!((policy.namespace().as_deref(), policy.name()), (namespace, name), "{text}");
        }
        assert!(
            parse::<LeaderElectionPolicy>("{namespace: A_b}")
                .is_err_and(|it| it.contains("not a valid name"))
        );
        assert!(
            parse::<LeaderElectionPolicy>("{nam: a}").is_err_and(|it| it.contains("unknown field"))
        );
    }

    #[test]
    fn the_lease_of_another_program_is_refused() {
        for name in [
            "kube-controller-manager",
            "external-provisioner-leader-disk-example-com",
            "kubectl-storage-watcher",
            "kubectl-storage-watch-",
            "kubectl-storage-watch-A",
            "kubectl-storage-watch-a..b",
            "kubectl-storage-watch/a",
            "''",
        ] {
            let refused =
                parse::<LeaderElectionPolicy>(&format!("{{name: {name}}}")).expect_err(name);
            assert!(refused.contains("is not a valid name of a Lease"), "{name}: {refused}");
        }
    }
}
