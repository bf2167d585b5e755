//! `ValidatingAdmissionPolicy` and `ValidatingAdmissionPolicyBinding`, with every field that decides what they do: the
//! objects of the guard are compared with what they should be.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::meta::LabelSelector;
use super::slim::{is_default, or_default, slim};
use super::{Folded, Folder, ObjectMeta, SlimObject};
use crate::model::{self, GUARD_NAME, Kind, Row};

slim! {
    /// A `ValidatingAdmissionPolicy`.
    pub struct ValidatingAdmissionPolicy {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: PolicySpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: PolicyStatus,
    }

    /// `spec` of a policy.
    pub struct PolicySpec {
        /// The kind of the policy's parameters.
        #[prost(message, optional, tag = "1")]
        pub param_kind: Option<ParamKind>,
        /// The requests that the policy looks at.
        #[prost(message, optional, tag = "2")]
        pub match_constraints: Option<MatchResources>,
        /// The conditions that have to be true.
        #[prost(message, repeated, tag = "3")]
        pub validations: Vec<Validation>,
        /// Whether an error refuses or passes: `Fail` or `Ignore`.
        #[prost(string, optional, tag = "4")]
        pub failure_policy: Option<String>,
        /// Entries that the policy adds to the audit log.
        #[prost(message, repeated, tag = "5")]
        pub audit_annotations: Vec<AuditAnnotation>,
        /// Further conditions of the requests that the policy looks at.
        #[prost(message, repeated, tag = "6")]
        pub match_conditions: Vec<MatchCondition>,
        /// Parts of the policy's expressions.
        #[prost(message, repeated, tag = "7")]
        pub variables: Vec<Variable>,
    }

    /// The kind of a policy's parameters.
    pub struct ParamKind {
        /// `apiVersion`.
        #[prost(string, tag = "1")]
        pub api_version: String,
        /// `kind`.
        #[prost(string, tag = "2")]
        pub kind: String,
    }

    /// The requests that a policy or a binding is about.
    pub struct MatchResources {
        /// The namespaces.
        #[prost(message, optional, tag = "1")]
        pub namespace_selector: Option<LabelSelector>,
        /// The objects.
        #[prost(message, optional, tag = "2")]
        pub object_selector: Option<LabelSelector>,
        /// Operations and resources.
        #[prost(message, repeated, tag = "3")]
        pub resource_rules: Vec<NamedRuleWithOperations>,
        /// Operations and resources that are left out.
        #[prost(message, repeated, tag = "4")]
        pub exclude_resource_rules: Vec<NamedRuleWithOperations>,
        /// `Exact` or `Equivalent`.
        #[prost(string, optional, tag = "7")]
        pub match_policy: Option<String>,
    }

    /// Condition that has to be true.
    pub struct Validation {
        /// The expression.
        #[prost(string, tag = "1")]
        pub expression: String,
        /// The message for the user where the other one fails.
        #[prost(string, tag = "2")]
        pub message: String,
        /// The reason of the refusal.
        #[prost(string, optional, tag = "3")]
        pub reason: Option<String>,
        /// The expression of the message for the user.
        #[prost(string, tag = "4")]
        pub message_expression: String,
    }

    /// Entry that a policy adds to the audit log.
    pub struct AuditAnnotation {
        /// Key.
        #[prost(string, tag = "1")]
        pub key: String,
        /// Value.
        #[prost(string, tag = "2")]
        pub value_expression: String,
    }

    /// A condition of the requests that a policy looks at.
    pub struct MatchCondition {
        /// Name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// The expression.
        #[prost(string, tag = "2")]
        pub expression: String,
    }

    /// A part of expressions.
    pub struct Variable {
        /// Name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// The expression.
        #[prost(string, tag = "2")]
        pub expression: String,
    }

    /// `status` of a policy.
    pub struct PolicyStatus {
        /// The generation whose types were checked.
        #[prost(int64, tag = "1")]
        pub observed_generation: i64,
        /// The result of the check.
        #[prost(message, optional, tag = "2")]
        pub type_checking: Option<TypeChecking>,
    }

    /// The types of a policy's expressions.
    pub struct TypeChecking {
        /// The type errors of the expressions.
        #[prost(message, repeated, tag = "1")]
        pub expression_warnings: Vec<ExpressionWarning>,
    }

    /// Type error of an expression.
    pub struct ExpressionWarning {
        /// The field of the expression.
        #[prost(string, tag = "2")]
        pub field_ref: String,
        /// The warning.
        #[prost(string, tag = "3")]
        pub warning: String,
    }

    /// A `ValidatingAdmissionPolicyBinding`.
    pub struct ValidatingAdmissionPolicyBinding {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: BindingSpec,
    }

    /// `spec` of a binding.
    pub struct BindingSpec {
        /// Name of the policy.
        #[prost(string, tag = "1")]
        pub policy_name: String,
        /// Parameters of the policy.
        #[prost(message, optional, tag = "2")]
        pub param_ref: Option<ParamRef>,
        /// The requests that the binding is about.
        #[prost(message, optional, tag = "3")]
        pub match_resources: Option<MatchResources>,
        /// The actions where the policy does not hold: `Deny`, `Warn`, `Audit`.
        #[prost(string, repeated, tag = "4")]
        pub validation_actions: Vec<String>,
    }

    /// The parameters of a binding.
    pub struct ParamRef {
        /// The name of the parameters.
        #[prost(string, tag = "1")]
        pub name: String,
        /// The namespace of the parameters.
        #[prost(string, tag = "2")]
        pub namespace: String,
        /// The labels of the parameters.
        #[prost(message, optional, tag = "3")]
        pub selector: Option<LabelSelector>,
        /// `Allow` or `Deny`.
        #[prost(string, optional, tag = "4")]
        pub parameter_not_found_action: Option<String>,
    }

    /// The resources of a rule.
    pub struct Rule {
        /// The API groups.
        #[prost(string, repeated, tag = "1")]
        pub api_groups: Vec<String>,
        /// The versions of these groups.
        #[prost(string, repeated, tag = "2")]
        pub api_versions: Vec<String>,
        /// The resources.
        #[prost(string, repeated, tag = "3")]
        pub resources: Vec<String>,
        /// `Cluster`, `Namespaced` or `*`.
        #[prost(string, optional, tag = "4")]
        pub scope: Option<String>,
    }
}

/// Operations and resources, with names. JSON has its three parts in one object.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NamedRuleWithOperations {
    /// The names of the objects; empty for all.
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub resource_names: Vec<String>,
    /// The operations and the resources.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    pub rule_with_operations: RuleWithOperations,
}

/// Operations and resources.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RuleWithOperations {
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT` or `*`.
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub operations: Vec<String>,
    /// The resources.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    pub rule: Rule,
}

/// Returns the row of an object with a name of the guard.
fn row_of<T: SlimObject>(object: &T, metadata: &ObjectMeta, folder: &mut Folder) -> Folded {
    // The policies and bindings of others have no row.
    if !metadata.name.starts_with(GUARD_NAME) {
        return Folded::Counted;
    }
    let kind: Kind = T::KIND;
    // Texts, numbers and lists of them are always written.
    let document =
        serde_json::to_value(object.document(kind.group().version)).unwrap_or(Value::Null);
    let row = model::AdmissionObject { kind, metadata: metadata.fold(folder), document };
    Folded::Row(Row::AdmissionObject(Box::new(row)))
}

impl SlimObject for ValidatingAdmissionPolicy {
    fn row(&self, folder: &mut Folder) -> Folded {
        row_of(self, &self.metadata, folder)
    }
}

impl SlimObject for ValidatingAdmissionPolicyBinding {
    fn row(&self, folder: &mut Folder) -> Folded {
        row_of(self, &self.metadata, folder)
    }
}
