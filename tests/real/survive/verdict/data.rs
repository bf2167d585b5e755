//! What became of the data: it is where its claim is, or where somebody wanted it to be gone it is gone.

use super::super::case::{Act, Case, Work};
use super::super::history::{Revision, received, succeeded, text};
use super::super::run::Ran;
use super::super::world::Backing;
use super::{About, Evidence, Verdict};

impl Verdict {
    pub(super) fn data(&mut self, evidence: &Evidence) {
        for (backing, file) in evidence.backings.iter().zip(&evidence.files) {
            self.bound_to_its_own(evidence, backing);
            if file.as_deref() == Some(&*backing.data) {
                self.known(evidence, backing);
                continue;
            }
            let name = Case::name(backing.claim);
            match cause(evidence, backing) {
                Ok(why) => self.count(&format!("(data gone: {why})")),
                Err(found) => self.wrong.push(format!(
                    "the data of {name} is gone from {}, and nobody wanted that: {found}",
                    backing.volume
                )),
            }
        }
        for ran in &evidence.ran {
            self.kept(evidence, ran);
        }
    }

    /// Whoever is told to keep the data does not delete a claim whose volume it could know to be destroyed with it.
    fn kept(&mut self, evidence: &Evidence, ran: &Ran) {
        let Work::Delete { keep: true, .. } = &ran.work else { return };
        let deletes = evidence.writes_of(ran, "delete", "persistentvolumeclaims");
        for delete in deletes.filter(|it| succeeded(it)) {
            let claim = text(&delete["objectRef"]["name"]);
            let Some(deletion) = evidence.deleted_by(delete) else { continue };
            let name = text(&deletion.object["spec"]["volumeName"]);
            let before = evidence.of("persistentvolumes", name);
            let before = before.rev().filter(|it| it.version < deletion.version);
            let destroys =
                |it: &&Revision| it.object["spec"]["persistentVolumeReclaimPolicy"] == "Delete";
            let Some(volume) = before.take_while(destroys).last() else {
                self.count("(claims deleted, and their volumes kept)");
                continue;
            };
            let asked =
                evidence.asked(ran, &About::One("persistentvolumes", name), received(delete));
            let known = asked.is_none_or(|asked| volume.at < asked.received);
            self.holds(!known, || {
                format!(
                    "{} deleted {claim} to keep its data, and {name} had policy Delete since {}",
                    ran.user, volume.at
                )
            });
            self.count("(policy patched back between the last look and the deletion)");
        }
    }

    /// A volume whose data is there has an object.
    fn known(&mut self, evidence: &Evidence, backing: &Backing) {
        let last = evidence.of("persistentvolumes", &backing.volume).last();
        self.holds(last.is_some_and(|it| !it.gone), || {
            format!("{} is gone, and its data is left in {}", backing.volume, backing.handle)
        });
    }

    /// Only the claim that the data was written for has it, or one that somebody named.
    fn bound_to_its_own(&mut self, evidence: &Evidence, backing: &Backing) {
        let mut allowed = vec![Case::name(backing.claim).to_owned()];
        for ran in &evidence.ran {
            if let Work::Rebind { claim, to: Some(to) } = &ran.work
                && *claim == backing.claim
            {
                allowed.push(to.clone());
            }
        }
        for claim in evidence.revisions.iter().filter(|it| it.resource == "persistentvolumeclaims")
        {
            let bound = claim.object["spec"]["volumeName"] == *backing.volume
                && claim.object["status"]["phase"] == "Bound";
            if bound && !allowed.iter().any(|it| it == claim.name()) {
                let told = format!(
                    "claim {} is bound to {}, which has the data of {}",
                    claim.name(),
                    backing.volume,
                    Case::name(backing.claim)
                );
                if !self.wrong.contains(&told) {
                    self.wrong.push(told);
                }
            }
        }
    }
}

/// Who wanted the data to be gone.
fn cause(evidence: &Evidence, backing: &Backing) -> Result<&'static str, String> {
    for ran in &evidence.ran {
        let Work::Delete { claims, keep: false } = &ran.work else { continue };
        let patched = evidence.writes_of(ran, "patch", "persistentvolumes");
        let patched = patched.filter(|it| it["objectRef"]["name"] == *backing.volume);
        let deleted = evidence.writes_of(ran, "delete", "persistentvolumeclaims");
        let deleted = deleted.filter(|it| it["objectRef"]["name"] == Case::name(backing.claim));
        if claims.contains(&backing.claim) && patched.chain(deleted).any(succeeded) {
            return Ok("the tool was told to destroy it");
        }
    }
    let others = |wanted: &Act| {
        let mut did = evidence.did.iter().filter(|it| it.succeeded());
        did.any(|it| evidence.case.deeds[it.index].act == *wanted)
    };
    if others(&Act::DeleteClaim(backing.claim)) {
        return Ok("somebody deleted the claim with kubectl");
    }
    // Whether the tool could know is asked elsewhere.
    if others(&Act::Policy(backing.claim, "Delete")) {
        return Ok("somebody set the policy to Delete");
    }
    let runs: Vec<_> = evidence.ran.iter().map(|it: &Ran| (&it.user, &it.work, it.code)).collect();
    Err(format!("{runs:?}"))
}
