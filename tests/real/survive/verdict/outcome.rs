//! A run that says that it did something did it.

use super::super::case::{Case, Work};
use super::super::history::text;
use super::super::run::Ran;
use super::{Evidence, Verdict};

impl Verdict {
    pub(super) fn outcome(&mut self, evidence: &Evidence, ran: &Ran) {
        let verb = match &ran.work {
            Work::Delete { keep: true, .. } => "delete and keep",
            Work::Delete { keep: false, .. } => "delete and destroy",
            Work::Rebind { .. } => "rebind",
            Work::Retain(_) => "retain",
            Work::Undo(_) => "undo",
        };
        let calm = if ran.calm { ", at rest" } else { "" };
        match ran.code {
            Some(code) => self.count(&format!("{verb}: exit {code}{calm}")),
            None => self.count(&format!("{verb}: killed")),
        }
        for refusal in ran.json["refusals"].as_array().into_iter().flatten() {
            self.count(&format!("({verb} refused: {})", without_names(text(&refusal["reason"]))));
        }
        for change in ran.json["changes"].as_array().into_iter().flatten() {
            let (outcome, detail) = (text(&change["outcome"]), text(&change["detail"]));
            if outcome != "done" {
                self.count(&format!("({verb} {outcome}: {})", without_names(detail)));
            }
        }
        self.holds(!ran.stderr.contains("panicked") && ran.code != Some(2), || {
            format!("{}: {:?}\n{}", ran.user, ran.work, ran.stderr)
        });
        self.holds(!ran.calm || ran.code == Some(0), || {
            let (user, work) = (&ran.user, &ran.work);
            format!("{user}: nothing was in the way of {work:?}:\n{}\n{:#}", ran.stderr, ran.json)
        });
        if ran.code != Some(0) {
            return;
        }
        match &ran.work {
            Work::Delete { claims, keep } => {
                for claim in claims {
                    self.is_deleted(evidence, ran, *claim, *keep);
                }
            }
            Work::Rebind { claim, to } => {
                let wanted = to.as_deref().unwrap_or(Case::name(*claim));
                self.is_bound(evidence, ran, *claim, wanted);
            }
            Work::Undo(of) => self.is_undone(evidence, ran, *of),
            Work::Retain(_) => {}
        }
    }

    /// What undoes a deletion has bound one of its claims to its volume again.
    fn is_undone(&mut self, evidence: &Evidence, ran: &Ran, of: usize) {
        let undone = evidence.ran.iter().find(|it| it.index == of).map(|it| &it.work);
        let Some(Work::Delete { claims, keep: true }) = undone else { return };
        let mut writes = evidence.writes_of(ran, "create", "persistentvolumeclaims");
        if writes.next().is_none() {
            return; // it was the policy that was undone, or there was nothing to undo
        }
        let again = claims.iter().any(|claim| {
            let volume = &evidence.backings[*claim].volume;
            let mut of = evidence.of("persistentvolumeclaims", Case::name(*claim));
            of.any(|it| {
                it.at > ran.begin
                    && it.object["spec"]["volumeName"] == **volume
                    && it.object["status"]["phase"] == "Bound"
            })
        });
        if again {
            self.count("(deletions undone, and the claim bound again)");
        }
        self.holds(again, || format!("{} says undone, and no claim was bound again", ran.user));
    }

    fn is_deleted(&mut self, evidence: &Evidence, ran: &Ran, claim: usize, keep: bool) {
        let name = Case::name(claim);
        let of = evidence.of("persistentvolumeclaims", name);
        let sent = evidence.writes_of(ran, "delete", "persistentvolumeclaims");
        let mut sent = sent.filter(|it| it["objectRef"]["name"] == name);
        let Some(sent) = sent.next() else {
            self.wrong.push(format!("{} says done, and never deleted {name}", ran.user));
            return;
        };
        let deleted = evidence.deleted_by(sent);
        let gone = deleted.and_then(|it| of.filter(|of| of.uid() == it.uid()).find(|it| it.gone));
        let Some(gone) = gone else {
            self.wrong.push(format!("{} says done, and {name} is there", ran.user));
            return;
        };
        let volume = text(&gone.object["spec"]["volumeName"]);
        let mut after = evidence.of("persistentvolumes", volume);
        let so = if keep {
            after.any(|it| {
                it.version > gone.version
                    && it.object["status"]["phase"] == "Released"
                    && it.object["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
            })
        } else {
            let backing = evidence.backings.iter().position(|it| it.volume == volume);
            let file = backing.is_some_and(|it| evidence.files[it].is_some());
            after.any(|it| it.gone) && !file
        };
        let word = if keep { "kept" } else { "destroyed" };
        self.holds(so, || format!("{} says done, and {volume} was not {word}", ran.user));
    }

    fn is_bound(&mut self, evidence: &Evidence, ran: &Ran, claim: usize, wanted: &str) {
        let volume = &evidence.backings[claim].volume;
        let bound = evidence.of("persistentvolumeclaims", wanted).any(|it| {
            let of_it = it.object["spec"]["volumeName"] == **volume;
            let uid = it.uid();
            let mut volumes = evidence.of("persistentvolumes", volume);
            of_it
                && it.object["status"]["phase"] == "Bound"
                && volumes.any(|it| {
                    it.object["spec"]["claimRef"]["uid"] == uid
                        && it.object["status"]["phase"] == "Bound"
                        && it.at >= ran.begin - chrono::TimeDelta::seconds(60)
                })
        });
        self.holds(bound, || format!("{} says done, and {wanted} never had {volume}", ran.user));
        let there = evidence.files[claim].as_deref() == Some(&*evidence.backings[claim].data);
        self.holds(!ran.calm || there, || format!("{}: the file is not there", ran.user));
    }
}

/// The beginning of a reason, without what differs from case to case.
fn without_names(reason: &str) -> String {
    const WORDS: usize = 12;
    let words = reason.split(' ').take(WORDS);
    let is_name = |word: &str| word.contains(|c: char| c.is_ascii_digit() || c == '/');
    let words = words.map(|word| if is_name(word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}
