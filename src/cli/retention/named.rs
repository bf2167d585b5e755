//! Selection of StatefulSets by name, namespace and label, and what deleting one does to its claims.

use crate::{
    cli::{
        Failure,
        args::{ConnectionArgs, narrowed_scope, object_name},
        collect::{Collected, connect},
        named::not_found,
        terminal,
    },
    cluster::{Cluster, Gap, Unseen},
    model::{
        Cascade, Kind, ObjectKey, ObjectRef, Scope, Settings, StatefulSet, Text, escape_control,
    },
    output::report::wrap,
    remedies::delete_with_claims,
};

/// Selection of StatefulSets that the user asked for.
#[derive(Debug)]
pub(in crate::cli) struct NamedSets {
    /// Names of the sets; empty for all.
    pub(in crate::cli) names: Vec<String>,
    /// Namespaces and labels of the sets.
    pub(in crate::cli) scope: Scope,
    /// Whether all namespaces are meant.
    everywhere: bool,
    /// Namespaces that may not exist.
    pub(super) doubts: Vec<Unseen>,
}

impl NamedSets {
    /// Parses the names, namespaces and selector that were typed.
    pub(in crate::cli) fn parse<'a>(
        names: &[String],
        namespaces: impl IntoIterator<Item = &'a str>,
        everywhere: bool,
        selector: Option<&str>,
    ) -> Result<Self, Failure> {
        let parsed = names.iter().map(|it| object_name(it, Kind::StatefulSet));
        let mut names = parsed.collect::<Result<Vec<_>, _>>()?;
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        if names.len() < count {
            return Err(Failure::usage("a StatefulSet is given twice"));
        }
        let scope = narrowed_scope(namespaces, selector)?;
        Ok(Self { names, scope, everywhere, doubts: Vec::new() })
    }

    /// Fails if a given namespace does not exist, and keeps those that may not as doubts.
    pub(super) async fn expect(&mut self, collected: &mut Collected) -> Result<(), Failure> {
        let given = self.scope.namespaces.iter().map(|it| &**it);
        let doubts = collected.expect_namespaces(given).await?.into_iter();
        let unseen = |Gap { kind, namespace, reason }| Unseen { kind, namespace, reason };
        self.doubts = doubts.map(unseen).collect();
        Ok(())
    }

    /// Sets the namespace of the context, unless another one or all are meant. A dump has none, and
    /// is shown whole.
    pub(in crate::cli) fn settle(&mut self, collected: &Collected) {
        if self.scope.namespaces.is_empty() && !self.everywhere {
            self.scope.namespaces.extend(collected.namespace.as_deref().map(Text::from));
        }
    }

    /// Returns the scope for a command that does not read the cluster at once: with the namespace of the context,
    /// unless another one or all are meant.
    pub(in crate::cli) async fn scope_of(
        mut self,
        connection: &ConnectionArgs,
    ) -> Result<Scope, Failure> {
        if self.scope.namespaces.is_empty() && !self.everywhere {
            let connected = connect(connection, None).await?;
            self.scope.namespaces.insert(connected.namespace.as_str().into());
        }
        Ok(self.scope)
    }

    /// Whether the selection contains a set.
    pub(super) fn contains(&self, set: &StatefulSet) -> bool {
        let scope = &self.scope;
        scope.includes(&set.namespace)
            && (self.names.is_empty() || self.names.iter().any(|it| **it == *set.metadata.name))
            && (scope.selector.is_empty() || scope.selector.matches(&set.metadata.labels))
    }

    /// Fails if no set has one of the names.
    pub(super) fn found(&self, collected: &Collected) -> Result<(), Failure> {
        let cluster = &collected.intake.cluster;
        for name in &self.names {
            let is_it = |set: &StatefulSet| {
                *set.metadata.name == **name && self.scope.includes(&set.namespace)
            };
            if !cluster.sets().any(|(_, set)| is_it(set)) {
                let namespace = self.scope.namespace().map_or("default", |it| it);
                let key = ObjectKey::named(Kind::StatefulSet, namespace, name);
                return Err(not_found(cluster, &key));
            }
        }
        Ok(())
    }
}

/// Returns the only namespace that has a set of this name, for dumps, which have no current one.
pub(super) fn only_namespace(cluster: &Cluster, name: &str) -> Result<String, Failure> {
    let sets = cluster.sets().filter(|(_, set)| *set.metadata.name == *name);
    let mut places: Vec<_> = sets.map(|(_, set)| set.namespace.to_string()).collect();
    places.sort_unstable();
    match &places[..] {
        [one] => Ok(one.clone()),
        [] => Ok("default".to_owned()),
        many => Err(Failure::usage(format!(
            "sts/{name} exists in {} namespaces: {}",
            many.len(),
            many.join(", ")
        ))
        .hint(Some("choose one with -n NAMESPACE"))),
    }
}

/// Shows on stderr what becomes of each claim if a set is deleted, as the plan assumes it.
pub(in crate::cli) async fn show_deletion(
    collected: &mut Collected,
    settings: &Settings,
    object: &ObjectRef,
    cascade: Cascade,
) -> Result<(), Failure> {
    let foretold =
        collected.make(settings, |cx| delete_with_claims::foretell(cx, object, cascade)).await?;
    let lines = match foretold {
        Ok(lines) if lines.is_empty() => return Ok(()),
        Ok(lines) => lines,
        Err(unseen) => vec![format!("not read: {}: {}", unseen.kind.plural(), unseen.reason)],
    };
    let key = &object.key;
    terminal::note(&format!(
        "if {key} is deleted with --cascade={}:",
        cascade.policy().to_lowercase()
    ));
    let width = terminal::width().map_or(usize::MAX, usize::from);
    for line in lines {
        for part in wrap(&escape_control(&line), width) {
            terminal::note(&part);
        }
    }
    Ok(())
}
