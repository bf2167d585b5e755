//! A history that a person can read.

use std::fmt::Write as _;

use super::super::history::is_dry;
use super::super::history::{is_write, received, text};
use super::Evidence;

/// What happened, one line each, in the order in which it was asked or heard of.
pub(super) fn tell(evidence: &Evidence) -> String {
    let mut lines = Vec::new();
    for did in &evidence.did {
        let act = &evidence.case.deeds[did.index].act;
        lines.push((did.begin, format!("deed {} {act:?}: {:?}", did.index, did.result)));
    }
    for ran in &evidence.ran {
        lines.push((ran.begin, format!("{} begins {:?}", ran.user, ran.work)));
        lines.push((ran.end, format!("{} ends with {:?}", ran.user, ran.code)));
    }
    for request in &evidence.requests {
        let object = &request["objectRef"];
        let (verb, resource) = (text(&request["verb"]), text(&object["resource"]));
        let by = text(&request["impersonatedUser"]["username"]);
        let by = if by.is_empty() { text(&request["user"]["username"]) } else { by };
        let tells = is_write(request) || (verb == "list" && resource == "pods");
        if tells && ["pods", "persistentvolumes", "persistentvolumeclaims"].contains(&resource) {
            let dry = if is_dry(request) { "dry " } else { "" };
            let (name, code) = (text(&object["name"]), &request["responseStatus"]["code"]);
            lines.push((
                received(request),
                format!("  {by}: {dry}{verb} {resource} {name}: {code}"),
            ));
        }
    }
    for revision in &evidence.revisions {
        let object = &revision.object;
        let gone = match (revision.gone, revision.terminating()) {
            (true, _) => " is gone",
            (false, true) => " is Terminating",
            (false, false) => "",
        };
        let phase = text(&object["status"]["phase"]);
        let policy = text(&object["spec"]["persistentVolumeReclaimPolicy"]);
        let to = match revision.resource {
            "persistentvolumes" => format!(" for {}", text(&object["spec"]["claimRef"]["name"])),
            "persistentvolumeclaims" => format!(" on {}", text(&object["spec"]["volumeName"])),
            _ => format!(" node {}", text(&object["spec"]["nodeName"])),
        };
        lines.push((
            revision.at,
            format!("    {} {}{gone} {phase} {policy}{to}", revision.resource, revision.name()),
        ));
    }
    lines.sort_by_key(|line| line.0);
    let mut story = String::new();
    for (at, line) in lines {
        let at = at.format("%H:%M:%S%.6f");
        writeln!(story, "{at} {line}").expect("because text takes all");
    }
    for ran in evidence.ran.iter().filter(|it| !it.stderr.is_empty()) {
        writeln!(story, "{} said: {}", ran.user, ran.stderr).expect("because text takes all");
    }
    story
}
