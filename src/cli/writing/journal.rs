//! `kubectl storage journal`: lists the changes that were made, with their outcomes.

use std::collections::BTreeSet;

use clap::Args;

use crate::apply::{cluster_history, cluster_journal, journal_namespaces};
use crate::cli::{
    Exit, Failure,
    args::{ConnectionArgs, JOURNAL_NAMESPACES, JournalPlaceArgs, format},
    collect::{ClusterSource, Collected, collect, dump_failure},
    completion::{DOCUMENTS, formats},
    terminal,
};
use crate::cluster::Cluster;
use crate::journal::{self, Entry, History, Outcome};
use crate::model::{Answer, AskedEntry, JournalPlace, Kind, Question, Settings, escape_control};
use crate::output::{
    format::Format,
    list,
    writing::{self, ClusterJournal},
};
use crate::sources::answers;

/// Arguments of `journal`.
#[derive(Debug, Args)]
pub struct JournalArgs {
    /// Show only this entry; with -o yaml, including the request and the object before it
    #[arg(value_name = "ENTRY")]
    entry: Option<AskedEntry>,
    /// Show only entries whose outcome is unknown
    #[arg(long, conflicts_with = "entry")]
    open: bool,
    /// Show the journals of all clusters that this machine has, without connecting to any
    #[arg(long, conflicts_with_all = ["entry", "cluster_journal"])]
    all: bool,
    #[command(flatten)]
    place: JournalPlaceArgs,
    /// Print in this format: table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(DOCUMENTS))]
    output: String,
}

impl JournalArgs {
    pub(in crate::cli) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.format()?;
        let wanted = self.place.entry(self.entry)?;
        let (journals, elsewhere) = if self.all {
            (self.of_all_clusters()?, BTreeSet::new())
        } else {
            Box::pin(self.of_this_cluster(connection, wanted)).await?
        };
        let shape = writing::journal(journals);
        let width = terminal::width().map_or(80, usize::from);
        terminal::print(|out| match format {
            Format::Json => list::json(out, &shape),
            Format::Yaml => list::yaml(out, &shape),
            _ => writing::journal_table(out, &shape, width),
        })
        .map_err(Failure::error)?;
        for of in &shape.journals {
            if of.entries.is_empty() {
                let what = if self.open { "no open entry in" } else { "no entry in" };
                terminal::note(&format!("{what} {}", escape_control(&of.file)));
            }
            for note in &of.notes {
                terminal::note(&escape_control(&format!("note: {}: {note}", of.file)));
            }
        }
        if shape.journals.is_empty() {
            terminal::note("this machine has no journal");
        }
        for namespace in elsewhere {
            terminal::note(&format!(
                "hint: namespace {} holds another journal: `journal --cluster-journal={0}` lists it",
                escape_control(&namespace)
            ));
        }
        Ok(Exit::Done)
    }

    fn format(&self) -> Result<Format, Failure> {
        format(&self.output, &[Format::Table, Format::Json, Format::Yaml], |it| {
            format!("unsupported format {it}; a journal is printed as table, json or yaml")
        })
    }

    fn of_all_clusters(&self) -> Result<Vec<ClusterJournal>, Failure> {
        let Some(home) = journal::home() else { return Err(no_home()) };
        let folders = journal::folders(&home).map_err(|error| {
            let context = format!("failed to list {}", home.display());
            Failure::error(anyhow::Error::new(error).context(context))
        })?;
        let mut journals = Vec::new();
        for folder in folders {
            // One that cannot be read must not hide the others.
            let file = journal::file(&folder).display().to_string();
            journals.push(match journal::history(&folder) {
                Ok(history) => self.shape(file, history, None, &mut |_| {
                    unknown(
                        "no cluster was \
                 connected to",
                    )
                }),
                Err(error) => {
                    let note = format!("{:#}", anyhow::Error::new(error));
                    ClusterJournal { file, entries: Vec::new(), notes: vec![note] }
                }
            });
        }
        Ok(journals)
    }

    async fn of_this_cluster(
        &self,
        connection: &ConnectionArgs,
        wanted: Option<u64>,
    ) -> Result<(Vec<ClusterJournal>, BTreeSet<String>), Failure> {
        let from = ClusterSource::Named { connection, namespace: None, objects: &[] };
        let mut settings = Settings::default();
        self.place.take_into(&mut settings);
        let mut collected = collect(from, &settings, None).await.map_err(|failure| {
            let here = "`journal --all` lists the journals of this machine without a cluster";
            let hint = match &failure.hint {
                Some(hint) => format!("{hint}; {here}"),
                None => here.to_owned(),
            };
            failure.hint(Some(hint))
        })?;
        let (file, history) = read(&collected).await?;
        if let Some(wanted) = wanted
            && history.entry(wanted).is_none()
        {
            return Err(no_entry(&history, wanted));
        }
        let mut found = vec![(file, history)];
        let mut elsewhere = namespaces(&collected).await;
        // Where no journal is named, all are meant.
        if self.place.namespace().is_none() && wanted.is_none() {
            found.extend(in_cluster(&collected, &mut elsewhere).await);
        }
        for (_, history) in &found {
            ask(&mut collected, history.open().filter(|it| self.wants(it, wanted))).await?;
        }
        let cluster = &collected.intake.cluster;
        let shape =
            |(file, history)| self.shape(file, history, wanted, &mut |entry| now(cluster, entry));
        Ok((found.into_iter().map(shape).collect(), elsewhere))
    }

    fn wants(&self, entry: &Entry, wanted: Option<u64>) -> bool {
        wanted.is_none_or(|wanted| entry.sequence == wanted) && (!self.open || entry.is_open())
    }

    fn shape(
        &self,
        file: String,
        history: History,
        wanted: Option<u64>,
        state: &mut dyn FnMut(&Entry) -> String,
    ) -> ClusterJournal {
        let whole = wanted.is_some();
        let shown = history.entries.iter().filter(|it| self.wants(it, wanted));
        let entries = shown
            .map(|it| writing::journal_entry(it, &history, whole, |it| to_look_at(it, &state(it))))
            .collect();
        ClusterJournal { file, entries, notes: history.notes }
    }
}

/// Reads the journal of the cluster that was collected, and returns it with its name.
pub(in crate::cli) async fn read(collected: &Collected) -> Result<(String, History), Failure> {
    if let Some((live, namespace)) = collected.live.as_ref().zip(collected.cluster_journal.as_ref())
    {
        let history = cluster_history(&live.reader, namespace).await.map_err(|error| {
            Failure::error(error).hint(Some(format!(
                "`kubectl storage rbac journal --cluster-journal={namespace}` prints the permissions \
                 to read it"
            )))
        })?;
        return Ok((cluster_journal(namespace), history));
    }
    let Some(folder) = folder(collected) else { return Err(no_home()) };
    let history = journal::history(&folder).map_err(Failure::error)?;
    Ok((journal::file(&folder).display().to_string(), history))
}

/// Returns the namespaces that hold journals, as far as that is known, besides the one that is read.
async fn namespaces(collected: &Collected) -> BTreeSet<String> {
    let Some(live) = &collected.live else { return BTreeSet::new() };
    let mut found = journal_namespaces(&live.reader, &JOURNAL_NAMESPACES).await;
    if let Some(own) = &collected.cluster_journal {
        found.remove(&**own);
    }
    found
}

/// Reads the journals in their default namespaces, and removes these from `found`. A journal in another namespace can
/// be forged by all who may create `ConfigMap`s there.
async fn in_cluster(collected: &Collected, found: &mut BTreeSet<String>) -> Vec<(String, History)> {
    let Some(live) = &collected.live else { return Vec::new() };
    let mut read = Vec::new();
    for namespace in JOURNAL_NAMESPACES {
        if found.contains(namespace)
            && let Ok(history) = cluster_history(&live.reader, namespace).await
        {
            found.remove(namespace);
            read.push((cluster_journal(namespace), history));
        }
    }
    read
}

/// Reads the journal for a command that goes on to write, and tells what is wrong with it. Nothing rests on what was
/// recorded in another cluster.
pub(super) async fn recall(collected: &Collected) -> Result<History, Failure> {
    recalled(collected, true).await
}

/// Does the same; without `tells`, notes that were told before are not told again.
pub(super) async fn recalled(collected: &Collected, tells: bool) -> Result<History, Failure> {
    let (own, others) = futures::join!(read(collected), others(collected, tells));
    let (file, mut history) = own?;
    if let Some(why) = &history.distrusted {
        let error = anyhow::anyhow!(escape_control(&format!("{file}: {why}")).into_owned());
        return Err(Failure { exit: Exit::Refused, error, hint: None }
            .hint(Some("`journal` lists it; nothing is undone or destroyed by it")));
    }
    for note in history.notes.iter().filter(|_| tells) {
        terminal::note(&escape_control(&format!("note: journal: {note}")));
    }
    history.others.extend(others);
    Ok(history)
}

/// Reads the journals that the command does not use: the file of this machine, and those in the cluster at their
/// defaults. What they record can forbid something. Tells where one cannot be read.
async fn others(collected: &Collected, tells: bool) -> Vec<History> {
    let Some(live) = &collected.live else { return Vec::new() };
    let mut found = Vec::new();
    if collected.cluster_journal.is_some()
        && let Some(folder) = folder(collected)
    {
        found.push((JournalPlace::Machine, journal::history(&folder)));
    }
    for namespace in JOURNAL_NAMESPACES {
        if collected.cluster_journal.as_deref() != Some(namespace) {
            let read = cluster_history(&live.reader, namespace).await;
            found.push((JournalPlace::Cluster(namespace.into()), read));
        }
    }
    for (place, read) in &found {
        if let Err(error) = read
            && tells
        {
            let told = format!("note: the journal {place} does not count: {}", error.with_cause());
            terminal::note(&escape_control(&told));
        }
    }
    found.into_iter().filter_map(|it| it.1.ok()).collect()
}

/// Returns the folder of this machine's records of the cluster that was read.
pub(super) fn folder(collected: &Collected) -> Option<std::path::PathBuf> {
    let live = collected.live.as_ref()?;
    let uid = collected.intake.cluster.server().and_then(|it| it.cluster_uid.clone());
    journal::folder(uid.as_deref(), &live.connection.server, &live.connection.authority)
}

/// Returns the failure that the journal has no such entry, or two of them.
pub(super) fn no_entry(history: &History, wanted: u64) -> Failure {
    let twice = history.entries.iter().any(|it| it.sequence == wanted);
    let wanted = history.numbered(wanted);
    let told = match twice {
        true => format!("the journal has more than one entry {wanted}: it was edited"),
        false => format!("the journal has no entry {wanted}"),
    };
    let hint = match &history.place {
        JournalPlace::Machine => "`journal` lists all entries".to_owned(),
        JournalPlace::Cluster(namespace) => {
            format!("`journal --cluster-journal={namespace}` lists all entries")
        }
    };
    Failure { exit: Exit::Refused, error: anyhow::anyhow!(told), hint: Some(hint) }
}

fn no_home() -> Failure {
    Failure::error(anyhow::anyhow!("no folder for the journal is known"))
        .hint(Some("set XDG_STATE_HOME to the folder that contains it"))
}

/// Asks whether the objects of entries exist, by name.
pub(super) async fn ask(
    collected: &mut Collected,
    entries: impl Iterator<Item = &Entry>,
) -> Result<(), Failure> {
    let keys: BTreeSet<_> = entries.map(|it| it.intent.object.key.clone()).collect();
    let Some(live) = &collected.live else { return Ok(()) };
    let questions = keys.into_iter().map(Question::Exists);
    answers::ask(&live.reader, questions, &mut collected.intake).await.map_err(dump_failure)
}

/// Returns what to check where the outcome of an entry is unknown.
pub(super) fn to_look_at(entry: &Entry, state: &str) -> String {
    let known = match entry.last() {
        None => "the run ended before it recorded whether the request was sent",
        Some(Outcome::Sent) => "the request succeeded, but the run ended before it was verified",
        _ => "the request was sent but not answered, and may have taken effect",
    };
    format!("{known}; check its object: {state}")
}

fn unknown(why: &str) -> String {
    format!("its present state is unknown, since {why}")
}

/// Returns the state of the object of an entry, as far as it bears on the entry.
pub(super) fn now(cluster: &Cluster, entry: &Entry) -> String {
    let object = &entry.intent.object;
    let volume = match object.key.kind {
        Kind::PersistentVolume => cluster.volume_named(&object.key.name),
        _ => None,
    };
    let Some(volume) = volume else {
        let seen = cluster.reach(object.key.kind, object.key.namespace.as_ref());
        return match cluster.answers().get(&Question::Exists(object.key.clone())) {
            Some(Answer::No) => "it does not exist".to_owned(),
            Some(
                Answer::Yes
                | Answer::Is(_)
                | Answer::Owner(_)
                | Answer::Users(_)
                | Answer::Announcements(_),
            ) => "it exists".to_owned(),
            Some(Answer::Forbidden) => unknown("reading it is forbidden"),
            Some(Answer::Unanswered(why)) => unknown(why),
            Some(Answer::NotServed { .. }) => unknown("its kind is not served"),
            None if seen.is_ok() => "it does not exist".to_owned(),
            None => unknown("it was not read"),
        };
    };
    if object.uid.is_some() && volume.metadata.uid != object.uid {
        return "it was deleted, and another object of its name exists".to_owned();
    }
    let going = if volume.metadata.deleting.is_some() { ", and is Terminating" } else { "" };
    format!("its policy is now {}, its phase {}{going}", volume.reclaim_policy, volume.phase)
}
