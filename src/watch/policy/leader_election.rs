//! `leaderElection:` of the policy file: which of several processes sends reports.

use serde::Deserialize;

use super::values::{LeaseName, NamespaceName};
use crate::model::Text;

/// Of the processes with the same Lease one reports, and the others stand by: they judge all the
/// same, and serve metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct LeaderElectionPolicy {
    /// The namespace of the Lease; that of the journal, unless it says otherwise.
    namespace: Option<NamespaceName>,
    /// The name of the Lease, `kubectl-storage-watch` unless it says otherwise: policies that differ need Leases that do.
    name: Option<LeaseName>,
}

impl LeaderElectionPolicy {
    /// The name of the Lease.
    pub(crate) fn name(&self) -> &str {
        self.name.as_ref().map_or(LeaseName::DEFAULT, |it| &*it.0)
    }

    /// The namespace of the Lease, if the policy names it.
    pub(crate) fn namespace(&self) -> Option<Text> {
        self.namespace.as_ref().map(|it| Text::clone(&it.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<LeaderElectionPolicy, String> {
        serde_yaml::from_str(text).map_err(|error| error.to_string())
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
            let policy = parse(text).expect(text);
            assert_eq!((policy.namespace().as_deref(), policy.name()), (namespace, name), "{text}");
        }
        assert!(parse("{namespace: A_b}").is_err_and(|it| it.contains("not a valid name")));
        assert!(parse("{nam: a}").is_err_and(|it| it.contains("unknown field")));
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
            let refused = parse(&format!("{{name: {name}}}")).expect_err(name);
            assert!(refused.contains("is not a valid name of a Lease"), "{name}: {refused}");
        }
    }
}
