//! Custom resources of a namespace that use claims, as they were listed.

use super::CustomKind;

/// The custom resources of a namespace that use claims, or whose operator knows claims by its
/// name: of the kinds that are served, at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomUsers {
    /// The objects.
    pub users: Vec<CustomUser>,
    /// The kinds that are served, but could not be listed.
    pub unlisted: Vec<UnlistedKind>,
}

/// A custom resource that uses claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomUser {
    /// Its kind.
    pub kind: &'static CustomKind,
    /// Its name.
    pub name: Box<str>,
    /// Whether it has no namespace: it can be used in every one.
    pub cluster_wide: bool,
    /// Whether it starts no more pods.
    pub finished: bool,
    /// The claims that it names.
    pub claims: Box<[NamedClaim]>,
}

/// A claim that a custom resource names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedClaim {
    /// The name of the claim, or of the template from which claims are made.
    pub name: Box<str>,
    /// How it is named.
    pub by: NamedBy,
    /// The field that names it.
    pub field: Box<str>,
}

/// How a custom resource names a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// By its own name, which is that of the claim.
    OwnName,
    /// By a field with the name of the claim.
    Field,
    /// By a template from which its claims are made.
    Template,
}

/// Why a kind is not listed of which somebody else's dump may hold more: nobody can be asked.
pub const OF_A_DUMP: &str = "the dump does not show that it holds all of them";

/// A kind that is served, but could not be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlistedKind {
    /// The kind.
    pub kind: &'static CustomKind,
    /// Why it was not listed.
    pub reason: Box<str>,
}

/// Whether a name contains a placeholder that is filled in only when pods are made.
pub fn is_placeholder(name: &str) -> bool {
    name.contains("{{") || name.contains("$(") || name.contains("${")
}

impl CustomUser {
    /// Returns the object as messages name it.
    pub fn object(&self) -> String {
        self.kind.object(&self.name)
    }

    /// Returns how it names a claim of its namespace, if it does.
    pub fn names(&self, claim: &str) -> Option<&NamedClaim> {
        self.claims.iter().find(|it| match it.by {
            NamedBy::OwnName | NamedBy::Field => *it.name == *claim,
            NamedBy::Template => self.is_of_template(&it.name, claim),
        })
    }

    /// Whether a claim is called like one of its template: `TEMPLATE-SET-ORDINAL`.
    fn is_of_template(&self, template: &str, claim: &str) -> bool {
        let rest = claim.strip_prefix(template).and_then(|it| it.strip_prefix('-'));
        let ordinal = rest.and_then(|it| it.strip_prefix(&*self.name)?.strip_prefix('-'));
        ordinal.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
    }
}
