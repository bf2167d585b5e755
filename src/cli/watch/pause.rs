//! `watch pause` and `watch resume`: stop everything that acts, and let it act again.

use clap::Args;

use super::status::{WatchPlaceArgs, tell_readers};
use crate::{
    apply::{BACKGROUND_WAIT, ConfigMapWrite, RecordWriter, StoredConfigMap},
    cli::{Exit, Failure, acting::HEARD, args::ConnectionArgs, collect::connect, terminal},
    client::Connection,
    model::escape_control,
    watch::pause::{ABOUT_PAUSE, PAUSE, Pause, PauseRecord, foreign_keys, says_resumed},
};

/// Number of attempts to write: each conflict means that another client was first.
const TRIES: usize = 8;

/// Arguments of `watch pause` and `watch resume`.
#[derive(Debug, Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    place: WatchPlaceArgs,
    /// Record why, for those who ask with `watch status`
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: Option<String>,
}

/// Parses a reason: a text that people can read.
fn reason(text: &str) -> Result<String, String> {
    const LONGEST: usize = 1024;
    match !text.trim().is_empty() && text.len() <= LONGEST {
        true => Ok(text.to_owned()),
        false => Err(format!("expected 1 to {LONGEST} bytes of text")),
    }
}

impl PauseArgs {
    /// Records a pause, which stops everything that acts.
    pub(super) async fn pause(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let connected = connect(connection, None).await?;
        let namespace = self.place.records(&connected.namespace)?;
        let exit = self.record(&connected, &namespace, PauseRecord::Paused).await?;
        let heard = (HEARD + BACKGROUND_WAIT).as_secs();
        terminal::note(&format!(
            "note: whatever this pauses begins no request after {}s, and sends nothing after {heard}s",
            HEARD.as_secs()
        ));
        tell_readers(&connected, &namespace).await;
        Ok(exit)
    }

    /// Records a resume, which lets everything act again.
    pub(super) async fn resume(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let connected = connect(connection, None).await?;
        let namespace = self.place.records(&connected.namespace)?;
        let exit = self.record(&connected, &namespace, PauseRecord::Resumed).await?;
        tell_readers(&connected, &namespace).await;
        Ok(exit)
    }

    async fn record(
        self,
        connected: &Connection,
        namespace: &str,
        wanted: PauseRecord,
    ) -> Result<Exit, Failure> {
        let role = if wanted == PauseRecord::Resumed { "watch-resume" } else { "watch-pause" };
        let place = format!("configmap {namespace}/{PAUSE}");
        let writer = RecordWriter::new(connected, "kubectl-storage", (namespace, PAUSE));
        let read = async || {
            writer.read().await.map_err(|error| {
                let hint = match error.is_forbidden() {
                    true => Some(format!(
                        "`kubectl storage rbac {role} -n {namespace}` prints all permissions"
                    )),
                    false => error.hint(),
                };
                Failure::error(error).hint(hint)
            })
        };
        // Who pauses needs no more rights than for the ConfigMap.
        let cluster = match wanted {
            PauseRecord::Resumed => Some(writer.cluster().await.map_err(|why| unknown(&why))?),
            _ => None,
        };
        let of = |stored: Option<&StoredConfigMap>| {
            Pause::of(Ok(stored), cluster.as_deref().ok_or("it was not read"))
        };
        let before = read().await?;
        if wanted == PauseRecord::Resumed
            && let Some(stored) = &before
        {
            refuse_foreign(&place, stored)?;
        }
        let said = of(before.as_ref());
        // A resume is recorded again: it ends the breaker after a long time without a leader.
        if said.record == wanted && wanted == PauseRecord::Paused && self.reason.is_none() {
            terminal::note(&escape_control(&format!("{}: nothing to do", told(&said, namespace))));
            return Ok(Exit::Done);
        }
        let (by, now) = match writer.who_am_i().await {
            Ok(user) => (Some(user.username).filter(|it| !it.is_empty()), user.now),
            Err(why) => {
                terminal::note(&escape_control(&format!(
                    "note: who you are is not recorded: {why}"
                )));
                (None, None)
            }
        };
        // Another reason for a pause does not begin it anew.
        let goes_on = said.record == wanted && wanted == PauseRecord::Paused;
        let since = said.since.filter(|_| goes_on).or(now);
        if since.is_none() && wanted == PauseRecord::Resumed {
            return Err(unknown("the time of the API server is unknown"));
        }
        let pause =
            Pause { record: wanted, since, by, reason: self.reason, cluster: cluster.clone() };
        let mut over = before.clone();
        let mut why = String::new();
        for _ in 0..TRIES {
            match writer.write(over.as_ref(), &pause.data(over.as_ref()), ABOUT_PAUSE).await {
                ConfigMapWrite::Stored(_) => return Ok(done(&pause, namespace)),
                ConfigMapWrite::Refused(reason) => {
                    let found = read().await?;
                    let now = of(found.as_ref());
                    if !pause.may_act() && !says_resumed(found.as_ref()) {
                        let told = told(&now, namespace);
                        let note = format!("{told}; what you said is not recorded: {reason}");
                        terminal::note(&escape_control(&note));
                        return Ok(Exit::Done);
                    }
                    let hint = match pause.may_act() {
                        true => {
                            "`kubectl storage rbac watch-resume` prints roles with all permissions"
                        }
                        false => {
                            "`kubectl storage rbac watch-pause` prints a Role with all permissions; \
                             deleting the ConfigMap pauses as well"
                        }
                    };
                    let error = anyhow::anyhow!("failed to write {place}: {reason}");
                    return Err(Failure {
                        exit: Exit::Refused,
                        error,
                        hint: Some(hint.to_owned()),
                    });
                }
                ConfigMapWrite::Overtaken => "other clients were first".clone_into(&mut why),
                ConfigMapWrite::Failed { reason, .. } | ConfigMapWrite::Unanswered(reason) => {
                    why = reason;
                }
            }
            over = read().await?;
            // It had been carried out, although no answer came.
            if of(over.as_ref()) == pause {
                return Ok(done(&pause, namespace));
            }
            if pause.may_act()
                && let Some(stored) = &over
            {
                refuse_foreign(&place, stored)?;
            }
            // A pause wins over whatever others write; who resumes has not read their reason.
            if pause.may_act() && over != before {
                let said = told(&of(over.as_ref()), namespace);
                let error = anyhow::anyhow!("another client changed {place} meanwhile: {said}");
                let hint = Some("`kubectl storage watch status` shows it".to_owned());
                return Err(Failure { exit: Exit::Refused, error, hint });
            }
        }
        let error = anyhow::anyhow!("{place} is not written, {TRIES} times: {why}");
        Err(Failure { exit: Exit::Unfinished, error, hint: None }
            .hint(Some("`kubectl storage watch status` shows what it is now")))
    }
}

/// Returns the refusal to resume while the uid of the cluster or the time is unknown.
fn unknown(why: &str) -> Failure {
    let error = anyhow::anyhow!("nothing is resumed: {why}");
    let hint = "`kubectl storage rbac watch-resume` prints roles with all permissions";
    Failure { exit: Exit::Refused, error, hint: Some(hint.to_owned()) }
}

/// Refuses to resume where the `ConfigMap` has keys of others.
fn refuse_foreign(place: &str, stored: &StoredConfigMap) -> Result<(), Failure> {
    let foreign = foreign_keys(stored);
    if foreign.is_empty() {
        return Ok(());
    }
    let keys = foreign.join(", ");
    let error = anyhow::anyhow!("{place} has other keys, so that nothing acts by it: {keys}");
    Err(Failure { exit: Exit::Refused, error, hint: None }
        .hint(Some("move them to another ConfigMap; until then everything that acts is paused")))
}

fn done(pause: &Pause, namespace: &str) -> Exit {
    terminal::note(&escape_control(&told(pause, namespace)));
    Exit::Done
}

fn told(pause: &Pause, namespace: &str) -> String {
    let by = pause.by.as_ref().map(|it| format!(" by {it}")).unwrap_or_default();
    let reason = pause.reason.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let state = match pause.record {
        PauseRecord::Resumed => "resumed",
        PauseRecord::Paused
        | PauseRecord::Missing
        | PauseRecord::Malformed(_)
        | PauseRecord::Unreadable(_) => "paused",
    };
    format!("watch in namespace {namespace} is {state}{by}{reason}")
}
