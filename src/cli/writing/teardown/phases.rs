//! The steps of a teardown, each a plan, in the order of semantics K.5: policies held, workloads stopped, their use
//! awaited, claims deleted, volumes reclaimed.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use serde_json::Value;

use super::{Look, RecordFile, TeardownArgs};
use crate::{
    apply::{ChangeReceipt, Confirmed, DryRun, Outcome, Receipt, RunProgress},
    cli::{
        Failure, Interrupt,
        args::ConnectionArgs,
        collect::dump_failure,
        terminal,
        writing::perform::{Execution, execute, open_journal, refusal},
    },
    client::ObjectRequest,
    cluster::Cx,
    facts::{is_stopped, workload_named},
    model::{
        ClaimKey, ConfirmedSurvey, Kind, ObjectRef, Uid, counted, escape_control, first_of,
        format_bytes, format_duration,
    },
    output::table::short_name,
    plan::{
        Plan,
        teardown::{self as plan, TeardownSurvey, VolumeStep},
    },
};

/// Number of times that one workload is stopped before another client is named.
const STOPS: usize = 3;
/// Pause between two looks at what still uses the claims.
const PAUSE: Duration = Duration::from_millis(500);
/// Time after which everything is read again while something is awaited, unless a tenth of the time would go into it: no
/// watch follows owners and custom resources.
const AGAIN: Duration = Duration::from_secs(5);

/// The steps of one run.
pub(super) struct Phases<'a> {
    pub(super) args: &'a TeardownArgs,
    pub(super) connection: &'a ConnectionArgs,
    pub(super) interrupt: &'a Interrupt,
    /// What was surveyed when it was confirmed.
    pub(super) confirmed: &'a ConfirmedSurvey,
    /// How long the last look took.
    pub(super) looked: Cell<Duration>,
    /// What this run and earlier ones have stopped, each with what `undo` takes.
    pub(super) stopped: RefCell<BTreeMap<ObjectRef, String>>,
}

/// The end of a run.
pub(super) struct Ended {
    pub(super) look: Look,
    /// Whether every step was carried out.
    pub(super) complete: bool,
    pub(super) interrupted: bool,
    pub(super) notes: Vec<String>,
}

/// Why a run goes no further.
enum Stop {
    Interrupted,
    Early(String),
    /// It came to its end, and not everything was deleted.
    Left(String),
}

impl Phases<'_> {
    /// Looks again at what was confirmed.
    async fn look(&self) -> Result<Look, Failure> {
        let began = Instant::now();
        let look = Box::pin(self.args.look(self.connection, Some(self.confirmed))).await;
        self.looked.set(began.elapsed());
        look
    }

    /// Looks again before anything is written, and refuses what came to block since the survey.
    pub(super) async fn look_unblocked(&self) -> Result<Look, Failure> {
        let look = Box::pin(self.look()).await?;
        let told = look.record.obstacles.iter().map(|it| match &it.object {
            Some(object) => format!("{}: {}", short_name(object), it.reason),
            None => it.reason.clone(),
        });
        let told: Vec<_> = told.collect();
        if told.is_empty() {
            return Ok(look);
        }
        let told = format!("since the survey: {}", first_of(&told, 1));
        Err(refusal(&escape_control(&told))
            .hint(Some("nothing was changed; --dry-run shows the survey")))
    }

    /// Sends every request as a dry run that can be tried before something is stopped.
    pub(super) async fn rehearse(&self, look: &mut Look) -> Result<(), Failure> {
        let survey = look.survey.clone();
        let stops = stops(&survey);
        let mut plans: Vec<Plan> = Vec::new();
        let rehearsed = look.rehearsed.clone();
        for make in 0..4 {
            let plan = look
                .collected
                .make(&rehearsed, |cx| match make {
                    0 => plan::hold(cx, &survey),
                    1 => plan::stop(cx, &stops),
                    2 => plan::end_snapshots(cx, &survey),
                    _ => plan::end_claims(cx, &survey),
                })
                .await?;
            plans.push(plan);
        }
        for (index, plan) in plans.into_iter().enumerate() {
            if plan.changes.is_empty() {
                continue;
            }
            // The cluster as it was read is used up by each plan.
            let mut anew;
            let look = if index == 0 {
                &mut *look
            } else {
                anew = Box::pin(self.look()).await?;
                &mut anew
            };
            let receipt = self.execute(look, plan, DryRun::Server, &|_| {}).await?;
            // What another client changes meanwhile is judged again before the write.
            let is_refused =
                |it: &&ChangeReceipt| !matches!(it.outcome, Outcome::Done | Outcome::Stale);
            let refused_ones = receipt.done.iter().filter(is_refused);
            let mut told: Vec<_> =
                refused_ones.map(|it| format!("{}: {}", it.change.object, it.detail)).collect();
            let more = told.len().saturating_sub(NAMED);
            told.truncate(NAMED);
            if let Some(last) = told.pop() {
                for line in &told {
                    terminal::note(&escape_control(&format!("error: {line}")));
                }
                let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
                return Err(refusal(&escape_control(&format!("{last}{more}")))
                    .hint(Some("a dry run was refused; nothing was changed")));
            }
        }
        *look = Box::pin(self.look_unblocked()).await?;
        Ok(())
    }

    /// Carries out all steps.
    pub(super) async fn run(&self, file: &mut RecordFile) -> Result<Ended, Failure> {
        self.interrupt.begin();
        let ended = Box::pin(self.steps(file)).await;
        self.interrupt.finish();
        let stop = ended?;
        let mut look = Box::pin(self.look()).await?;
        file.finish(&look);
        let mut notes = Vec::new();
        let stop = match stop {
            Ok(()) => None,
            Err(stop) => {
                notes.extend(what_is_stopped(&mut look).await?);
                Some(stop)
            }
        };
        let interrupted = matches!(stop, Some(Stop::Interrupted));
        match &stop {
            Some(Stop::Early(why)) => {
                notes.insert(0, format!("error: the run ended early: {why}"));
            }
            Some(Stop::Left(why)) => notes.insert(0, format!("error: {why}")),
            Some(Stop::Interrupted) | None => {}
        }
        Ok(Ended { look, complete: stop.is_none(), interrupted, notes })
    }

    async fn steps(&self, file: &mut RecordFile) -> Result<Result<(), Stop>, Failure> {
        // 1. Nothing that is stopped may take data with it.
        let look = match Box::pin(self.hold()).await? {
            Ok(look) => look,
            Err(stop) => return Ok(Err(stop)),
        };
        // 2 and 3. Workloads are stopped, until nothing uses the claims.
        let deleted = look.survey.deleted();
        let mut stopped: BTreeMap<Uid, usize> = BTreeMap::new();
        let began = Instant::now();
        let mut late = match Box::pin(self.free(&deleted, &mut stopped, began)).await? {
            Ok(late) => late,
            Err(stop) => return Ok(Err(stop)),
        };
        // 4 and 5. Snapshots first: some drivers delete no volume that has them.
        let mut look = Box::pin(self.look()).await?;
        let (settings, survey) = (look.settings.clone(), look.survey.clone());
        let plan = look.collected.make(&settings, |cx| plan::end_snapshots(cx, &survey)).await?;
        if !plan.changes.is_empty() {
            self.recorded(&mut look, plan, file).await?;
            look = Box::pin(self.look()).await?;
        }
        let mut ended = Box::pin(self.end_claims(look, file)).await?;
        for _ in 1..STOPS {
            if !ended.is_stale {
                break;
            }
            // Its controller deleted a claim first: its volume is still to be reclaimed.
            late = match Box::pin(self.free(&deleted, &mut stopped, began)).await? {
                Ok(late) => late,
                Err(stop) => return Ok(Err(stop)),
            };
            let look = Box::pin(self.look()).await?;
            ended = Box::pin(self.end_claims(look, file)).await?;
        }
        if ended.interrupted {
            return Ok(Err(Stop::Interrupted));
        }
        self.await_gone(&ended.going).await?;
        Ok(match (late, ended.left.first()) {
            (None, None) => Ok(()),
            (Some(why), _) => Err(Stop::Early(why)),
            (None, Some(first)) => {
                let count = ended.left.len();
                Err(Stop::Left(format!("{} not ended: {first}", counted(count, "deletion"))))
            }
        })
    }

    /// Stops what uses claims, and waits until nothing does; returns why some still cannot be deleted after the time that
    /// is allowed.
    async fn free(
        &self,
        deleted: &BTreeSet<ClaimKey>,
        stopped: &mut BTreeMap<Uid, usize>,
        began: Instant,
    ) -> Result<Result<Option<String>, Stop>, Failure> {
        loop {
            // Another client may have changed a policy since.
            let mut look = match Box::pin(self.hold()).await? {
                Ok(look) => look,
                Err(stop) => return Ok(Err(stop)),
            };
            match self.stop(&mut look, stopped, deleted).await? {
                Ok(true) => continue,
                Ok(false) => {}
                Err(stop) => return Ok(Err(stop)),
            }
            match self.await_free(&mut look, deleted, began).await? {
                Awaited::Free => return Ok(Ok(None)),
                Awaited::Again => {}
                Awaited::Late(why) => return Ok(Ok(Some(why))),
                Awaited::Interrupted => return Ok(Err(Stop::Interrupted)),
            }
        }
    }

    /// Deletes the claims, and has the volumes reclaimed.
    async fn end_claims(
        &self,
        mut look: Look,
        file: &mut RecordFile,
    ) -> Result<EndedClaims, Failure> {
        let (settings, survey) = (look.settings.clone(), look.survey.clone());
        let plan = look.collected.make(&settings, |cx| plan::end_claims(cx, &survey)).await?;
        let refused = plan.refusals.iter();
        let mut left: Vec<_> = refused.map(|it| format!("{}: {}", it.object, it.reason)).collect();
        for told in &left {
            terminal::note(&escape_control(&format!("not deleted: {told}")));
        }
        let receipt = self.recorded(&mut look, plan, file).await?;
        let failed = receipt.done.iter().filter(|it| it.outcome != Outcome::Done);
        left.extend(failed.map(|it| format!("{}: {}", it.change.object, it.detail)));
        let going = survey.volumes.iter().filter(|it| it.step == VolumeStep::AwaitsVolume);
        Ok(EndedClaims {
            left,
            is_stale: receipt.count(Outcome::Stale) > 0,
            interrupted: receipt.interrupted,
            going: going.filter_map(|it| it.volume.clone()).collect(),
        })
    }

    /// Sets the policy of all volumes to Retain that are in danger otherwise. Another client may change one meanwhile:
    /// then it is looked at again.
    async fn hold(&self) -> Result<Result<Look, Stop>, Failure> {
        let mut last = String::new();
        for _ in 0..STOPS {
            let mut look = Box::pin(self.look()).await?;
            let (settings, survey) = (look.settings.clone(), look.survey.clone());
            let plan = look.collected.make(&settings, |cx| plan::hold(cx, &survey)).await?;
            if let Some(refusal) = plan.refusals.first() {
                return Ok(Err(Stop::Early(format!("{}: {}", refusal.object, refusal.reason))));
            }
            if plan.changes.is_empty() {
                return Ok(Ok(look));
            }
            let receipt = self.execute(&mut look, plan, DryRun::None, &|_| {}).await?;
            if receipt.interrupted {
                return Ok(Err(Stop::Interrupted));
            }
            let failed = receipt.done.iter().find(|it| it.outcome != Outcome::Done);
            let Some(it) = failed else {
                let first = receipt.done.first().map(|it| it.change.object.to_string());
                last = format!(
                    "{}: its policy was set to Retain, and another client changes it again",
                    first.unwrap_or_default()
                );
                continue;
            };
            last = format!("{}: {}", it.change.object, it.detail);
            let is_final =
                |it: &&ChangeReceipt| !matches!(it.outcome, Outcome::Done | Outcome::Stale);
            if let Some(it) = receipt.done.iter().find(is_final) {
                return Ok(Err(Stop::Early(format!("{}: {}", it.change.object, it.detail))));
            }
        }
        Ok(Err(Stop::Early(last)))
    }

    /// Stops what runs, and returns whether anything was stopped. Each object is stopped a few times at most.
    async fn stop(
        &self,
        look: &mut Look,
        stopped: &mut BTreeMap<Uid, usize>,
        deleted: &BTreeSet<ClaimKey>,
    ) -> Result<Result<bool, Stop>, Failure> {
        let settings = look.settings.clone();
        let users = look.collected.make(&settings, |cx| plan::users(cx, deleted)).await?;
        let users = users.map_err(|unseen| refusal(&unseen.reason))?;
        if let Some(obstacle) = users.obstacles.first() {
            let object = obstacle.object.as_ref().map_or_else(String::new, |it| format!("{it}: "));
            return Ok(Err(Stop::Early(format!("{object}{}", obstacle.reason))));
        }
        // Workloads first: what they control is not created again then.
        let objects: Vec<_> = match users.stops.is_empty() {
            false => users.stops.into_keys().collect(),
            true => users.pods.into_iter().collect(),
        };
        if objects.is_empty() {
            return Ok(Ok(false));
        }
        for uid in objects.iter().filter_map(|it| it.uid.clone()) {
            *stopped.entry(uid).or_default() += 1;
        }
        let often = |it: &&ObjectRef| {
            it.uid.as_ref().is_some_and(|uid| stopped.get(uid).is_some_and(|it| *it > STOPS))
        };
        if let Some(object) = objects.iter().find(often) {
            let who = who_wrote(look, object).await;
            return Ok(Err(Stop::Early(format!(
                "{object} was stopped {STOPS} times, and {who} starts it again: stop that first"
            ))));
        }
        let plan = look.collected.make(&settings, |cx| plan::stop(cx, &objects)).await?;
        // Another client may have been first: the next look tells.
        let receipt = self.execute(look, plan, DryRun::None, &|_| {}).await?;
        for it in &receipt.done {
            let object = &it.change.object;
            let may_be =
                matches!(it.outcome, Outcome::Done | Outcome::Pending | Outcome::Unanswered);
            let is_workload = object.key.kind != Kind::Pod;
            if let Some(entry) = it.entry.filter(|_| may_be && is_workload) {
                let number = look.history.numbered(entry).arguments();
                self.stopped.borrow_mut().insert(object.clone(), number);
            }
        }
        if receipt.interrupted {
            return Ok(Err(Stop::Interrupted));
        }
        let failed = receipt
            .done
            .iter()
            .find(|it| !matches!(it.outcome, Outcome::Done | Outcome::Stale | Outcome::Pending));
        Ok(match failed {
            Some(it) => Err(Stop::Early(format!("{}: {}", it.change.object, it.detail))),
            None => Ok(true),
        })
    }

    /// Waits until nothing refuses the deletion of the claims, or something runs again.
    async fn await_free(
        &self,
        look: &mut Look,
        deleted: &BTreeSet<ClaimKey>,
        since: Instant,
    ) -> Result<Awaited, Failure> {
        let (settings, survey) = (look.settings.clone(), look.survey.clone());
        let deadline = self.args.timeout.0.unwrap_or(Duration::MAX);
        let (bar, looked) = (bar(), Instant::now());
        loop {
            let (waits, runs) = look
                .collected
                .make(&settings, |cx| {
                    let plan = plan::end_claims(cx, &survey);
                    let users = plan::users(cx, deleted).unwrap_or_default();
                    let mut waits: Vec<_> =
                        plan.refusals.into_iter().map(|it| (it.object, it.reason)).collect();
                    waits.extend(plan::ending(cx, &survey));
                    (waits, !users.stops.is_empty() || !users.pods.is_empty())
                })
                .await?;
            if runs || looked.elapsed() >= AGAIN.max(10 * self.looked.get()) {
                return Ok(Awaited::Again);
            }
            let Some(first) = waits.first() else { return Ok(Awaited::Free) };
            if self.interrupt.asked() {
                return Ok(Awaited::Interrupted);
            }
            if since.elapsed() >= deadline {
                let waited = format_duration(deadline);
                return Ok(Awaited::Late(format!(
                    "after {waited}, {} of {} claims cannot be deleted; {}: {}",
                    waits.len(),
                    deleted.len(),
                    first.0,
                    first.1
                )));
            }
            bar.set_message(
                escape_control(&format!(
                    "waiting for {} of {} claims: {}: {}",
                    waits.len(),
                    deleted.len(),
                    first.0,
                    first.1
                ))
                .into_owned(),
            );
            let watches = look.collected.live.as_mut().and_then(|live| live.watches.as_mut());
            match watches {
                None => tokio::time::sleep(PAUSE).await,
                Some(watches) => {
                    let next = watches.next(&mut look.collected.intake);
                    if let Ok(taken) = tokio::time::timeout(PAUSE, next).await {
                        taken.map_err(dump_failure)?;
                        // What comes next mostly comes at once.
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
    }

    /// Waits until volumes are gone whose deletion was under way before.
    async fn await_gone(&self, volumes: &[ObjectRef]) -> Result<(), Failure> {
        let (began, deadline) = (Instant::now(), self.args.timeout.0.unwrap_or(Duration::MAX));
        while !volumes.is_empty() && began.elapsed() < deadline && !self.interrupt.asked() {
            let look = Box::pin(self.look()).await?;
            let cluster = &look.collected.intake.cluster;
            let remains = |it: &&ObjectRef| {
                cluster.volume_named(&it.key.name).is_some_and(|found| found.metadata.uid == it.uid)
            };
            if !volumes.iter().any(|it| remains(&it)) {
                break;
            }
            tokio::time::sleep(PAUSE * 4).await;
        }
        Ok(())
    }

    /// Carries out a plan, and records each outcome.
    async fn recorded(
        &self,
        look: &mut Look,
        plan: Plan,
        file: &mut RecordFile,
    ) -> Result<Receipt, Failure> {
        let bytes: u64 = plan.bytes();
        let (count, done) = (plan.changes.len(), RefCell::new((0_usize, 0_u64)));
        let bar = bar();
        let file = RefCell::new(file);
        let tell = |last: String| {
            let (ended, of_bytes) = *done.borrow();
            let (gone, all) = (format_bytes(of_bytes), format_bytes(bytes));
            let told = format!("{ended} of {count} claims and volumes, {gone} of {all}; {last}");
            bar.set_message(escape_control(&told).into_owned());
        };
        let progress = |it: RunProgress<'_>| match it {
            RunProgress::Begun(_) => {}
            RunProgress::Slowest(slowest) => tell(slowest.to_string()),
            RunProgress::Ended(receipt) => {
                file.borrow_mut().take(receipt);
                let mut so_far = done.borrow_mut();
                so_far.0 += 1;
                so_far.1 += receipt.change.capacity().unwrap_or(0);
                drop(so_far);
                tell(format!("last: {}: {}", receipt.change.object, receipt.detail));
            }
        };
        self.execute(look, plan, DryRun::None, &progress).await
    }

    async fn execute(
        &self,
        look: &mut Look,
        plan: Plan,
        dry_run: DryRun,
        progress: &dyn Fn(RunProgress<'_>),
    ) -> Result<Receipt, Failure> {
        let journal = open_journal(&look.collected, &self.args.field_manager, None).await?;
        let execution = Execution {
            journal: &journal,
            field_manager: &self.args.field_manager,
            options: self.args.options(dry_run),
            interrupted: &|| self.interrupt.asked(),
            in_background: None,
            progress,
        };
        let receipt =
            Box::pin(execute(&mut look.collected, Confirmed::by_user(plan), execution)).await?;
        for note in &receipt.notes {
            terminal::note(&format!("note: {}", escape_control(note)));
        }
        Ok(receipt)
    }
}

/// Tells what remains stopped, and how each is started again.
async fn what_is_stopped(look: &mut Look) -> Result<Vec<String>, Failure> {
    let (settings, entries) = (&look.settings, &look.earlier.entries);
    let stopped = |cx: &Cx| {
        let remains = |object: &ObjectRef| {
            let found = workload_named(cx, &object.key);
            found.is_some_and(|it| it.uid == object.uid && is_stopped(&it))
        };
        entries.iter().filter(|(_, it)| remains(it)).cloned().collect::<Vec<_>>()
    };
    let stopped = look.collected.make(settings, stopped).await?;
    let told = |(entry, object): (u64, ObjectRef)| {
        remains_stopped(&object, &look.history.numbered(entry).arguments())
    };
    Ok(stopped.into_iter().map(told).collect())
}

/// Says that an object remains stopped; `number` is what `undo` takes.
pub(super) fn remains_stopped(object: &ObjectRef, number: &str) -> String {
    format!("stopped: {object}; `kubectl storage undo {number}` starts it again")
}

/// Number of refusals that are named.
const NAMED: usize = 5;

/// What has become of the deletion of claims.
struct EndedClaims {
    /// What was not deleted, with the reason.
    left: Vec<String>,
    /// Whether something had changed before it was written.
    is_stale: bool,
    interrupted: bool,
    /// Volumes whose deletion was under way before.
    going: Vec<ObjectRef>,
}

/// Result of waiting for the users of claims.
enum Awaited {
    Free,
    /// Something runs again, or has to be read again.
    Again,
    Late(String),
    Interrupted,
}

/// Returns everything that a survey stops.
fn stops(survey: &TeardownSurvey) -> Vec<ObjectRef> {
    let workloads = survey.workloads.iter().map(|it| it.0.clone());
    workloads.chain(survey.pods.iter().cloned()).collect()
}

/// Returns who wrote the scale of an object last, by `managedFields`.
async fn who_wrote(look: &Look, object: &ObjectRef) -> String {
    let Some(live) = &look.collected.live else { return "another client".to_owned() };
    let request = ObjectRequest::of(&object.key, object.key.kind.group().version);
    let read = live.reader.get_object::<Value>(&request).await;
    let entries =
        read.ok().and_then(|it| it.value["metadata"]["managedFields"].as_array().cloned());
    let sets = |it: &&Value| {
        let spec = &it["fieldsV1"]["f:spec"];
        !spec["f:replicas"].is_null() || !spec["f:suspend"].is_null()
    };
    let entries = entries.unwrap_or_default();
    let newest =
        entries.iter().filter(sets).max_by_key(|it| it["time"].as_str().unwrap_or_default());
    match newest.and_then(|it| it["manager"].as_str()) {
        Some(manager) => format!("field manager {manager:?}"),
        None => "another client".to_owned(),
    }
}

fn bar() -> ProgressBar {
    terminal::ticking(ProgressBar::new_spinner(), "{spinner} {wide_msg}")
}
