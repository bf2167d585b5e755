//! One run of the tool, or of kubectl in its place.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::case::{Case, Work};
use super::world::{Backing, World};
use crate::support::{Run, program};

/// Who does what the tool is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hand {
    Tool,
    /// kubectl, as somebody uses it who does not have the tool.
    Kubectl,
}

/// A run, and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    /// Its place among the deeds, or behind them.
    pub(super) index: usize,
    pub(super) user: String,
    pub(super) work: Work,
    pub(super) begin: DateTime<Utc>,
    pub(super) end: DateTime<Utc>,
    /// Nothing where it was killed.
    pub(super) code: Option<i32>,
    /// Nobody else did anything meanwhile.
    pub(super) calm: bool,
    /// The receipt, or the plan of which nothing was left to be done.
    pub(super) json: Value,
    pub(super) stderr: String,
    /// The requests of which its journal says that they were about to be sent, as verb and path.
    pub(super) intents: Vec<String>,
}

impl World<'_> {
    /// Runs it to its end, or kills it.
    pub(super) fn run(&self, index: usize, work: &Work, homes: &Homes, then: &Then) -> Ran {
        let user = self.case.user(index);
        let home = homes.of(index, work);
        let noted = intents(home);
        let begin = Utc::now();
        let run = match then.hand {
            Hand::Tool => self.tool(work, &then.backings).more(&["--yes", "-o", "json"]),
            Hand::Kubectl => self.kubectl(work, &then.backings),
        };
        let run = run.more(&["--as", &user, "--as-group", "system:masters"]);
        let running = run.kubeconfig(self.cluster.kubeconfig()).env("XDG_STATE_HOME", home).start();
        let outcome = match then.killed {
            Some(delay) => {
                sleep(Duration::from_millis(delay));
                running.kill()
            }
            None => running.finish(),
        };
        let json = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        Ran {
            index,
            user,
            work: work.clone(),
            begin,
            end: Utc::now(),
            code: outcome.code,
            calm: then.calm,
            json,
            stderr: outcome.stderr,
            intents: intents(home).split_off(noted.len()),
        }
    }

    fn tool(&self, work: &Work, backings: &[Backing]) -> Run {
        let namespace = &self.api.namespace;
        let run = match work {
            Work::Delete { claims, keep } => {
                let names: Vec<_> = claims.iter().map(|it| Case::name(*it)).collect();
                let data = if *keep { "--keep-data" } else { "--destroy-data" };
                Run::of(&["delete", "pvc", data, "-n", namespace]).more(&names)
            }
            Work::Rebind { claim, to } => {
                let run = Run::of(&["rebind", &backings[*claim].volume]);
                match to {
                    Some(to) => run.more(&["--to", &format!("{namespace}/{to}")]),
                    None => run,
                }
            }
            Work::Retain(claim) => {
                let object = format!("pvc/{}", Case::name(*claim));
                Run::of(&["retain", &object, "-n", namespace])
            }
            Work::Undo(_) => Run::of(&["undo"]),
        };
        run.more(&["--timeout", "20s"])
    }

    /// What people do, and what documents tell them to do.
    fn kubectl(&self, work: &Work, backings: &[Backing]) -> Run {
        let namespace = &self.api.namespace;
        let retain = r#"{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}"#;
        // Without its name too, any claim of another case could have the volume.
        let forget = r#"{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}"#;
        match work {
            Work::Delete { claims, .. } => {
                let names: Vec<_> = claims.iter().map(|it| Case::name(*it)).collect();
                Run::of(&["delete", "pvc", "--wait=false", "-n", namespace]).more(&names)
            }
            Work::Rebind { claim, .. } => {
                Run::of(&["patch", "pv", &backings[*claim].volume, "-p", forget])
            }
            Work::Retain(claim) => {
                Run::of(&["patch", "pv", &backings[*claim].volume, "-p", retain])
            }
            Work::Undo(_) => Run::of(&["version"]),
        }
        .program(program("kubectl"))
    }
}

/// How a run goes.
pub(super) struct Then {
    pub(super) hand: Hand,
    pub(super) killed: Option<u64>,
    pub(super) calm: bool,
    pub(super) backings: Vec<Backing>,
}

/// A home for each run; what undoes another has that one's.
pub(super) struct Homes(pub(super) Vec<tempfile::TempDir>);

impl Homes {
    pub(super) fn new(count: usize) -> Self {
        let one = |_| tempfile::tempdir().expect("because the temporary folder is writable");
        Self((0..count).map(one).collect())
    }

    fn of(&self, index: usize, work: &Work) -> &Path {
        match work {
            Work::Undo(of) => self.0[*of].path(),
            _ => self.0[index].path(),
        }
    }
}

/// What the journal beneath a folder says was about to be sent.
fn intents(home: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let lines = text.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
            found.extend(lines.filter(|it| it["type"] == "intent").map(|it| {
                let (method, path) = (&it["request"]["method"], &it["request"]["path"]);
                let path = path.as_str().unwrap_or_default().split('?').next().unwrap_or_default();
                format!("{} {path}", method.as_str().unwrap_or_default())
            }));
        }
    }
    found
}
