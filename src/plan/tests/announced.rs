//! Properties of plans that announce, and of those that reclaim what was announced.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::facts::announced_volume;
use crate::model::{AnnouncedBatch, Announcements, Veto};
use crate::remedies::Announcing;

/// Fate of the announcement of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Story {
    NotAnnounced,
    Running,
    Due,
    /// The annotation was forged to be due; the record is not.
    Forged,
    /// The volume was recorded again, without an annotation for that record.
    Earlier,
    /// The annotation was removed.
    Unmarked,
    /// The annotation says something else.
    Overwritten,
    VetoRecorded,
    /// The annotation has a later time.
    Lengthened,
    AnotherVolume,
    AnotherClaim,
    AnotherPlace,
    AnotherProposal,
    AnotherNotice,
    /// The record was deleted.
    Void,
}

const STORIES: [Story; 15] = [
    Story::Earlier,
    Story::NotAnnounced,
    Story::Running,
    Story::Due,
    Story::Forged,
    Story::Unmarked,
    Story::Overwritten,
    Story::VetoRecorded,
    Story::Lengthened,
    Story::AnotherVolume,
    Story::AnotherClaim,
    Story::AnotherPlace,
    Story::AnotherProposal,
    Story::AnotherNotice,
    Story::Void,
];

impl Story {
    /// Whether a volume with this story may be announced, with `--include-vetoed` or without.
    fn may_be_announced(self, include_vetoed: bool) -> bool {
        match self {
            Self::Running | Self::Due | Self::Forged | Self::Lengthened => false,
            Self::Unmarked | Self::Overwritten | Self::VetoRecorded => include_vetoed,
            _ => true,
        }
    }
}

/// Returns a cluster with these volumes and their announcements, and the volumes that `gc` would reclaim with what
/// there is to know of each.
fn told(
    all: &[(Traits, Story)],
    settings: &Settings,
) -> (Cluster, BTreeMap<ObjectRef, Vec<String>>) {
    let traits: Vec<_> = all.iter().map(|(it, _)| it.clone()).collect();
    let plain = cluster(&traits);
    let reclaimed = plan(&plain, settings, &named(&traits));
    let proposals = reclaimed.changes.iter().filter(|it| it.purpose == Purpose::Reclaim);
    let proposals: Vec<_> = proposals.map(|it| (it.object.clone(), it.proposal.clone())).collect();
    let mut records = Announcements::default();
    let mut volumes = Vec::new();
    for (index, (it, story)) in all.iter().enumerate() {
        let mut row = volume(it, index);
        let mark = match story {
            Story::NotAnnounced | Story::Unmarked => None,
            Story::Overwritten => Some("please keep".to_owned()),
            Story::Lengthened => Some(crate::model::format_time(&at(-1))),
            Story::Forged => Some(format!("1970-01-01T00:00:00Z batch-{index}")),
            Story::Earlier => Some(crate::facts::mark_text(&at(5), "kube-system", "batch")),
            _ => Some(crate::facts::mark_text(&at(3), "kube-system", &format!("batch-{index}"))),
        };
        if let Some(annotations) = &mut row.metadata.rare_annotations {
            annotations.announced = mark.map(Into::into);
        }
        let proposal = proposals.iter().find(|(object, _)| *object == row.object());
        let entry = proposal.and_then(|(_, it)| announced_volume(&row, it));
        if let (Some(mut entry), false) =
            (entry, matches!(story, Story::NotAnnounced | Story::Void))
        {
            match story {
                Story::AnotherVolume => entry.uid = Uid::Other("another".into()),
                Story::AnotherClaim => entry.claim_uid = Some(Uid::Other("another".into())),
                Story::AnotherPlace => entry.handle = "vol-another".into(),
                Story::AnotherProposal => entry.proposal = "another".into(),
                Story::AnotherNotice => {
                    // What was known then is less than what is known now.
                    entry.notices.clear();
                }
                _ => {}
            }
            if *story == Story::VetoRecorded {
                records.vetoes.push(Veto {
                    volume: entry.name.clone(),
                    uid: entry.uid.clone(),
                    batch: "batch".into(),
                    found: None,
                });
            }
            let running = matches!(story, Story::Running | Story::Forged);
            records.batches.push(AnnouncedBatch {
                name: format!("batch-{index}").into(),
                created: at(if running { 1 } else { 4 }),
                grace: Duration::from_secs(2 * 24 * 3600),
                cluster: None,
                volumes: vec![entry],
            });
        }
        volumes.push(row);
    }
    let mut cluster = around(&traits, volumes);
    let question = Question::Announcements { namespace: "kube-system".into() };
    let answer = Row::Answer(question, Answer::Announcements(Arc::new(records)));
    cluster.apply(Change::Seen(answer), &mut Dirty::default());
    let objects = proposals.into_iter().map(|(object, it)| (object, it.notices)).collect();
    (cluster, objects)
}

fn stories() -> impl Strategy<Value = Vec<(Traits, Story)>> {
    // Nothing speaks against reclaiming half of them: otherwise few would be reclaimed.
    let plain = traits().prop_map(|it| Traits {
        against: A::Nothing,
        phase: Phase::Released,
        policy: ReclaimPolicy::Retain,
        stated: Some(30),
        managed: Some(30),
        ..it
    });
    vec((prop_oneof![plain, traits()], select(&STORIES[..])), 1..6)
}

fn by(purpose: impl Fn(&Purpose) -> bool, plan: &Plan) -> BTreeSet<ObjectRef> {
    let changes = plan.changes.iter().filter(|it| purpose(&it.purpose));
    changes.map(|it| it.object.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn only_what_is_due_unchanged_and_not_vetoed_is_reclaimed(
        all in stories(), settings in settings(), by_name: bool,
    ) {
        let settings = Settings { destroy_data: false, ..settings };
        let (cluster, reclaimable) = told(&all, &settings);
        let traits: Vec<_> = all.iter().map(|(it, _)| it.clone()).collect();
        let named = if by_name { named(&traits) } else { GcSelection::default() };
        let selection = GcSelection { when: WhenReclaimed::Announced, ..named };
        let plan = plan(&cluster, &settings, &selection);
        let destroyed = by(Purpose::destroys, &plan);
        for (index, (_, story)) in all.iter().enumerate() {
            let object = volume(&traits[index], index).object();
            let expected = reclaimable.get(&object).is_some_and(|notices| match story {
                Story::Due => true,
                // There may be nothing to know.
                Story::AnotherNotice => notices.is_empty(),
                _ => false,
            });
            prop_assert_eq!(
                destroyed.contains(&object), expected, "{:?}: {:#?}", story, &plan.refusals
            );
        }
        let vetoes = by(|it| *it == Purpose::RecordVeto, &plan);
        for (index, (_, story)) in all.iter().enumerate() {
            let object = volume(&traits[index], index).object();
            let vetoed = matches!(story, Story::Unmarked | Story::Overwritten);
            prop_assert_eq!(vetoes.contains(&object), vetoed && reclaimable.contains_key(&object));
        }
        prop_assert_eq!(destroyed.len() + vetoes.len(), plan.changes.len());
    }

    #[test]
    fn nothing_is_announced_twice_or_against_a_veto(
        all in stories(), settings in settings(), include_vetoed: bool,
    ) {
        let settings = Settings { destroy_data: false, ..settings };
        let (cluster, reclaimable) = told(&all, &settings);
        let traits: Vec<_> = all.iter().map(|(it, _)| it.clone()).collect();
        let announcing = Announcing { grace: Duration::from_secs(60), include_vetoed };
        let when = WhenReclaimed::Announce(announcing);
        let plan = plan(&cluster, &settings, &GcSelection { when, ..named(&traits) });
        let announced = by(|it| matches!(it, Purpose::Announce(_)), &plan);
        for (index, (_, story)) in all.iter().enumerate() {
            let object = volume(&traits[index], index).object();
            let expected = reclaimable.get(&object).is_some_and(|notices| match story {
                // Without anything new to know it is due.
                Story::AnotherNotice => !notices.is_empty(),
                _ => story.may_be_announced(include_vetoed),
            });
            prop_assert_eq!(
                announced.contains(&object), expected, "{:?}: {:#?}", story, &plan.refusals
            );
        }
        prop_assert!(plan.changes.iter().all(|it| !it.purpose.destroys()));
    }

    /// Asks for announcements again before each write, whatever is not read at the moment, as while it is listed again.
    #[test]
    fn every_decision_looks_at_announcements(
        all in stories(), settings in settings(), lost in option::of(select(&ALWAYS[1..])),
    ) {
        let settings = Settings { destroy_data: false, ..settings };
        let (mut cluster, _) = told(&all, &settings);
        if let Some(kind) = lost {
            lose(&mut cluster, kind, None);
        }
        let question = crate::facts::announcements_question(&"kube-system".into());
        for purpose in [
            Purpose::Announce(Announcing::default()), Purpose::ReclaimAnnounced, Purpose::RecordVeto,
        ] {
            let facts = RefCell::default();
            let cx = Cx::new(&cluster, &settings, &facts);
            cx.listen();
            let object = volume(&all[0].0, 0).object();
            let proposed = purpose.propose(&cx, &object);
            let asks = cx.take_notes().0.contains(&crate::cluster::Lookup::Answer(question.clone()));
            prop_assert!(asks, "{purpose:?}: {proposed:?}");
        }
    }

    #[test]
    fn unread_announcements_reclaim_and_announce_nothing(all in stories(), settings in settings()) {
        let settings = Settings { destroy_data: false, ..settings };
        let traits: Vec<_> = all.iter().map(|(it, _)| it.clone()).collect();
        for answer in [None, Some(Answer::Forbidden), Some(Answer::Unanswered("late".into()))] {
            let mut cluster = cluster(&traits);
            if let Some(answer) = answer {
                let question = Question::Announcements { namespace: "kube-system".into() };
                let row = Row::Answer(question, answer);
                cluster.apply(Change::Seen(row), &mut Dirty::default());
            }
            let announce = WhenReclaimed::Announce(Announcing::default());
            for when in [WhenReclaimed::Announced, announce] {
                let plan = plan(&cluster, &settings, &GcSelection { when, ..named(&traits) });
                prop_assert_eq!(&plan.changes, &Vec::new());
            }
        }
    }
}
