//! Properties for random claims, users, controllers and flags.

use proptest::{
    collection::btree_set, option, prelude::*, sample::select, strategy::ValueTree as _,
    test_runner::TestRunner,
};

use super::*;
use crate::cluster::Seen;
use crate::model::{Attachment, ObjectRef};

/// An object that uses the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Nobody,
    Running,
    Unscheduled,
    Finished,
    Template,
    Copy,
    Snapshot,
    Attached,
}

const USERS: [User; 8] = [
    User::Nobody,
    User::Running,
    User::Unscheduled,
    User::Finished,
    User::Template,
    User::Copy,
    User::Snapshot,
    User::Attached,
];

#[derive(Debug, Clone)]
struct Case {
    fixture: FinalizerFixture,
    claim: Claim,
    volume: Volume,
    user: User,
}

const FINALIZERS: [&str; 6] =
    [PVC_PROTECTION, CLONE_SOURCE, SNAPSHOT_SOURCE, FOREIGN, OTHER, "foregroundDeletion"];

fn liveness() -> impl Strategy<Value = Liveness> {
    // Mostly absent, or hardly anything would be planned.
    select(vec![Liveness::Absent, Liveness::Absent, Liveness::Alive, Liveness::Unknown])
}

fn words() -> impl Strategy<Value = Settings> {
    let drivers =
        btree_set(select(vec!["kube-controller-manager", DRIVER, "snapshot-controller"]), 0..2);
    let removed = option::of(select(FINALIZERS.to_vec()));
    (any::<bool>(), any::<bool>(), drivers, removed).prop_map(
        |(keep, destroy, drivers, removed)| {
            settings(|it| {
                it.keep_data = keep;
                it.destroy_data = destroy;
                it.absent_drivers = drivers.into_iter().map(Text::from).collect();
                it.remove_finalizer = removed.map(Text::from);
            })
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    let user = prop_oneof![3 => Just(User::Nobody), 1 => select(USERS.to_vec())];
    let unread = prop_oneof![4 => Just(None), 1 => select(NEEDS.to_vec()).prop_map(Some)];
    let finalizers = btree_set(select(FINALIZERS.to_vec()), 0..4);
    let deleting =
        prop_oneof![1 => Just(None), 4 => select(vec![Some(0), Some(5), Some(30), Some(120)])];
    let policy = select(vec![
        ReclaimPolicy::Retain,
        ReclaimPolicy::Delete,
        ReclaimPolicy::Recycle,
        ReclaimPolicy::Other("Later".into()),
    ]);
    let phase =
        prop_oneof![4 => Just(Phase::Bound), 1 => select(vec![Phase::Released, Phase::Failed])];
    let lives = (liveness(), liveness(), liveness());
    let volumes = (policy, phase, option::weighted(0.1, 1_i64..90));
    (user, unread, finalizers, deleting, volumes, lives, words(), any::<bool>()).prop_map(
        |(user, unread, finalizers, deleting, volumes, lives, settings, named)| {
            let finalizers: Vec<_> = finalizers.into_iter().collect();
            let (policy, phase, going) = volumes;
            let (manager, provisioner, snapshotter) = lives;
            let mut volume = volume(policy);
            volume.phase = phase;
            volume.metadata.deleting = going.map(ago);
            let mut fixture = FinalizerFixture {
                manager,
                provisioner,
                snapshotter,
                unread,
                settings,
                named,
                ..FinalizerFixture::default()
            };
            fixture.rows.extend(match user {
                User::Nobody => None,
                User::Running => Some(pod("shop", PodPhase::Running, Some("node-1"))),
                User::Unscheduled => Some(pod("shop", PodPhase::Pending, None)),
                User::Finished => Some(pod("shop", PodPhase::Failed, Some("node-1"))),
                User::Template => Some(workload()),
                User::Copy => Some(copy(ClaimPhase::Pending)),
                User::Snapshot => Some(snapshot(false)),
                User::Attached => {
                    let held: Attachment =
                        attachment(&["external-attacher/driver-longhorn-io"], Some(5));
                    Some(Row::Attachment(Box::new(held)))
                }
            });
            Case { fixture, claim: claim(&finalizers, deleting), volume, user }
        },
    )
}

impl Case {
    fn ask(&self) -> Seen<Result<Proposal, Refusal>> {
        let fixture = self.fixture.clone().of_claim(&self.claim, Some(&self.volume));
        fixture.ask(propose, &self.claim)
    }

    fn planned(&self) -> Option<Proposal> {
        self.ask().ok()?.ok()
    }

    /// Returns the case after a step.
    fn after(&self, step: &Action) -> Self {
        let mut after = self.clone();
        match step {
            Action::SetReclaimPolicy { to, .. } => after.volume.reclaim_policy = to.clone(),
            Action::RemoveFinalizer { finalizer: gone, .. } => {
                let kept = self.claim.metadata.finalizers.iter().filter(|it| *it != gone);
                after.claim.metadata.finalizers = kept.cloned().collect();
            }
            Action::AddFinalizer { finalizer, .. } => {
                let kept = self.claim.metadata.finalizers.iter().chain([finalizer]);
                after.claim.metadata.finalizers = kept.cloned().collect();
            }
            other => panic!("nobody does that to a claim: {other:?}"),
        }
        after
    }

    /// Whether the controller of a finalizer is proven absent, derived in another way than by the
    /// remedy.
    fn nobody_removes(&self, finalizer: &str) -> bool {
        let settings = &self.fixture.settings;
        let gone = |liveness, name: &str| match liveness {
            Liveness::Absent => true,
            Liveness::Alive => false,
            Liveness::Unknown => settings.absent_drivers.contains(name),
        };
        match finalizer {
            PVC_PROTECTION => gone(self.fixture.manager, "kube-controller-manager"),
            CLONE_SOURCE => gone(self.fixture.provisioner, DRIVER),
            SNAPSHOT_SOURCE => gone(self.fixture.snapshotter, "snapshot-controller"),
            FOREIGN | OTHER => {
                self.fixture.named && settings.remove_finalizer.as_deref() == Some(finalizer)
            }
            _ => false,
        }
    }
}

fn removed(proposal: &Proposal) -> Vec<(&ObjectRef, &str)> {
    let mut removed = Vec::new();
    for step in &proposal.steps {
        if let Action::RemoveFinalizer { object, finalizer, .. } = step {
            removed.push((object, &**finalizer));
        }
    }
    removed
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn nothing_is_removed_that_somebody_uses_or_would_remove(case in cases()) {
        let Some(proposal) = case.planned() else { return Ok(()) };
        for (object, finalizer) in removed(&proposal) {
            prop_assert_eq!(object, &case.claim.object());
            prop_assert!(case.claim.metadata.deleting.is_some(), "{:?}", case);
            prop_assert_eq!(case.user, User::Nobody);
            prop_assert!(case.nobody_removes(finalizer), "{}: {:?}", finalizer, case);
        }
    }

    #[test]
    fn what_was_not_seen_removes_nothing(mut case in cases(), kind in select(NEEDS.to_vec())) {
        // Kinds that only show controllers matter only for finalizers with known controllers.
        let of_users = [Kind::Pod, Kind::PersistentVolumeClaim, Kind::VolumeSnapshot, Kind::VolumeAttachment];
        let of_users = of_users.contains(&kind) || Kind::WORKLOADS.contains(&kind);
        let whole = Case { fixture: FinalizerFixture { unread: None, ..case.fixture.clone() }, ..case.clone() };
        case.fixture.unread = Some(kind);
        let Some(proposal) = case.planned() else { return Ok(()) };
        let seen = whole.planned();
        prop_assert_eq!(Some(&proposal), seen.as_ref());
        for (_, finalizer) in removed(&proposal) {
            let known = finalizer != FOREIGN && finalizer != OTHER;
            let shows_controllers = [Kind::Lease, Kind::Event].contains(&kind);
            prop_assert!(!(of_users || known && shows_controllers), "without {}: {}", kind, finalizer);
        }
    }

    #[test]
    fn no_data_goes_without_a_word_about_it(case in cases()) {
        let Some(proposal) = case.planned() else { return Ok(()) };
        let gone = removed(&proposal);
        let left = case.claim.metadata.finalizers.iter().filter(|it| !gone.iter().any(|(_, gone)| **gone == ***it));
        let goes = !gone.is_empty() && left.count() == 0;
        let lost = [ReclaimPolicy::Delete, ReclaimPolicy::Recycle].contains(&case.volume.reclaim_policy);
        let set = matches!(proposal.steps.first(), Some(Action::SetReclaimPolicy { .. }));
        let settings = &case.fixture.settings;
        if goes && lost {
            prop_assert!(settings.keep_data || settings.destroy_data, "{:?}", case);
            prop_assert_eq!(set, settings.keep_data);
            let word = if settings.keep_data { "--keep-data" } else { "--destroy-data" };
            prop_assert!(proposal.relies_on.contains(&word));
        }
        let bound = case.volume.phase == Phase::Bound && case.volume.metadata.deleting.is_none();
        prop_assert!(!set || lost && settings.keep_data && bound, "{:?}", case);
    }

    #[test]
    fn after_every_step_the_rest_is_proposed_again(mut case in cases()) {
        let Some(first) = case.planned() else { return Ok(()) };
        for (index, step) in first.steps.iter().enumerate() {
            let Some(now) = case.planned() else {
                return Err(TestCaseError::fail(format!("nothing left: {case:?}: {first:?}")));
            };
            prop_assert_eq!(&now.steps[..], &first.steps[index..]);
            prop_assert!(now.notices.iter().all(|it| first.notices.contains(it)), "{:?}", now.notices);
            prop_assert!(now.relies_on.iter().all(|it| first.relies_on.contains(it)));
            case = case.after(step);
        }
    }

    #[test]
    fn every_flag_that_is_relied_upon_is_needed(case in cases()) {
        let Some(proposal) = case.planned() else { return Ok(()) };
        for flag in &proposal.relies_on {
            let mut without = case.clone();
            let settings = &mut without.fixture.settings;
            match *flag {
                "--keep-data" => settings.keep_data = false,
                "--destroy-data" => settings.destroy_data = false,
                "--remove-finalizer" => settings.remove_finalizer = None,
                // Absent by its age and by the flag: the flag counts.
                "--driver-absent" => continue,
                other => return Err(TestCaseError::fail(other.to_owned())),
            }
            let others = without.planned().map(|it| it.steps);
            prop_assert_ne!(Some(&proposal.steps), others.as_ref());
        }
    }
}

/// The properties above would hold for a remedy that never removes anything.
#[test]
fn most_of_what_could_be_planned_is_planned() {
    let mut runner = TestRunner::deterministic();
    let mut planned = [0; 4];
    for _ in 0..2000 {
        let tree = cases().new_tree(&mut runner).expect("because it has no filter");
        let Some(proposal) = tree.current().planned() else { continue };
        planned[proposal.steps.len().min(3)] += 1;
    }
    assert!(planned[1] > 100 && planned[2] > 20 && planned[3] > 5, "{planned:?}");
}
