//! `leaderElection:` of the policy file: which of several processes sends reports.

use serde::Deserialize;

use super::values::NamespaceName;
use crate::model::Text;

/// Of the processes with the same Lease one reports, and the others stand by: they judge all the
/// same, and serve metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "keys and values")]
pub struct LeaderElectionPolicy {
    /// The namespace of the Lease; that of the pod or of the kubeconfig, unless it says otherwise.
    namespace: Option<NamespaceName>,
}

impl LeaderElectionPolicy {
    /// The name of the Lease.
    pub(crate) const NAME: &'static str = "kubectl-storage-watch";

    /// The namespace of the Lease, if the policy names it.
    pub(crate) fn namespace(&self) -> Option<Text> {
        self.namespace.as_ref().map(|it| Text::clone(&it.0))
    }

    /// Namespace and name of the Lease. `here` is the namespace of the pod or of the kubeconfig.
    pub(crate) fn lease(&self, here: &str) -> (Text, &'static str) {
        (self.namespace().unwrap_or_else(|| here.into()), Self::NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<LeaderElectionPolicy, String> {
        serde_yaml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_lease_is_where_the_process_is_unless_the_policy_says_otherwise() {
        for (text, namespace) in [("{}", "here"), ("{namespace: storage}", "storage")] {
            let lease = parse(text).expect(text).lease("here");
            assert_eq!(lease, (namespace.into(), "kubectl-storage-watch"), "{text}");
        }
        assert!(parse("{namespace: A_b}").is_err_and(|it| it.contains("not a valid name")));
        assert!(parse("{name: a}").is_err_and(|it| it.contains("unknown field")));
    }
}
