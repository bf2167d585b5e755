//! Properties for random attachments, nodes, volumes, attachers and flags.

use proptest::{
    collection::btree_set, option, prelude::*, sample::select, strategy::ValueTree as _,
    test_runner::TestRunner,
};

use super::*;
use crate::cluster::Seen;

const OTHER: &str = "external-attacher/other-example-com";
const FINALIZERS: [&str; 4] = [OWN, OTHER, FOREIGN, "foregroundDeletion"];
/// The kinds that must be read before any step for an attachment that references a volume.
const ALWAYS: [Kind; 2] = [Kind::PersistentVolume, Kind::Node];

#[derive(Debug, Clone)]
struct Case {
    fixture: FinalizerFixture,
    row: Attachment,
    node_there: bool,
    volume_there: bool,
    pod_there: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let finalizers = btree_set(select(FINALIZERS.to_vec()), 0..4);
    let deleting = option::weighted(0.7, select(vec![0, 5, 30, 120, 120]));
    let there = || prop_oneof![2 => Just(false), 1 => Just(true)];
    let attacher = select(vec![Liveness::Alive, Liveness::Absent, Liveness::Unknown]);
    let unread = prop_oneof![4 => Just(None), 1 => select(REMEDY.needs.to_vec()).prop_map(Some)];
    let words = (
        option::weighted(0.7, select(vec![FOREIGN, FOREIGN, OWN, OTHER])),
        any::<bool>(),
        any::<bool>(),
    );
    (finalizers, deleting, (there(), there(), there()), any::<bool>(), attacher, unread, words)
        .prop_map(
            |(
                finalizers,
                deleting,
                (node_there, volume_there, pod_there),
                attached,
                attacher,
                unread,
                words,
            )| {
                let finalizers: Vec<_> = finalizers.into_iter().collect();
                let (removed, by_word, named) = words;
                let absent_drivers = by_word.then(|| DRIVER.into()).into_iter().collect();
                let remove_finalizer = removed.map(Text::from);
                let settings = Settings { absent_drivers, remove_finalizer, ..Settings::default() };
                let mut fixture = FinalizerFixture {
                    attacher,
                    unread,
                    settings,
                    named,
                    ..FinalizerFixture::default()
                };
                fixture.rows.extend(node_there.then(node));
                fixture.rows.extend(pod_there.then(|| running("shop", "node-1")));
                if volume_there {
                    fixture = with_volume(fixture);
                }
                let row = Attachment { attached, ..attachment(&finalizers, deleting) };
                Case { fixture, row, node_there, volume_there, pod_there }
            },
        )
}

impl Case {
    fn ask(&self) -> Seen<Result<Proposal, Refusal>> {
        let seen = Row::Attachment(Box::new(self.row.clone()));
        self.fixture.clone().with(seen).ask(propose, &self.row)
    }

    fn planned(&self) -> Option<Proposal> {
        self.ask().ok()?.ok()
    }
}

fn removed(proposal: &Proposal) -> Vec<&str> {
    let mut removed = Vec::new();
    for step in &proposal.steps {
        if let Action::RemoveFinalizer { finalizer, .. } = step {
            removed.push(&**finalizer);
        }
    }
    removed
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn no_attachers_finalizer_goes_while_its_node_or_its_volume_is_there(case in cases()) {
        let Some(proposal) = case.planned() else { return Ok(()) };
        prop_assert!(!proposal.keeps_backend && case.fixture.named, "{:?}", case);
        let gone = removed(&proposal);
        for finalizer in &gone {
            prop_assert!(case.row.metadata.deleting.is_some(), "{:?}", case);
            match *finalizer {
                OWN => prop_assert!(!case.node_there && !case.volume_there, "{:?}", case),
                FOREIGN => {
                    let word = case.fixture.settings.remove_finalizer.as_deref();
                    prop_assert_eq!(word, Some(FOREIGN));
                    let attached = case.row.metadata.has_finalizer(OTHER)
                        || case.row.metadata.has_finalizer(OWN) && !gone.contains(&OWN);
                    prop_assert!(!attached, "{:?}", case);
                }
                other => return Err(TestCaseError::fail(format!("{other}: {case:?}"))),
            }
        }
    }

    #[test]
    fn nothing_is_deleted_that_may_be_written_or_that_nobody_detaches(case in cases()) {
        let Some(proposal) = case.planned() else { return Ok(()) };
        if !proposal.steps.iter().any(|it| matches!(it, Action::DeleteAttachment { .. })) {
            return Ok(());
        }
        prop_assert_eq!(proposal.steps.len(), 1);
        prop_assert!(case.row.metadata.deleting.is_none(), "{:?}", case);
        prop_assert!(!case.node_there && case.volume_there && !case.pod_there, "{:?}", case);
        let by_word = case.fixture.settings.absent_drivers.contains(DRIVER);
        let absent = match case.fixture.attacher {
            Liveness::Alive => false,
            Liveness::Absent => true,
            Liveness::Unknown => by_word,
        };
        prop_assert!(!absent, "{:?}", case);
    }

    #[test]
    fn what_was_not_seen_changes_nothing(mut case in cases(), kind in select(REMEDY.needs.to_vec())) {
        let whole = Case { fixture: FinalizerFixture { unread: None, ..case.fixture.clone() }, ..case.clone() };
        case.fixture.unread = Some(kind);
        let Some(proposal) = case.planned() else { return Ok(()) };
        let seen = whole.planned();
        prop_assert_eq!(Some(&proposal), seen.as_ref());
        let of_others = removed(&proposal) == [FOREIGN];
        // Only the absence of a volume or a node needs a complete list.
        let proven = kind == Kind::PersistentVolume && case.volume_there;
        prop_assert!(!ALWAYS.contains(&kind) || of_others || proven, "without {}: {:?}", kind, case);
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
            if let Action::RemoveFinalizer { finalizer: gone, .. } = step {
                let kept = case.row.metadata.finalizers.iter().filter(|it| *it != gone);
                case.row.metadata.finalizers = kept.cloned().collect();
            }
        }
    }
}

/// The properties above would hold for a remedy that never proposes anything.
#[test]
fn most_of_what_could_be_planned_is_planned() {
    let mut runner = TestRunner::deterministic();
    let (mut deleted, mut own, mut foreign) = (0, 0, 0);
    for _ in 0..2000 {
        let tree = cases().new_tree(&mut runner).expect("because it has no filter");
        let Some(proposal) = tree.current().planned() else { continue };
        let gone = removed(&proposal);
        own += usize::from(gone.contains(&OWN));
        foreign += usize::from(gone.contains(&FOREIGN));
        deleted += usize::from(gone.is_empty());
    }
    assert!(deleted > 10 && own > 10 && foreign > 10, "{deleted} {own} {foreign}");
}
