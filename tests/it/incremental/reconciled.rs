//! The loop, at an injected clock: whatever changes in whatever order, however late it is judged,
//! what was told of findings adds up to what a full pass finds.

use std::{collections::BTreeMap, time::Duration};

use kubectl_storage::{
    cluster::{Change, Cluster, Dirty, Gap, Reach, Subject},
    model::{
        AdmissionObject, Attachment, AttributesClass, Claim, Finding, FindingEvent, KeptBackend,
        Kind, Namespace, ObjectRef, PodUse, Row, Settings, SnapshotContent, StatefulSet,
        StorageClass, VerdictState, Volume,
    },
    rules::{Assessor, Judge, find},
    sources::intake::Intake,
    watch::{News, Pace, Reconciler, policy::WatchPolicy},
};
use proptest::{prop_assert, prop_assert_eq, test_runner::TestCaseError};

use super::{
    Case, Cases, Held, play, say,
    universe::{Dice, LISTED, at, beginning, change, reclaimable, settings},
};

/// What a reader of the events believes to be there.
type Believed = BTreeMap<(&'static str, ObjectRef), Box<Finding>>;

#[derive(Default)]
struct Count {
    cases: u32,
    appeared: u32,
    changed: u32,
    cleared: u32,
    /// Findings that stood although they could not be judged.
    stood: u32,
}

impl Cases for Count {
    fn cases(&self) -> u32 {
        self.cases
    }
}

#[test]
fn what_is_told_adds_up_to_a_full_pass() {
    let (seed, count) = play(hold);
    let Count { cases, appeared, changed, cleared, stood } = count;
    say(&format!(
        "SEED={seed}: {cases} cases, {appeared} findings appeared, {changed} changed, {cleared} cleared, {stood} stood unseen"
    ));
    let all = [appeared, changed, cleared, stood];
    assert!(all.iter().all(|it| *it > cases / 10), "{all:?}: nothing is proven");
}

/// A loop without an edge: what it would wait for, and whom it would tell.
struct Loop {
    intake: Intake,
    reconciler: Reconciler,
    /// How long it has been running.
    elapsed: Duration,
    /// The server's clock.
    now: i64,
    believed: Believed,
}

impl Loop {
    fn new(setting: &[u8]) -> Self {
        let (now, changes) = beginning();
        let settings = settings(&mut Dice::new(setting, now));
        let mut intake = Intake::new(None);
        for change in changes {
            intake.apply(change);
        }
        let assessor = Assessor::default();
        let reconciler = Reconciler::new(settings, assessor, &intake.cluster, Pace::default());
        let (elapsed, believed) = (Duration::ZERO, Believed::new());
        Self { intake, reconciler, elapsed, now, believed }
    }

    /// Takes in a change, as the loop does when one arrives.
    fn take_in(&mut self, change: Change) {
        self.intake.apply(change);
        self.reconciler.note(&self.intake.dirty, self.elapsed);
    }

    /// Lets time pass, on both clocks.
    fn pass(&mut self, seconds: i64) {
        self.elapsed += Duration::from_secs(seconds.unsigned_abs());
        self.now += seconds;
        self.intake.apply(Change::Clock(at(self.now)));
    }

    /// Judges and tells, if it is time.
    fn turn(&mut self, count: &mut Count) -> Held {
        if self.reconciler.is_due(self.elapsed, self.intake.cluster.clock()) {
            self.judge(count)?;
        }
        Ok(())
    }

    fn judge(&mut self, count: &mut Count) -> Held {
        let dirty = std::mem::take(&mut self.intake.dirty);
        self.reconciler.judge(&self.intake.cluster, dirty);
        let news = self.reconciler.report(&self.intake.cluster);
        self.believe(news, count)
    }

    fn believe(&mut self, news: News, count: &mut Count) -> Held {
        let fail = |what: &str, it: &Finding| {
            Err(TestCaseError::fail(format!("{what}: {} of {}", it.rule, it.object)))
        };
        for event in news.findings {
            match event {
                FindingEvent::Appeared(it) => {
                    count.appeared += 1;
                    let key = (it.rule, it.object.clone());
                    if let Some(twice) = self.believed.insert(key, it) {
                        return fail("appeared twice", &twice);
                    }
                }
                FindingEvent::Changed(it) => {
                    count.changed += 1;
                    match self.believed.insert((it.rule, it.object.clone()), it.clone()) {
                        None => return fail("changed before it appeared", &it),
                        Some(before) if told(&before) == told(&it) => {
                            return fail("changed into itself", &it);
                        }
                        Some(_) => {}
                    }
                }
                FindingEvent::Cleared(it) => {
                    count.cleared += 1;
                    let (key, left_out) = ((it.rule, it.object), it.left_out);
                    prop_assert!(self.believed.remove(&key).is_some(), "cleared twice: {key:?}");
                    let is_unseen = !left_out && self.is_unseen(key.0, &key.1);
                    prop_assert!(!is_unseen, "cleared unseen: {key:?}");
                }
            }
        }
        Ok(())
    }

    /// Goes on with other settings, as the loop does when there is a new policy.
    fn adopt(&mut self, settings: Settings, count: &mut Count) -> Held {
        self.reconciler.adopt(settings);
        self.intake.dirty = Dirty::everything();
        self.judge(count)
    }

    /// A policy that leaves out some of what is believed.
    fn policy(&self) -> Settings {
        let mut known = self.believed.keys();
        let off = known
            .next()
            .map(|(rule, _)| format!("rules: {{off: [{rule}]}}\nthresholds: {{older-than: 1h}}\n"));
        let exempted = known.next().map(|(rule, object)| exempted(rule, object, ""));
        let parts = [Some(HEAD.to_owned()), off, exempted];
        let text: String = parts.into_iter().flatten().collect();
        WatchPolicy::parse(&"policy", &text).expect("because it is one").settings()
    }

    /// Whether an object is there, and a rule cannot judge it.
    fn is_unseen(&self, rule: &str, object: &ObjectRef) -> bool {
        let (cluster, settings) = (&self.intake.cluster, self.reconciler.settings());
        let rule = find(rule).expect("because it found something");
        let subject = match rule.judge {
            [Judge::Backend(_)] => {
                let kept = cluster.kept_backends().find(|it| it.object() == *object);
                kept.map(|it| Subject::Backend(it.backend.clone()))
            }
            _ => cluster.subject(&object.key).filter(|it| is_object(cluster, it, object)),
        };
        let Some(subject) = subject else { return false };
        let judged = Assessor::default().judge(cluster, settings, &subject, rule);
        judged.finding.is_none() && judged.unseen.is_some()
    }

    /// Holds what is believed against a full pass.
    fn hold(&self, count: &mut Count) -> Held {
        let (cluster, settings) = (&self.intake.cluster, self.reconciler.settings());
        let mut full = Assessor::default();
        full.update(cluster, settings, Dirty::everything());
        let mut believed = self.believed.clone();
        for finding in full.findings(cluster, settings) {
            let known = believed.remove(&(finding.rule, finding.object.clone()));
            let Some(known) = known else {
                let reason = format!("was not told: {} of {}", finding.rule, finding.object);
                return Err(TestCaseError::fail(reason));
            };
            let decided = |it: &Finding| it.verdict.state != VerdictState::Unseen;
            if decided(&finding) {
                prop_assert_eq!(told(&known), told(&finding));
            } else {
                prop_assert_eq!(&known.summary, &finding.summary);
            }
        }
        for (rule, object) in believed.into_keys() {
            count.stood += 1;
            prop_assert!(self.is_unseen(rule, &object), "was not told to clear: {rule} {object}");
        }
        Ok(())
    }
}

/// Whether a subject is the object that a finding was about, and not one of the same name.
fn is_object(cluster: &Cluster, subject: &Subject, object: &ObjectRef) -> bool {
    let current = match subject {
        Subject::Volume(id) => cluster.volume_at(*id).map(Volume::object),
        Subject::Claim(id) => cluster.claim_at(*id).map(Claim::object),
        Subject::StatefulSet(id) => cluster.set_at(*id).map(StatefulSet::object),
        Subject::Attachment(id) => cluster.attachment_at(*id).map(Attachment::object),
        Subject::Pod(id) => cluster.pod_at(*id).map(PodUse::object),
        Subject::Class(id) => cluster.class_at(*id).map(StorageClass::object),
        Subject::AttributesClass(id) => {
            cluster.attributes_class_at(*id).map(AttributesClass::object)
        }
        Subject::Snapshot(id) => cluster.snapshot_at(*id).map(SnapshotContent::object),
        Subject::Namespace(id) => cluster.namespace_at(*id).map(Namespace::object),
        Subject::AdmissionObject(id) => {
            cluster.admission_object_at(*id).map(AdmissionObject::object)
        }
        Subject::Driver(_) => Some(object.clone()),
        Subject::Backend(key) => cluster.kept_backend(key).map(KeptBackend::object),
    };
    current.as_ref() == Some(object)
}

/// What counts as a change of a finding.
fn told(finding: &Finding) -> String {
    let age = finding.age.map(|age| (age.since, age.trust));
    let Finding { severity, summary, verdict, offer, volume, .. } = finding;
    format!("{:?}", (severity, summary, age, verdict, offer, volume))
}

fn hold(case: &Case, count: &mut Count) -> Held {
    let mut looped = Loop::new(&case.0);
    looped.judge(count)?;
    for batch in &case.1 {
        for bytes in batch {
            let mut dice = Dice::new(bytes, looped.now);
            for change in change(&mut dice) {
                looped.take_in(change);
            }
            looped.now = dice.now;
            // The last of what chance has decided: how long nothing else happens.
            let pause = bytes.iter().rev().map(|it| i64::from(*it)).find(|it| *it > 0);
            looped.pass(pause.unwrap_or_default() % 5);
            looped.turn(count)?;
        }
    }
    // Nothing else happens, until nothing waits any more.
    looped.pass(i64::try_from(Pace::default().longest.as_secs()).expect("because it is short"));
    looped.turn(count)?;
    looped.hold(count)?;
    // Another policy is in force for a while.
    let first = looped.reconciler.settings().clone();
    for settings in [looped.policy(), first] {
        looped.adopt(settings, count)?;
        looped.hold(count)?;
    }
    // Kinds that cannot be read for a while clear nothing, and change nothing.
    for byte in case.0.iter().take(3) {
        let kind = LISTED[usize::from(*byte) % 9];
        let gap = Gap { kind, namespace: None, reason: "the connection broke".to_owned() };
        for change in [Change::Lost(gap), Change::Whole(Reach::all(kind))] {
            looped.take_in(change);
            looped.pass(3);
            looped.turn(count)?;
            looped.hold(count)?;
        }
    }
    // Then time passes, and nothing else.
    for _ in 0..3 {
        let Some(wake) = looped.reconciler.assessor().wake() else { break };
        looped.pass(wake.timestamp() - looped.now);
        looped.turn(count)?;
        looped.hold(count)?;
    }
    let elapsed = looped.elapsed;
    let defects = looped.reconciler.full_pass(&looped.intake.cluster, elapsed);
    prop_assert!(defects.is_empty(), "a full pass changes {defects:?}");
    let known = looped.reconciler.count();
    prop_assert_eq!(known, looped.believed.len());
    count.cases += 1;
    Ok(())
}

const HEAD: &str = "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n";

fn exempted(rule: &str, object: &ObjectRef, until: &str) -> String {
    format!("exemptions: [{{rule: {rule}, object: '{object}', reason: x{until}}}]\n")
}

/// A loop that was told of a volume that is Released.
fn with_released(count: &mut Count) -> Loop {
    let mut looped = Loop::new(&[]);
    let released = reclaimable(&mut Dice::new(&[], looped.now));
    looped.take_in(Change::Seen(Row::Volume(released)));
    looped.pass(3);
    looped.turn(count).expect("because promises are kept");
    looped
}

/// What is exempted appears by itself when that has had its time.
#[test]
fn an_exemption_ends_by_itself() {
    let mut count = Count::default();
    let mut looped = with_released(&mut count);
    let (rule, object) = looped.believed.keys().next().expect("something was found").clone();
    let (before, end) = (looped.believed.len(), looped.now + 1000);
    let until = format!(", until: '{}'", at(end).to_rfc3339());
    let text = format!("{HEAD}{}", exempted(rule, &object, &until));
    let policy = WatchPolicy::parse(&"policy", &text).expect("because it is one");
    looped.adopt(policy.settings(), &mut count).expect("because promises are kept");
    looped.hold(&mut count).expect("because promises are kept");
    assert_eq!((looped.believed.len(), count.cleared), (before - 1, 1));
    looped.pass(999);
    looped.turn(&mut count).expect("because promises are kept");
    assert!(!looped.believed.contains_key(&(rule, object.clone())));
    looped.pass(1);
    assert!(looped.reconciler.is_due(looped.elapsed, looped.intake.cluster.clock()));
    looped.turn(&mut count).expect("because promises are kept");
    assert!(looped.believed.contains_key(&(rule, object)));
    looped.hold(&mut count).expect("because promises are kept");
}

/// While a kind is not read, its findings stand; they are judged again when it is.
#[test]
fn what_is_not_read_clears_nothing() {
    let mut count = Count::default();
    let mut looped = with_released(&mut count);
    let before = looped.believed.len();
    assert!(before > 0, "nothing was found");
    for kind in [Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod] {
        let gap = Gap { kind, namespace: None, reason: "x".to_owned() };
        looped.take_in(Change::Lost(gap));
    }
    looped.pass(3);
    looped.turn(&mut count).expect("because promises are kept");
    assert_eq!(looped.believed.len(), before);
    assert_eq!((count.changed, count.cleared), (0, 0));
    let key = looped.believed.keys().next().expect("because there is one").1.key.clone();
    looped.take_in(Change::Gone(key));
    looped.pass(3);
    looped.turn(&mut count).expect("because promises are kept");
    assert!(looped.believed.is_empty() && count.cleared > 0);
}
