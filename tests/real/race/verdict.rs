//! What must be so after a case, whoever won.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::Did;
use super::case::{Act, Case, IGNORE, KEEP_UNTIL, When};
use super::history::{History, Revision, is_dry};
use super::world::{all_names, handles};
use crate::support::{Driver, Outcome};

/// Everything that is known after a case.
pub(super) struct Evidence<'a> {
    pub(super) case: &'a Case,
    pub(super) did: &'a [Did],
    pub(super) outcome: &'a Outcome,
    /// The receipt, or the plan of which nothing was left to be done.
    pub(super) json: &'a Value,
    pub(super) journal: &'a str,
    /// Every volume that there is now.
    pub(super) volumes: &'a [Value],
    /// Everything that the tool asked.
    pub(super) requests: &'a [Value],
    pub(super) history: &'a History,
    pub(super) driver: &'a Driver,
}

/// What is to be said of a case.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) counts: BTreeMap<String, u64>,
    /// What should not have been.
    pub(super) wrong: Vec<String>,
    /// What happened, for whoever wants to know how it came to that.
    pub(super) story: String,
}

pub(super) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    verdict.writes(evidence);
    for name in evidence.case.names() {
        verdict.volume(evidence, &name);
    }
    verdict.exit_code(evidence);
    verdict.races(evidence);
    if !verdict.wrong.is_empty() {
        verdict.story = story(evidence);
    }
    verdict
}

/// The patches that were to be carried out.
pub(super) fn patches(requests: &[Value]) -> impl Iterator<Item = &Value> {
    let volumes = requests.iter().filter(|it| it["objectRef"]["resource"] == "persistentvolumes");
    volumes.filter(|it| it["verb"] == "patch" && !is_dry(it))
}

/// The volume as it was when a patch was applied to it: the one whose resourceVersion the patch tests.
pub(super) fn patched(history: &History, patch: &Value) -> Option<Revision> {
    let operations = patch["requestObject"].as_array()?;
    let test = operations
        .iter()
        .find(|it| it["op"] == "test" && it["path"] == "/metadata/resourceVersion")?;
    let name = patch["objectRef"]["name"].as_str()?;
    history.revisions(name).into_iter().find(|it| test["value"] == *it.version)
}

impl Verdict {
    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn holds(&mut self, so: bool, what: impl FnOnce() -> String) {
        if !so {
            self.wrong.push(what());
        }
    }

    /// How often somebody was in time, and how close it was.
    fn races(&mut self, evidence: &Evidence) {
        for did in evidence.did {
            self.count(match did.result {
                Some(Ok(())) => "(deeds done)",
                Some(Err(_)) => "(deeds that the server refused)",
                None => "(deeds whose moment never came)",
            });
        }
        for request in evidence.requests.iter().filter(|it| it["verb"] == "patch") {
            if request["responseStatus"]["code"].as_u64().is_some_and(|code| code >= 300) {
                let dry = is_dry(request);
                self.count(if dry { "(rehearsals that failed)" } else { "(patches that failed)" });
            }
        }
    }

    /// The tool patches volumes of the plan, each once, writes Events, and nothing else; and has noted it before.
    fn writes(&mut self, evidence: &Evidence) {
        let names = evidence.case.names();
        let mut sent = Vec::new();
        for request in evidence.requests {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let resource = text(&request["objectRef"]["resource"]);
            let (verb, name) = (text(&request["verb"]), text(&request["objectRef"]["name"]));
            let reads = ["get", "list", "watch"].contains(&&*verb);
            if reads || is_dry(request) || resource.ends_with("reviews") || resource == "events" {
                continue;
            }
            let planned = verb == "patch" && resource == "persistentvolumes";
            self.holds(planned && names.contains(&name), || format!("it wrote: {request:#}"));
            sent.push(name);
        }
        sent.sort();
        let once: BTreeSet<_> = sent.iter().collect();
        self.holds(once.len() == sent.len(), || format!("more than one patch of one: {sent:?}"));
        let lines = evidence.journal.lines().filter_map(|it| serde_json::from_str(it).ok());
        let lines: Vec<Value> = lines.collect();
        // What was judged again after its entry, and not sent, says so in it.
        let holds_back = |it: &&Value| it["detail"].to_string().contains("nothing was sent");
        let unsent: Vec<_> = lines.iter().filter(holds_back).map(|it| &it["of"]).collect();
        let is_sent = |it: &&Value| it["type"] == "intent" && !unsent.contains(&&it["sequence"]);
        let paths = lines.iter().filter(is_sent).filter_map(|it| it["request"]["path"].as_str());
        let name = |uri: &str| {
            uri.split('?').next().and_then(|it| it.rsplit('/').next()).map(str::to_owned)
        };
        let mut noted: Vec<_> = paths.filter_map(name).collect();
        noted.sort();
        self.holds(noted == sent, || format!("the journal has {noted:?}, sent was {sent:?}"));
    }

    fn volume(&mut self, evidence: &Evidence, name: &str) {
        let successes: Vec<_> = patches(evidence.requests)
            .filter(|it| it["objectRef"]["name"] == name)
            .filter(|it| it["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300))
            .collect();
        let mut ours = BTreeMap::new();
        for patch in &successes {
            let adds = patch["requestObject"].to_string().contains("/metadata/finalizers/-");
            self.holds(adds, || format!("{name}: without the finalizer: {patch:#}"));
            let Some(revision) = patched(evidence.history, patch) else {
                self.wrong.push(format!("{name}: nobody knows what was patched: {patch:#}"));
                continue;
            };
            self.may_be_patched(evidence, name, &revision.object);
            ours.insert(revision.version.clone(), handle(&revision.object));
        }
        let done = self.receipt(evidence, name, successes.len());
        self.before(evidence, name, successes.len());
        self.claim(evidence, name, successes.len());
        self.folders(evidence, name, &ours, done);
    }

    /// What the volume was at the moment of the patch.
    fn may_be_patched(&mut self, evidence: &Evidence, name: &str, volume: &Value) {
        let change = entry(evidence.json, "changes", name);
        let annotations = &volume["metadata"]["annotations"];
        let so = volume["status"]["phase"] == "Released"
            && volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
            && volume["metadata"]["deletionTimestamp"].is_null()
            && volume["spec"]["claimRef"]["uid"].is_string()
            && annotations[IGNORE].is_null()
            && annotations[KEEP_UNTIL].is_null()
            && change.is_some_and(|it| it["object"]["uid"] == volume["metadata"]["uid"]);
        self.holds(so, || format!("{name}: was patched when it was {volume:#}"));
    }

    /// The receipt speaks of the volume once, and says of it what is so; returns whether it says done.
    fn receipt(&mut self, evidence: &Evidence, name: &str, successes: usize) -> bool {
        let (change, refusal) =
            (entry(evidence.json, "changes", name), entry(evidence.json, "refusals", name));
        let outcome = match (change, refusal) {
            (Some(change), None) => change["outcome"].as_str().unwrap_or_default(),
            (None, Some(_)) => "refused in the plan",
            _ => "in no place, or in two",
        };
        self.count(outcome);
        let exists = evidence.volumes.iter().any(|it| {
            change.is_some_and(|change| change["object"]["uid"] == it["metadata"]["uid"])
        });
        let so = match outcome {
            "done" => successes == 1 && !exists,
            // Gone, and yet not verified: only where somebody has taken the policy back.
            "pending" => successes == 1 && (exists || taken_back(evidence.history, name)),
            "unanswered" => true,
            "stale" | "refused" | "failed" | "refused in the plan" => successes == 0,
            _ => false,
        };
        self.holds(so, || {
            format!("{name}: the receipt says {outcome}, {successes} patches, there now: {exists}")
        });
        let detail = change.and_then(|it| it["detail"].as_str()).unwrap_or_default();
        if detail.contains("the driver answered OK") {
            self.count("(done, and the driver's answer was seen)");
        }
        outcome == "done"
    }

    /// What was in the way before the tool was started, and stayed so, has kept it from the patch.
    fn before(&mut self, evidence: &Evidence, name: &str, successes: usize) {
        let of: Vec<_> = evidence.did.iter().filter(|it| it.volume == name).collect();
        let (before, later): (Vec<_>, Vec<_>) =
            of.into_iter().partition(|it| it.deed.when == When::Before);
        if later.iter().any(|it| it.result.is_some()) {
            return;
        }
        let did =
            |act: Act| before.iter().any(|it| it.deed.act == act && it.result == Some(Ok(())));
        let same_claim = !did(Act::OtherClaim) && !evidence.case.include_recreated;
        let in_the_way = did(Act::ClaimAgain)
            || did(Act::Annotate(IGNORE))
            || did(Act::Annotate(KEEP_UNTIL))
            || did(Act::Rival)
            || (did(Act::Attach) && !did(Act::Detach))
            || ((did(Act::Pod) || did(Act::ClaimElsewhere)) && same_claim);
        if in_the_way && !did(Act::Delete) && !did(Act::Replace) {
            self.count("(in the way from the beginning)");
            self.holds(successes == 0, || {
                format!("{name}: was patched in spite of what was there")
            });
        }
    }

    /// A claim that was there before the tool asked for it has kept it from the patch.
    fn claim(&mut self, evidence: &Evidence, name: &str, successes: usize) {
        let asked = evidence.requests.iter().filter(|it| {
            let object = &it["objectRef"];
            it["verb"] == "get"
                && object["resource"] == "persistentvolumeclaims"
                && object["name"] == name
        });
        let asked = asked.filter_map(|it| it["requestReceivedTimestamp"].as_str()).max();
        let Some(asked) = asked.and_then(|it| it.parse::<DateTime<Utc>>().ok()) else { return };
        let of = || evidence.did.iter().filter(|it| it.volume == name);
        if of().any(|it| it.deed.act == Act::OtherClaim) {
            return;
        }
        let there = of().any(|it| {
            let act = it.deed.act;
            let forbids = act == Act::ClaimAgain
                || (act == Act::ClaimElsewhere && !evidence.case.include_recreated);
            forbids && it.result == Some(Ok(())) && it.at < asked
        });
        if there {
            self.count("(a claim that was there when it was asked for)");
            self.holds(successes == 0, || format!("{name}: was patched in spite of its claim"));
        }
    }

    /// What became of the backend: `ours` are the revisions that were patched, and the handles that they named.
    fn folders(
        &mut self,
        evidence: &Evidence,
        name: &str,
        ours: &BTreeMap<String, String>,
        done: bool,
    ) {
        let theirs = flipped(evidence.history, name, ours);
        let deleted = evidence.did.iter().any(|it| {
            it.volume == name
                && matches!(it.deed.act, Act::Delete | Act::Replace)
                && it.result.is_some_and(|result| result.is_ok())
        });
        let made = |act: Act| {
            let mut of = evidence.did.iter().filter(|it| it.volume == name && it.deed.act == act);
            of.any(|it| it.result == Some(Ok(())))
        };
        let [first, elsewhere, anew] = handles(name);
        let all =
            [(first, true), (elsewhere, made(Act::ClaimElsewhere)), (anew, made(Act::Replace))];
        for (folder, _) in all.iter().filter(|(_, made)| *made) {
            let is_ours = ours.values().any(|it| it == folder);
            if !evidence.driver.has(folder) {
                let by = match (is_ours, theirs.contains(folder)) {
                    (true, _) => "(folders gone by our patch)",
                    (false, true) => "(folders gone by somebody's policy)",
                    (false, false) => "(folders gone by nobody)",
                };
                self.count(by);
                if is_ours && deleted && done {
                    self.count("(folders gone by our patch, although somebody deleted the object)");
                }
                self.holds(is_ours || theirs.contains(folder), || {
                    format!("{folder}: the folder is gone, and nobody was to have it deleted")
                });
                continue;
            }
            let named = evidence.volumes.iter().any(|it| handle(it) == *folder);
            let told = entry(evidence.json, "changes", name)
                .is_some_and(|it| it["outcome"] == "pending" || it["outcome"] == "unanswered");
            // Under our patch, a deletion of the object waits for the provisioner, unless somebody has taken the
            // policy back.
            let theirs = deleted && (!is_ours || taken_back(evidence.history, name));
            if !named && theirs && !told {
                self.count("(folders leaked by somebody's deletion)");
            }
            self.holds(named || told || theirs, || {
                format!("{folder}: the folder is left, and nobody knows of it")
            });
            let answered = entry(evidence.json, "changes", name)
                .and_then(|it| it["detail"].as_str())
                .is_some_and(|it| it.contains("the driver answered OK"));
            self.holds(!(done && is_ours) || (theirs && !answered), || {
                format!("{folder}: the receipt says done, and the folder is there")
            });
        }
    }

    /// Of several codes that apply, the first: 1 or 5 where nothing was done, 6, 5, 4, 0 (README, "Exit codes").
    fn exit_code(&mut self, evidence: &Evidence) {
        let list = |name: &str| evidence.json[name].as_array().map_or(&[][..], Vec::as_slice);
        let (changes, refusals) = (list("changes"), list("refusals"));
        let outcomes: Vec<_> = changes.iter().filter_map(|it| it["outcome"].as_str()).collect();
        let any = |outcome: &str| outcomes.contains(&outcome);
        let expected = if any("pending") || any("unanswered") {
            6
        } else if !any("done") {
            if any("failed") { 1 } else { 5 }
        } else if outcomes.iter().all(|it| *it == "done") && refusals.is_empty() {
            let gaps = evidence.json["gaps"].as_array().is_some_and(|gaps| !gaps.is_empty());
            if gaps { 4 } else { 0 }
        } else {
            6
        };
        let code = evidence.outcome.code;
        let quiet = !evidence.outcome.stderr.contains("panicked");
        self.holds(code == Some(expected) && quiet, || {
            format!("{}: exit code {code:?}, not {expected}", evidence.case.user())
        });
    }
}

/// The handles of volumes whose policy somebody else has set to Delete.
fn flipped(history: &History, name: &str, ours: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut handles = BTreeSet::new();
    for name in all_names(name) {
        let revisions = history.revisions(&name);
        for (before, after) in revisions.iter().zip(revisions.iter().skip(1)) {
            let policy = |it: &Revision| it.object["spec"]["persistentVolumeReclaimPolicy"].clone();
            let flip = policy(before) == "Retain" && policy(after) == "Delete";
            if flip && !ours.contains_key(&before.version) {
                handles.insert(handle(&after.object));
            }
        }
    }
    handles
}

/// Whether somebody has set the policy from Delete back to Retain.
fn taken_back(history: &History, name: &str) -> bool {
    let revisions = history.revisions(name);
    let policy = |it: &Revision| it.object["spec"]["persistentVolumeReclaimPolicy"].clone();
    revisions
        .iter()
        .zip(revisions.iter().skip(1))
        .any(|(before, after)| policy(before) == "Delete" && policy(after) == "Retain")
}

fn entry<'a>(json: &'a Value, list: &str, name: &str) -> Option<&'a Value> {
    json[list].as_array()?.iter().find(|it| it["object"]["name"] == name)
}

fn handle(volume: &Value) -> String {
    volume["spec"]["csi"]["volumeHandle"].as_str().unwrap_or_default().to_owned()
}

/// Everything that others did, what the watch and the audit log have, and what was said.
fn story(evidence: &Evidence) -> String {
    let mut text = String::new();
    for it in evidence.did {
        let _ = writeln!(text, "  {}: {:?}: {:?}", it.volume, it.deed, it.result);
    }
    for name in evidence.case.names().iter().flat_map(|name| all_names(name)) {
        for Revision { version, object } in evidence.history.revisions(&name) {
            let (spec, metadata) = (&object["spec"], &object["metadata"]);
            let _ = writeln!(
                text,
                "  {name} at {version}: {} {} claim {} finalizers {} deleting {}",
                object["status"]["phase"],
                spec["persistentVolumeReclaimPolicy"],
                spec["claimRef"]["uid"],
                metadata["finalizers"],
                metadata["deletionTimestamp"],
            );
        }
    }
    for it in evidence.requests {
        let _ = writeln!(
            text,
            "  {} {} {} {}",
            it["stageTimestamp"], it["verb"], it["requestURI"], it["responseStatus"]["code"]
        );
    }
    let Outcome { stdout, stderr, code } = evidence.outcome;
    let _ = writeln!(text, "  {code:?}\n{stdout}\n{stderr}");
    text
}
