//! `kubectl storage explain ID|OBJ`.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;

use super::{
    Exit, Failure,
    args::ConnectionArgs,
    collect::{ClusterSource, Collected, collect, tell},
    terminal,
};
use crate::{
    cluster::{Cluster, Subject},
    dump::Input,
    model::{Kind, ObjectKey, Settings, Text, escape_control},
    output::{
        explanation,
        format::Format,
        list as write_list,
        publish::{self, ReportOrigin},
        report::wrap,
        wire::Source,
    },
    rules::{self, REGISTRY, Rule},
};

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The id of a finding, or an object: pv/NAME, pvc/NAME, sts/NAME or driver/NAME; `driver` lists
    /// the drivers, and without one, all ids are listed
    #[arg(value_name = "ID|OBJECT", add = clap_complete::ArgValueCandidates::new(super::complete::rule_ids))]
    subject: Option<String>,
    /// The namespace of the object [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Explain what a saved dump shows: a file, a folder or - for stdin; can be repeated
    #[arg(short, long = "filename", value_name = "DUMP", value_hint = clap::ValueHint::AnyPath)]
    filename: Vec<PathBuf>,
    /// Output format of an object's explanation: table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: String,
}

impl ExplainArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.format()?;
        let Some(subject) = &self.subject else {
            terminal::print(list).map_err(Failure::error)?;
            return Ok(Exit::Done);
        };
        if DRIVER.contains(&&**subject) {
            return self.drivers(connection).await;
        }
        if let Some((resource, name)) = subject.split_once('/') {
            return self.object(connection, resource, name, &format).await;
        }
        let Some(rule) = rules::find(subject) else {
            return Err(super::args::unknown_rule(subject));
        };
        terminal::print(|out| explain(out, rule)).map_err(Failure::error)?;
        Ok(Exit::Done)
    }

    fn format(&self) -> Result<Format, Failure> {
        let parsed = self.output.parse::<Format>();
        let format = parsed.map_err(|error| Failure::usage(error.to_string()))?;
        match format {
            Format::Table | Format::Json | Format::Yaml => Ok(format),
            Format::Wide
            | Format::Name
            | Format::JsonPath(_)
            | Format::JsonPathAsJson(_)
            | Format::JsonPathFile(_)
            | Format::CustomColumns(_)
            | Format::CustomColumnsFile(_) => Err(Failure::usage(format!(
                "explain prints no {:?}; there are table, json and yaml",
                self.output
            ))),
        }
    }

    async fn object(
        &self,
        connection: &ConnectionArgs,
        resource: &str,
        name: &str,
        format: &Format,
    ) -> Result<Exit, Failure> {
        let kinds = [Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::StatefulSet];
        let is_driver = DRIVER.contains(&resource);
        let known = Kind::parse_resource(resource).filter(|kind| kinds.contains(kind));
        let Some(kind) = known.or(is_driver.then_some(Kind::CsiDriver)) else {
            let told = format!("{resource:?} is no kind that can be explained");
            return Err(Failure::usage(told).hint(Some(
                "there are pv/NAME, pvc/NAME, sts/NAME and driver/NAME, and ids of findings"
                    .to_owned(),
            )));
        };
        // Provisioners that are not CSI have a slash in their name: rancher.io/local-path.
        if name.is_empty() || name.contains('/') && !is_driver {
            return Err(Failure::usage(format!("{resource}/{name} names no object"))
                .hint(Some("the namespace goes into -n".to_owned())));
        }
        let (from, source) = self.source(connection);
        let settings = Settings::default();
        let collected = collect(from, &settings, None).await?;
        let cluster = &collected.intake.cluster;
        if is_driver {
            let subject = Subject::Driver(name.into());
            let explained = rules::explain(cluster, &settings, &subject);
            let explained = explained.expect("because every driver can be explained");
            return print(&collected, &settings, &subject, explained, format, source);
        }
        let key = self.key(&collected, kind, name)?;
        let found = cluster.subject(&key);
        let explained = found.and_then(|subject| {
            rules::explain(cluster, &settings, &subject).map(|it| (subject, it))
        });
        let Some((subject, explained)) = explained else {
            tell(&collected, "audit");
            return Err(not_there(cluster, &key));
        };
        print(&collected, &settings, &subject, explained, format, source)
    }

    fn source<'a>(&'a self, connection: &'a ConnectionArgs) -> (ClusterSource<'a>, Source) {
        if self.filename.is_empty() {
            let namespace = self.namespace.as_deref();
            return (ClusterSource::Live { connection, namespace }, Source::Live);
        }
        let inputs = self.filename.iter().map(Input::parse).collect();
        let dumps = ClusterSource::Dumps { inputs, complete: BTreeSet::new(), taken_at: None };
        (dumps, Source::Dump)
    }

    /// Lists the drivers that the cluster has, with what is known of them.
    async fn drivers(&self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let (from, _) = self.source(connection);
        let settings = Settings::default();
        let collected = collect(from, &settings, None).await?;
        let cluster = &collected.intake.cluster;
        let rows: Vec<_> = rules::drivers(cluster, &settings);
        terminal::print(|out| list_drivers(out, &rows)).map_err(Failure::error)?;
        tell(&collected, "explain");
        let unseen = cluster.gaps().next().is_some();
        Ok(if unseen { Exit::Incomplete } else { Exit::Done })
    }

    /// Which object is meant. In a dump, a name that only one namespace has needs no `-n`.
    fn key(&self, collected: &Collected, kind: Kind, name: &str) -> Result<ObjectKey, Failure> {
        if !kind.is_namespaced() {
            return Ok(ObjectKey::cluster_wide(kind, name));
        }
        let known = self.namespace.as_deref().or(collected.namespace.as_deref());
        if let Some(namespace) = known {
            return Ok(ObjectKey { kind, namespace: Some(namespace.into()), name: name.into() });
        }
        let cluster = &collected.intake.cluster;
        let mut places: Vec<Text> = match kind {
            Kind::StatefulSet => cluster
                .sets()
                .filter(|(_, set)| *set.metadata.name == *name)
                .map(|(_, set)| Text::clone(&set.namespace))
                .collect(),
            _ => cluster
                .claims()
                .filter(|(_, claim)| *claim.metadata.name == *name)
                .map(|(_, claim)| Text::clone(&claim.namespace))
                .collect(),
        };
        places.sort();
        match &places[..] {
            [] => Ok(ObjectKey { kind, namespace: Some("default".into()), name: name.into() }),
            [one] => Ok(ObjectKey { kind, namespace: Some(Text::clone(one)), name: name.into() }),
            many => Err(Failure::usage(format!(
                "{}/{} is in more than one namespace: {}",
                kind.short(),
                escape_control(name),
                many.iter().map(|it| &**it).collect::<Vec<_>>().join(", ")
            ))
            .hint(Some("say which with -n".to_owned()))),
        }
    }
}

fn print(
    collected: &Collected,
    settings: &Settings,
    subject: &Subject,
    explained: rules::Explanation,
    format: &Format,
    source: Source,
) -> Result<Exit, Failure> {
    let cluster = &collected.intake.cluster;
    let now = cluster.clock();
    let findings = collected.assessor.findings_of(cluster, settings, subject);
    let findings = findings.into_iter().map(|it| publish::finding(it, now)).collect();
    let journal = collected.journal.as_ref().map(|path| path.display().to_string());
    let about = publish::metadata(cluster, settings, ReportOrigin { source, journal });
    let whole = explanation::Explanation::new(explained, about, findings);
    terminal::print(|out| match format {
        Format::Json => write_list::json(out, &whole),
        Format::Yaml => write_list::yaml(out, &whole),
        _ => whole.print(out, terminal::width().map_or(100, usize::from)),
    })
    .map_err(Failure::error)?;
    Ok(if whole.gaps.is_empty() { Exit::Done } else { Exit::Incomplete })
}

fn not_there(cluster: &Cluster, key: &ObjectKey) -> Failure {
    match cluster.reach(key.kind, key.namespace.as_ref()) {
        Ok(()) => {
            Failure::error(io::Error::new(io::ErrorKind::NotFound, format!("{key} does not exist")))
        }
        Err(unseen) => {
            Failure::error(io::Error::other(format!("{key} was not seen: {}", unseen.reason)))
        }
    }
}

/// The words for a driver or a provisioner.
const DRIVER: [&str; 4] = ["driver", "drivers", "csidriver", "csidrivers"];

fn list_drivers(out: &mut dyn Write, rows: &[rules::DriverLine]) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "no driver and no provisioner was seen");
    }
    for row in rows {
        let volumes = match row.volumes {
            1 => "1 volume".to_owned(),
            many => format!("{many} volumes"),
        };
        let name = escape_control(&row.name);
        writeln!(out, "{name}: {}, {volumes}, provisioner {}", row.title, row.provisioner)?;
    }
    writeln!(out, "\n`kubectl storage explain driver/NAME` tells the rest.")
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let width = REGISTRY.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in REGISTRY.iter() {
        writeln!(out, "{:width$}   {:8}   {}", rule.id, rule.severity.name(), rule.title)?;
    }
    Ok(())
}

/// How people call what is looked at.
const fn looked_at(kind: Kind) -> &'static str {
    match kind {
        Kind::PartialObjectMetadata => "whatever owners a claim names",
        _ => kind.plural(),
    }
}

fn explain(out: &mut dyn Write, rule: &Rule) -> io::Result<()> {
    writeln!(out, "{} ({})", rule.id, rule.severity.name())?;
    let looks_at: Vec<_> = rule.looks_at().into_iter().map(looked_at).collect();
    for (heading, text) in [
        ("What it means", rule.title),
        ("Why it is dangerous", rule.danger),
        ("What the tool does and refuses", rule.remedy),
        ("Looks at", &looks_at.join(", ")),
        ("Source", rule.source),
    ] {
        writeln!(out, "\n{heading}:")?;
        for line in wrap(text, 76) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
