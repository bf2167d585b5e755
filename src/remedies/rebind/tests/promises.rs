//! What no proposal ever does.

use super::*;

/// Whatever the objects are: a proposal is about the named claim and this volume alone, its policy is
/// Retain, and everything on which it rests was read.
#[test]
fn no_proposal_breaks_a_promise() {
    let refs = [None, Some("gone"), Some("new"), Some("")];
    let phases = [Phase::Pending, Phase::Available, Phase::Bound, Phase::Released, Phase::Failed];
    let policies = [ReclaimPolicy::Retain, ReclaimPolicy::Delete, ReclaimPolicy::Recycle];
    let claims = [
        None,
        Some(claim()),
        Some(Claim { volume_name: None, ..claim() }),
        Some(Claim { volume_name: Some("pv-9".into()), ..claim() }),
        Some(Claim { phase: ClaimPhase::Bound, ..lost() }),
        Some(Claim { phase: ClaimPhase::Bound, volume_name: Some("pv-9".into()), ..lost() }),
        Some(lost()),
        Some(Claim { volume_name: None, ..lost() }),
        Some(Claim { volume_name: Some("pv-9".into()), ..lost() }),
    ];
    let unread: [&[Kind]; 3] = [&[], &[Kind::PersistentVolumeClaim], &[Kind::PersistentVolume]];
    let (mut proposed, mut asked) = (0, 0);
    let each_phase =
        || phases.iter().flat_map(|it| policies.iter().map(move |policy| (it, policy)));
    for (uid, (phase, policy)) in
        refs.into_iter().flat_map(|it| each_phase().map(move |rest| (it, rest)))
    {
        for bits in 0..64_u32 {
            let [deleting, doubted, twin, verified, other_name, second] =
                std::array::from_fn(|bit| bits & 1 << bit != 0);
            // What was not read is refused whatever else is true: few of these are enough.
            let unread = if bits < 2 { &unread[..] } else { &unread[..1] };
            let each = claims.iter().flat_map(|it| unread.iter().map(move |unread| (it, *unread)));
            for (claim, unread) in each {
                let mut volume = Volume {
                    phase: phase.clone(),
                    reclaim_policy: policy.clone(),
                    claim_ref: uid.map(|uid| ClaimRef { key: key("orders"), uid: Uid::parse(uid) }),
                    ..volume()
                };
                volume.metadata.deleting = deleting.then(now);
                volume.backend_state = doubted.then(|| "unknown".into());
                let mut rows: Vec<_> =
                    claim.iter().map(|it| Row::Claim(Box::new(it.clone()))).collect();
                if twin {
                    let mut twin = volume.clone();
                    (twin.metadata.name, twin.claim_ref) = ("pv-2".into(), None);
                    rows.push(Row::Volume(Box::new(twin)));
                }
                if second {
                    let mut second = lost();
                    (second.metadata.name, second.metadata.uid) =
                        ("second".into(), Uid::parse("s"));
                    rows.push(Row::Claim(Box::new(second)));
                }
                let settings = Settings { backend_verified: verified, ..Settings::default() };
                let to = other_name.then(|| key("copy"));
                let rebinding = Rebinding { to: to.clone(), ..Rebinding::default() };
                asked += 1;
                let said = ask_without(unread, &settings, &volume, rows, &rebinding);
                let Ok(Ok(proposal)) = said else { continue };
                proposed += 1;
                let target = to.unwrap_or_else(|| key("orders"));
                let told = format!("{volume:?} {claim:?} {proposal:?}");
                assert_eq!(volume.reclaim_policy, ReclaimPolicy::Retain, "{told}");
                assert!(!deleting && !twin && !second && unread.is_empty(), "{told}");
                assert!(verified || !doubted && *phase != Phase::Failed, "{told}");
                assert_ne!(*phase, Phase::Bound, "{told}");
                for step in &proposal.steps {
                    match step {
                        Action::ReserveVolume { volume: of, from, claim } => {
                            assert_eq!(
                                (of, from, claim),
                                (&volume.object(), phase, &target),
                                "{told}"
                            );
                        }
                        Action::CreateClaim { claim, manifest } => {
                            assert_eq!(*claim, claim_object(&target), "{told}");
                            assert_eq!(manifest["spec"]["volumeName"], "pv-1", "{told}");
                            assert_eq!(manifest["metadata"]["name"], *target.name, "{told}");
                        }
                        Action::BindVolume { volume: of, claim: bound } => {
                            let claim = claim.as_ref().expect("because it is bound");
                            assert_eq!((of, bound), (&volume.object(), &claim.object()), "{told}");
                            assert_eq!(claim.key(), target, "{told}");
                            assert_eq!(claim.phase, ClaimPhase::Lost, "{told}");
                            assert_eq!(claim.volume_name.as_deref(), Some("pv-1"), "{told}");
                        }
                        other => panic!("{other:?}: {told}"),
                    }
                }
            }
        }
    }
    assert!(proposed > 100 && asked > 30_000, "{proposed} of {asked}");
}
