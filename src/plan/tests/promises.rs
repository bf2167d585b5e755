//! Promises that every plan keeps, as properties.

use super::*;

/// Whether `gc` may destroy a volume with these settings, derived in another way.
fn may_go(traits: &Traits, settings: &Settings) -> bool {
    let untouched = is_untouched(traits.against, settings);
    if traits.phase == Phase::Available {
        // A claim that it does not reference any more does not matter.
        let of_claim = matches!(traits.against, A::Pod | A::LiveClaim | A::ClaimRecreated);
        let asked = of_claim && traits.against != A::LiveClaim;
        return settings.destroy_data && (untouched || asked);
    }
    untouched && is_old_and_kept(traits, settings)
}

/// Whether `gc --keep-backend` may delete the object of a volume: no controller is required, and another volume may
/// reference the backend volume.
fn may_be_dropped(traits: &Traits, settings: &Settings) -> bool {
    let of_deletion =
        [A::SharedHandle, A::NodeGone, A::SecretMissing, A::SecretForbidden, A::Driver];
    let untouched = is_untouched(traits.against, settings) || of_deletion.contains(&traits.against);
    untouched && is_old_and_kept(traits, settings)
}

fn is_untouched(against: Against, settings: &Settings) -> bool {
    match against {
        // The controller of a disk deletes it without a node.
        A::Nothing | A::NodeGone => true,
        A::ClaimRecreated => settings.include_recreated,
        A::BackendState => settings.backend_verified,
        _ => false,
    }
}

fn is_old_and_kept(traits: &Traits, settings: &Settings) -> bool {
    // Times in the future do not count.
    let stated = traits.stated.filter(|days| *days >= 0);
    let old = match (stated, traits.managed) {
        (Some(stated), Some(managed)) => stated.min(managed) >= 7,
        (None, Some(managed)) => managed >= 7,
        (Some(stated), None) => stated >= 7 && settings.include_unknown_age,
        (None, None) => settings.include_unknown_age,
    };
    old && traits.phase == Phase::Released && traits.policy == ReclaimPolicy::Retain
}

/// Returns the volume after the writes of a change, before any controller acts.
fn carried_out(mut volume: Volume, change: &ProposedChange) -> Volume {
    for step in &change.proposal.steps {
        match step {
            Action::SetReclaimPolicy { to, .. } => volume.reclaim_policy = to.clone(),
            Action::CondemnVolume { claim, .. } => {
                let key = ClaimKey {
                    namespace: "default".into(),
                    name: "kubectl-storage-reclaimed".into(),
                };
                volume.claim_ref = Some(ClaimRef { key, uid: Some(claim.clone()) });
                volume.reclaim_policy = ReclaimPolicy::Delete;
                volume.phase = Phase::Released;
            }
            other => panic!("gc plans no {other:?}"),
        }
        volume.metadata.finalizers = step.added_finalizer().into_iter().map(Text::from).collect();
    }
    volume
}

/// Returns a change without the added finalizer, which is only there where enough is known.
fn apart_from_protection(change: &ProposedChange) -> ProposedChange {
    let mut change = change.clone();
    let added = format!(" and adds finalizer {}", crate::facts::EXTERNAL_PROVISIONER);
    change.proposal.effect.what = change.proposal.effect.what.replace(&added, "");
    change
        .proposal
        .notices
        .retain(|it| !it.starts_with("the patch adds no deletion-protection finalizer"));
    for step in &mut change.proposal.steps {
        if let Action::SetReclaimPolicy { finalizer, .. }
        | Action::CondemnVolume { finalizer, .. } = step
        {
            *finalizer = FinalizerEdit::Untouched;
        }
    }
    change
}

/// Whether a change is part of a plan that was made with more knowledge, and adds no finalizer that the plan does not.
fn is_among(change: &ProposedChange, whole: &Plan) -> bool {
    let adds =
        |it: &ProposedChange| it.proposal.steps.iter().any(|step| step.added_finalizer().is_some());
    whole.changes.iter().any(|known| {
        apart_from_protection(known) == apart_from_protection(change)
            && (adds(known) || !adds(change))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn exactly_what_nobody_has_to_do_with_is_destroyed(
        all in vec(traits(), 1..5), settings in settings(),
    ) {
        let plan = plan(&cluster(&all), &settings, &named(&all));
        let destroyed = objects(&plan);
        for (index, traits) in all.iter().enumerate() {
            let planned = destroyed.iter().any(|it| *it.key.name == *name(index));
            prop_assert_eq!(planned, may_go(traits, &settings), "{:?}: {:#?}", traits, plan.refusals);
        }
        prop_assert_eq!(plan.changes.len() + plan.refusals.len(), all.len());
        prop_assert!(plan.changes.iter().all(|it| it.purpose.destroys()));
    }

    #[test]
    fn exactly_what_nobody_uses_is_dropped(all in vec(traits(), 1..5), settings in settings()) {
        let settings = Settings { destroy_data: false, ..settings };
        let selection = GcSelection { keep_backend: true, ..named(&all) };
        let plan = plan(&cluster(&all), &settings, &selection);
        let dropped = objects(&plan);
        for (index, traits) in all.iter().enumerate() {
            let planned = dropped.iter().any(|it| *it.key.name == *name(index));
            prop_assert_eq!(planned, may_be_dropped(traits, &settings), "{:?}: {:#?}", traits, plan.refusals);
        }
        prop_assert!(plan.changes.iter().all(|it| it.purpose == Purpose::KeepBackend));
    }

    #[test]
    fn a_plan_that_is_made_twice_is_the_same_plan(
        all in vec(traits(), 1..5), settings in settings(), by_name: bool,
    ) {
        let selection = if by_name { named(&all) } else { GcSelection::default() };
        let first = plan(&cluster(&all), &settings, &selection);
        prop_assert_eq!(&first, &plan(&cluster(&all), &settings, &selection));
        // In any order of the names.
        let typed = GcSelection { names: selection.names.iter().rev().cloned().collect(), ..selection };
        prop_assert_eq!(&first, &plan(&cluster(&all), &settings, &typed));
    }

    #[test]
    fn selecting_adds_no_change_and_overrules_no_refusal(
        all in vec(traits(), 1..5), settings in settings(),
        namespace in option::of(select(vec!["a", "b", "c"])),
        label in option::of(select(vec!["team=x", "team!=x", "team in (x,y)", "!team", "other"])),
        class in option::of(select(vec!["fast", "slow", "none"])),
        driver in option::of(select(vec![ALIVE, ABSENT, "none"])),
        keep_backend: bool, names in vec(0_usize..4, 0..3),
    ) {
        let cluster = cluster(&all);
        let everything = GcSelection { keep_backend, ..GcSelection::default() };
        let whole = plan(&cluster, &settings, &everything);
        let mut narrow = settings.clone();
        narrow.scope.namespaces = namespace.map(Text::from).into_iter().collect();
        let selector = Selector::parse(label.unwrap_or_default());
        narrow.scope.selector = selector.expect("because it is one");
        let selection = GcSelection {
            names: Vec::new(),
            class: class.map(Text::from),
            driver: driver.map(Text::from),
            keep_backend,
            when: WhenReclaimed::Now,
        };
        is_within(&plan(&cluster, &narrow, &selection), &whole)?;

        // A name selects volumes that no filter selects, but no change that is refused for a
        // filter.
        let names: BTreeSet<_> = names.into_iter().filter(|it| *it < all.len()).collect();
        prop_assume!(!names.is_empty() && !settings.destroy_data);
        let names = names.into_iter().map(|index| name(index).into()).collect();
        let typed = plan(&cluster, &narrow, &GcSelection { names, ..selection });
        for change in &typed.changes {
            prop_assert!(whole.changes.contains(change), "only when named: {change:?}");
        }
    }

    #[test]
    fn what_was_not_seen_never_becomes_a_change(
        all in vec(traits(), 1..5), settings in settings(),
        kind in select(&Kind::ALL[..]), keep_backend: bool,
    ) {
        let selection = GcSelection { keep_backend, ..named(&all) };
        let whole = plan(&cluster(&all), &settings, &selection);
        let mut blind = cluster(&all);
        lose(&mut blind, kind, None);
        let seen = plan(&blind, &settings, &selection);
        for change in &seen.changes {
            prop_assert!(is_among(change, &whole), "without {kind}: {change:?}");
        }
        if !ALWAYS.contains(&kind) {
            return Ok(());
        }
        let leftover = seen.changes.iter().find(|change| {
            // Deleting one of two objects needs no list of the others, and a volume without a claim
            // has no pods.
            let claimless = kind == Kind::Pod && change.purpose == Purpose::Condemn;
            let redundant =
                kind == Kind::PersistentVolume && change.purpose == Purpose::KeepBackend;
            !(claimless || redundant)
        });
        prop_assert_eq!(leftover, None, "without {}", kind);
    }

    #[test]
    fn a_namespace_whose_pods_may_not_be_listed_is_left_alone(
        all in vec(traits(), 1..5), settings in settings(), keep_backend: bool,
    ) {
        let selection = GcSelection { keep_backend, ..named(&all) };
        let whole = plan(&cluster(&all), &settings, &selection);
        let mut blind = cluster(&all);
        lose(&mut blind, Kind::Pod, Some("a"));
        let seen = plan(&blind, &settings, &selection);
        for change in &whole.changes {
            let traits = all.iter().enumerate().find(|(index, _)| *change.object.key.name == *name(*index));
            let (_, traits) = traits.expect("because nothing else is there");
            let hidden = traits.namespace == "a" && change.purpose != Purpose::Condemn;
            if hidden {
                let refused = seen.refusals.iter().find(|it| it.object == change.object);
                prop_assert!(refused.is_some_and(|it| it.unseen), "{:#?}", seen);
            } else {
                let planned = seen.changes.iter().find(|it| it.object == change.object);
                let found = planned.is_some_and(|it| is_among(it, &whole));
                prop_assert!(found, "of another namespace: {:#?}", seen);
            }
        }
    }

    #[test]
    fn what_was_carried_out_is_not_planned_again(
        all in vec(traits(), 1..5), settings in settings(),
    ) {
        let first = plan(&cluster(&all), &settings, &named(&all));
        let volumes = all.iter().enumerate().map(|(index, traits)| {
            let volume = volume(traits, index);
            match first.changes.iter().find(|it| it.object == volume.object()) {
                Some(change) => carried_out(volume, change),
                None => volume,
            }
        });
        let after = plan(&around(&all, volumes.collect()), &settings, &named(&all));
        prop_assert_eq!(&after.changes, &[]);
        // Also where the same plan is carried out again.
        prop_assert!(objects(&after).is_disjoint(&objects(&first)));
    }
}

/// Checks that `gc` proposes anything: the properties above would hold for one that never does.
#[test]
fn a_volume_that_nothing_speaks_against_is_planned() {
    let all = [Traits {
        against: A::Nothing,
        phase: Phase::Released,
        policy: ReclaimPolicy::Retain,
        stated: Some(9),
        managed: Some(9),
        namespace: "a",
        class: "fast",
        label: "x",
    }];
    for selection in [GcSelection::default(), named(&all)] {
        let plan = plan(&cluster(&all), &Settings::default(), &selection);
        let names: Vec<_> = plan.changes.iter().map(|it| it.object.to_string()).collect();
        assert_eq!(names, ["pv/pv-0"], "{:#?}", plan.refusals);
        assert_eq!(plan.bytes(), 1 << 30);
        assert!(plan.changes.iter().all(|it| it.proposal.relies_on.is_empty()));
        let added = plan.changes.iter().flat_map(|it| &it.proposal.steps);
        let added: Vec<_> = added.filter_map(Action::added_finalizer).collect();
        assert_eq!(added, [crate::facts::EXTERNAL_PROVISIONER]);
    }
}

#[test]
fn what_is_too_young_is_refused_by_name_and_not_selected_by_a_filter() {
    let young = |stated, managed| Traits {
        against: A::Nothing,
        phase: Phase::Released,
        policy: ReclaimPolicy::Retain,
        stated: Some(stated),
        managed: Some(managed),
        namespace: "a",
        class: "fast",
        label: "x",
    };
    // The younger of two times counts.
    let all = [young(6, 6), young(400, 0), young(0, 400)];
    let cluster = cluster(&all);
    let selected = plan(&cluster, &Settings::default(), &GcSelection::default());
    assert_eq!((&*selected.changes, &*selected.refusals), (&[][..], &[][..]));
    let typed = plan(&cluster, &Settings::default(), &named(&all));
    let reasons: BTreeSet<_> = typed.refusals.iter().map(|it| &*it.reason).collect();
    assert_eq!((typed.changes.len(), typed.refusals.len()), (0, 3));
    assert_eq!(reasons, BTreeSet::from(["it has been Released for less than 7d"]));
}

#[test]
fn a_name_that_nothing_has_is_refused_and_never_guessed() {
    let all = [];
    let names = vec!["pv-0".into()];
    let selection = GcSelection { names, ..GcSelection::default() };
    let told = |cluster: &Cluster| {
        let plan = plan(cluster, &Settings::default(), &selection);
        assert_eq!(plan.changes, []);
        let refused = plan.refusals.first().expect("one");
        (refused.object.key.clone(), refused.unseen, refused.named)
    };
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-0");
    assert_eq!(told(&cluster(&all)), (key.clone(), false, true));
    let mut blind = cluster(&all);
    lose(&mut blind, Kind::PersistentVolume, None);
    assert_eq!(told(&blind), (key, true, true));
}
