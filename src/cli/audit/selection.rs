//! Selection of the findings that an audit is about: by flags, and by named objects.

use std::{collections::BTreeSet, io};

use clap::Args;
use clap_complete::ArgValueCandidates;

use crate::{
    cli::{
        Failure,
        args::{namespace, scope, unknown_rule},
        collect::Collected,
        completion,
        named::{NamedObject, short, similar},
        namespaces::similar as similar_namespaces,
    },
    cluster::Gap,
    model::{FieldSelector, Kind, ObjectKey, Scope, Settings, Text, escape_control},
    rules::{self, UnreadGap},
};

/// Which findings are reported, and judged by `--fail-on`.
#[derive(Debug, Args)]
pub(super) struct SelectionArgs {
    /// Report only these objects: pv/NAME, pvc/NAME, sts/NAME…
    #[arg(value_name = "KIND/NAME", conflicts_with_all = ["all_namespaces", "selector", "field_selector"])]
    objects: Vec<String>,
    /// Report only claims of this namespace, or of several (a,b), and volumes whose claim is or was there
    #[arg(short, long = "namespace", value_name = "NAMESPACE", value_delimiter = ',',
          value_parser = namespace, conflicts_with = "all_namespaces")]
    namespaces: Vec<String>,
    /// Report on the whole cluster, which is the default
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Report only objects with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// Report only objects with this metadata.name or metadata.namespace
    #[arg(long, value_name = "SELECTOR")]
    field_selector: Option<String>,
    /// Report only these findings; can be repeated
    #[arg(long, value_name = "ID", value_delimiter = ',', add = ArgValueCandidates::new(completion::rule_ids))]
    rule: Vec<String>,
    /// Leave out these findings; can be repeated
    #[arg(long, value_name = "ID", value_delimiter = ',', add = ArgValueCandidates::new(completion::rule_ids))]
    ignore: Vec<String>,
}

impl SelectionArgs {
    /// Parses the scope as far as it is known before anything is read: all but the keys of named objects.
    pub(super) fn parse(&self) -> Result<(Scope, Vec<NamedObject>), Failure> {
        let ids = |ids: &[String]| {
            let known = |id: &String| match rules::find(id) {
                Some(rule) => Ok(Text::from(rule.id)),
                None => Err(unknown_rule(id)),
            };
            ids.iter().map(known).collect::<Result<BTreeSet<_>, _>>()
        };
        let named = self.objects.iter().map(|it| judged(it)).collect::<Result<Vec<_>, _>>()?;
        if !named.is_empty() && self.namespaces.len() > 1 {
            return Err(Failure::usage("several namespaces are given for the named objects")
                .hint(Some("name each object as KIND/NAMESPACE/NAME")));
        }
        // Beside names, a namespace only says where they are.
        let namespaces = if named.is_empty() { &*self.namespaces } else { &[] };
        let fields = self.field_selector.as_deref().map(FieldSelector::parse).transpose();
        let scope = Scope {
            rules: ids(&self.rule)?,
            ignored: ids(&self.ignore)?,
            fields: fields.map_err(|error| Failure::usage(error.to_string()))?.unwrap_or_default(),
            ..scope(namespaces.iter().map(String::as_str), self.selector.as_deref())?
        };
        Ok((scope, named))
    }

    /// Returns the namespace of the connection, where one is given.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespaces.first().map(String::as_str)
    }

    fn given_namespaces<'a>(&'a self, settings: &'a Settings) -> impl Iterator<Item = &'a str> {
        let given = self.namespaces.iter().map(String::as_str);
        given.chain(settings.scope.fields.namespaces())
    }

    /// Returns the given namespaces that one of several clusters lacks, each with those that may be meant. What cannot
    /// be known is a gap.
    pub(super) async fn absent_namespaces(
        &self,
        collected: &mut Collected,
        settings: &Settings,
    ) -> Result<Vec<(String, Vec<String>)>, Failure> {
        let (_, absent) = collected.find_namespaces(self.given_namespaces(settings)).await?;
        let cluster = &collected.intake.cluster;
        Ok(absent.into_iter().map(|it| (it.to_owned(), similar_namespaces(cluster, it))).collect())
    }

    /// Completes the scope from what was read; fails if a named thing does not exist. What cannot be known is a gap.
    pub(super) async fn settle(
        &self,
        named: &[NamedObject],
        collected: &mut Collected,
        settings: &mut Settings,
    ) -> Result<(), Failure> {
        collected.expect_namespaces(self.given_namespaces(settings)).await?;
        let place = self.namespace().map(str::to_owned).or_else(|| collected.namespace.clone());
        for object in named {
            let key = object.key(&collected.intake.cluster, place.as_deref())?;
            collected.blind.extend(expect(collected, &key)?);
            settings.scope.objects.insert(key);
        }
        Ok(())
    }
}

/// Parses KIND/NAME, of a kind that has findings.
fn judged(text: &str) -> Result<NamedObject, Failure> {
    let Some((kind, name)) = text.split_once('/') else {
        return Err(Failure::usage(format!("\"{}\" lacks a kind", escape_control(text)))
            .hint(Some("expected KIND/NAME, such as pv/NAME or pvc/NAME")));
    };
    let named = NamedObject::parse(kind, name)?;
    match named.kind() {
        Kind::VolumeSnapshot => Err(Failure::usage("a VolumeSnapshot has no findings of its own")
            .hint(Some("those of its content are at vsc/NAME"))),
        _ => Ok(named),
    }
}

/// Fails if an object does not exist; returns the gap where that cannot be known.
fn expect(collected: &Collected, key: &ObjectKey) -> Result<Option<UnreadGap>, Failure> {
    let cluster = &collected.intake.cluster;
    let exists = match key.kind {
        Kind::CsiDriver => cluster.has_driver(&key.name),
        _ => cluster.subject(key).is_some(),
    };
    if exists || cluster.kept_backends().any(|it| it.object().key == *key) {
        return Ok(None);
    }
    let shown = match (&key.namespace, short(key.kind)) {
        (Some(namespace), kind) => format!("{kind}/{namespace}/{}", key.name),
        (None, kind) => format!("{kind}/{}", key.name),
    };
    let Err(unseen) = cluster.reach(key.kind, key.namespace.as_ref()) else {
        let uses = if key.kind == Kind::Pod { " that uses a claim" } else { "" };
        let told = format!("no {shown}{uses} in {}", collected.this_place());
        return Err(Failure::error(io::Error::new(io::ErrorKind::NotFound, told))
            .hint(similar(cluster, key)));
    };
    let reason = match collected.live {
        Some(_) => format!("{}; {shown} may exist", unseen.reason),
        None => format!("{shown} may exist: the dump contains no whole list"),
    };
    let gap = Gap { kind: key.kind, namespace: unseen.namespace, reason };
    Ok(Some(UnreadGap { gap, rules: Vec::new() }))
}
