//! `kubectl storage apply PLAN`: carries out a plan that was saved with `--plan-out`.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use clap::{ArgGroup, Args};

use super::{WriteArgs, perform};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{ConnectionArgs, MinimumAge},
        collect::{ClusterSource, Collected, collect},
    },
    cluster::Cx,
    model::{
        ClaimKey, Kind, ObjectKey, ObjectRef, Retention, Settings, Time, Uid, format_age,
        format_duration,
    },
    output::writing::{self, Plan as SavedPlan, PlannedChange},
    plan::{Plan, Purpose, RETENTION_RECONCILE},
};

/// Arguments of `apply`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true))]
pub struct ApplyArgs {
    /// Carry out the plan in this file; - for stdin
    #[arg(value_name = "PLAN", group = "source", value_hint = clap::ValueHint::FilePath)]
    plan: Option<PathBuf>,
    /// The same, as kubectl apply takes a file
    #[arg(short, long, value_name = "PLAN", group = "source", value_hint = clap::ValueHint::FilePath)]
    filename: Option<PathBuf>,
    /// Refuse a plan that is older than this
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    max_plan_age: MinimumAge,
    #[command(flatten)]
    write: WriteArgs,
}

impl ApplyArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        let saved = self.read()?;
        let mut settings = saved.metadata.settings.settings().map_err(|error| self.unfit(error))?;
        if !self.write.wait && (settings.destroy_data || settings.add_owners) {
            return Err(Failure::usage(
                "a later step of this plan rests on the effect of an earlier one",
            )
            .hint(Some("omit --wait=false")));
        }
        self.write.take_into(&mut settings);
        let from = ClusterSource::Watched { connection, namespace: None };
        let mut collected = collect(from, &settings, None).await?;
        self.check(&saved, &collected)?;
        let plan = collected.make(&settings, |cx| again(cx, &settings, &saved)).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    /// Returns the file of the plan, of which clap requires one.
    fn path(&self) -> &Path {
        self.plan.as_deref().or(self.filename.as_deref()).unwrap_or(Path::new(""))
    }

    fn read(&self) -> Result<SavedPlan, Failure> {
        let mut text = String::new();
        let plan = self.path();
        let read = if plan.as_os_str() == "-" {
            std::io::stdin().lock().read_to_string(&mut text).map(drop)
        } else {
            std::fs::read_to_string(plan).map(|it| text = it)
        };
        read.map_err(|error| {
            let context = format!("failed to read {}", plan.display());
            Failure::error(anyhow::Error::new(error).context(context))
        })?;
        writing::read(&text).map_err(|error| self.unfit(error))
    }

    fn unfit(&self, error: impl std::error::Error + Send + Sync + 'static) -> Failure {
        let context = format!("{} cannot be carried out", self.path().display());
        let error = anyhow::Error::new(error).context(context);
        Failure { exit: Exit::Refused, error, hint: None }
            .hint(Some("create a new plan with --plan-out"))
    }

    /// Refuses a plan that was made for another cluster, or is not fresh.
    fn check(&self, saved: &SavedPlan, collected: &Collected) -> Result<(), Failure> {
        let refuse = |reason: String| Err(self.unfit(std::io::Error::other(reason)));
        let server = collected.intake.cluster.server();
        let here = server.and_then(|server| server.cluster_uid.as_deref());
        match (&saved.metadata.cluster.uid, here) {
            (Some(there), Some(here)) if there == here => {}
            (Some(there), Some(here)) => {
                return refuse(format!("it was created for cluster {there}, but this is {here}"));
            }
            _ => {
                return refuse(
                    "unknown whether it was created for this cluster, since the uid \
                                of a cluster is missing"
                        .to_owned(),
                );
            }
        }
        let now: Option<Time> = collected.intake.cluster.clock();
        let (Some(made), Some(now)) = (saved.made(), now) else {
            return refuse("its age is unknown".to_owned());
        };
        let age = (now - made).num_seconds();
        let most = self.max_plan_age.0;
        if age < -60 {
            return refuse(
                "its creation time is in the future by the API server's clock".to_owned(),
            );
        }
        if u64::try_from(age).unwrap_or(0) > most.as_secs() {
            let most = format_duration(most);
            return refuse(format!("it is {} old; --max-plan-age allows {most}", format_age(age)));
        }
        Ok(())
    }
}

/// Makes a saved plan again from what was read now: only what comes out the same is kept.
fn again(cx: &Cx, settings: &Settings, saved: &SavedPlan) -> Plan {
    const COMMANDS: [&str; 9] = [
        "gc",
        "retain",
        "delete",
        "disown",
        "expand",
        RETENTION_RECONCILE,
        "fix-finalizers",
        "rebind",
        "retention-set",
    ];
    let command = COMMANDS.into_iter().find(|it| *it == saved.metadata.command);
    let mut plan = Plan::new(command.unwrap_or("apply"), cx);
    plan.settings = settings.clone();
    for change in &saved.changes {
        let (object, because) = (object(change), &change.because);
        let purpose = Purpose::parse(because).map(|it| {
            let (when_deleted, when_scaled) = policy(change);
            it.given_to(given_to(change))
                .with_policy(when_deleted, when_scaled)
                .with_size(change.storage)
        });
        match (object, purpose) {
            (Some(object), Some(purpose)) => {
                plan.take_object(cx, purpose, &object, |fresh| same(change, fresh));
            }
            (object, _) => {
                let object = object.unwrap_or_else(|| ObjectRef {
                    key: ObjectKey::cluster_wide(Kind::PersistentVolume, &change.object.name),
                    uid: None,
                });
                let reason = format!(
                    "this version does not know {because:?}, or the reference \
                                      to the object is invalid"
                );
                plan.refuse(object, "apply", reason, false);
            }
        }
    }
    plan
}

/// Returns the claim to which a volume is given, where the plan names one.
fn given_to(change: &PlannedChange) -> Option<ClaimKey> {
    let to = change.to.as_ref()?;
    Some(ClaimKey { namespace: to.namespace.as_deref()?.into(), name: to.name.as_str().into() })
}

/// Returns the retention policy that a set is to have, where the plan names one.
fn policy(change: &PlannedChange) -> (Option<Retention>, Option<Retention>) {
    let parsed = |text: &Option<String>| text.as_deref().map(Retention::parse);
    let policy = change.policy.as_ref();
    policy.map_or((None, None), |it| (parsed(&it.when_deleted), parsed(&it.when_scaled)))
}

fn object(change: &PlannedChange) -> Option<ObjectRef> {
    let reference = &change.object;
    let uid = Uid::parse(reference.uid.as_deref()?)?;
    Some(ObjectRef { key: reference.key()?, uid: Some(uid) })
}

/// Refuses a change that is no longer the one in the saved plan, its age apart.
fn same(saved: &PlannedChange, fresh: &crate::plan::ProposedChange) -> Result<(), String> {
    let fresh = PlannedChange {
        age: saved.age.clone(),
        // The evidence moves on; whether it is enough, the proposal says.
        held: saved.held.clone(),
        ..writing::change(fresh, None)
    };
    if *saved == fresh {
        return Ok(());
    }
    Err(if saved.steps == fresh.steps {
        "its state has changed since the plan was created".to_owned()
    } else {
        "the change that would be made now differs from the plan".to_owned()
    })
}
