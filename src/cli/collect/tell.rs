//! What is told of a look on stderr, in as few lines as possible: what was not read or not understood, and what else there is to know.

use std::collections::BTreeMap;

use super::{Collected, kinds};
use crate::{
    cli::terminal,
    cluster::{Cluster, Gap},
    model::{ClaimPhase, Kind, Phase, ReclaimPolicy, escape_control},
};

/// What there is to know besides what was not seen.
pub(in crate::cli) fn notes(collected: &Collected) -> Vec<String> {
    let cluster = &collected.intake.cluster;
    let words = unknown_words(cluster).into_iter().chain(odd_fields(cluster));
    let words: Vec<_> = words.collect();
    // What is a gap as well is told once.
    let is_gap = |note: &&String| collected.blind.iter().any(|it| it.gap.reason == **note);
    collected.notes.iter().chain(&words).filter(|it| !is_gap(it)).cloned().collect()
}

/// Tells what there is to know besides what was not seen, on stderr.
pub(in crate::cli) fn tell_notes(collected: &Collected) {
    for note in notes(collected) {
        terminal::note(&format!("note: {}", escape_control(&note)));
    }
}

/// Names the command that lists missing permissions.
pub(in crate::cli) fn tell_permissions(command: &str) {
    terminal::note(&format!(
        "hint: `rbac {command} --check` lists the permissions that you lack, `rbac {command}` \
         prints a ClusterRole with them"
    ));
}

/// Tells what was not read, on stderr, in as few lines as possible.
pub(in crate::cli) fn tell_gaps<'a>(told: &str, gaps: impl Iterator<Item = &'a Gap>) {
    for line in gap_lines(gaps, &kinds()) {
        terminal::note(&format!("{told}: {}", escape_control(&line)));
    }
}

/// Tells what is read again, on stderr.
pub(in crate::cli) fn tell_read_again(gaps: &[Gap]) {
    if !gaps.is_empty() {
        terminal::note(&format!("read again: {}", gap_names(gaps, &kinds())));
    }
}

/// Tells what was not seen, and what else there is to know, on stderr.
pub(in crate::cli) fn tell(collected: &Collected, command: &str) {
    let blind = &collected.blind;
    tell_notes(collected);
    tell_gaps("not read", blind.iter().map(|it| &it.gap));
    if blind.iter().any(|it| it.gap.reason.starts_with("forbidden")) {
        tell_permissions(command);
    }
}

/// One line for all kinds that were not seen for the same reason. `looked_at` are the kinds of which
/// any could be missed.
pub(in crate::cli) fn gap_lines<'a>(
    gaps: impl Iterator<Item = &'a Gap>,
    looked_at: &[Kind],
) -> Vec<String> {
    let mut by_reason: BTreeMap<String, Vec<&Gap>> = BTreeMap::new();
    for gap in gaps {
        by_reason.entry(alike(gap)).or_default().push(gap);
    }
    let line = |(reason, gaps): (String, Vec<&Gap>)| {
        let is_lost = |kind| gaps.iter().any(|it| it.kind == kind && it.namespace.is_none());
        let mut listed = looked_at.iter().filter(|kind| leaves_gaps(**kind));
        let is_all = gaps.len() > 1 && listed.all(|kind| is_lost(*kind));
        let mut kinds: Vec<_> = gaps.iter().map(|gap| gap.kind.plural()).collect();
        kinds.dedup();
        let what: Vec<_> = gaps.iter().map(|gap| named(gap)).collect();
        let what = if is_all { "all kinds".to_owned() } else { what.join(", ") };
        let flag = if is_all { "all".to_owned() } else { kinds.join(",") };
        // What would settle it for one kind settles it for all of them.
        match reason.strip_suffix(COMPLETE) {
            Some(reason) => format!("{what}: {reason}{COMPLETE} {flag}"),
            None => format!("{what}: {reason}"),
        }
    };
    by_reason.into_iter().map(line).collect()
}

/// What is read again, in one line.
pub(in crate::cli) fn gap_names(gaps: &[Gap], looked_at: &[Kind]) -> String {
    let has = |kind: &Kind| gaps.iter().any(|it| it.kind == *kind && it.namespace.is_none());
    let mut listed = looked_at.iter().filter(|kind| leaves_gaps(**kind));
    if gaps.len() > 1 && listed.all(has) {
        return "all kinds".to_owned();
    }
    gaps.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// Whether it is told that a kind was not listed.
const fn leaves_gaps(kind: Kind) -> bool {
    kind.is_listed() && !kind.is_of_guard()
}

/// The flag that settles what a dump does not show; the kind follows it.
const COMPLETE: &str = "--complete";

fn named(gap: &Gap) -> String {
    match &gap.namespace {
        Some(namespace) => format!("{} in {namespace}", gap.kind.plural()),
        None => gap.kind.plural().to_owned(),
    }
}

/// The reason in words that fit other kinds as well, where it is one that comes for many.
fn alike(gap: &Gap) -> String {
    let reason = &gap.reason;
    // `forbidden: User "ann" cannot list resource "pods" at the cluster scope; and what was tried`,
    // or `… in the namespace "shop"`, which the gap itself names.
    let denied = reason.strip_prefix("forbidden: User ").and_then(|text| {
        let what = format!(" cannot list resource \"{}\" ", gap.kind.plural());
        let (user, rest) = text.split_once(&what)?;
        let (place, tried) = match rest.split_once("; ") {
            Some((place, tried)) => (place, format!("; {tried}")),
            None => (rest, String::new()),
        };
        let told = place == "at the cluster scope"
            || gap
                .namespace
                .as_ref()
                .is_some_and(|it| place == format!("in the namespace \"{it}\""));
        told.then(|| format!("forbidden: user {user} may not list them{tried}"))
    });
    let settled = || {
        let before = reason.strip_suffix(gap.kind.plural())?.strip_suffix(' ')?;
        before.ends_with(COMPLETE).then(|| before.to_owned())
    };
    denied.or_else(settled).unwrap_or_else(|| reason.clone())
}

/// Sizes and times that cannot be read. They are unknown, and nothing else is.
pub(in crate::cli) fn odd_fields(cluster: &Cluster) -> Option<String> {
    let mut fields = cluster.odd_fields();
    let first = fields.next()?;
    Some(match fields.count() {
        0 => format!("{first}; it counts as unknown"),
        1 => format!("{first}; it and 1 more value count as unknown"),
        more => format!("{first}; it and {more} more values count as unknown"),
    })
}

/// Phases and policies of a later version of Kubernetes: rules about the known ones pass over
/// such objects, which must not happen in silence.
pub(in crate::cli) fn unknown_words(cluster: &Cluster) -> Vec<String> {
    let mut words: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let mut note = |what: &str, word: &str, object: String| {
        let told = match word {
            "" => format!("{what} is empty"),
            word => format!("this version does not know {what} {word:?}"),
        };
        let entry = words.entry(told).or_insert((object, 0));
        entry.1 += 1;
    };
    for (_, volume) in cluster.volumes() {
        if let Phase::Other(word) = &volume.phase {
            note("phase", word, volume.object().to_string());
        }
        if let ReclaimPolicy::Other(word) = &volume.reclaim_policy {
            note("reclaim policy", word, volume.object().to_string());
        }
    }
    for (_, claim) in cluster.claims() {
        if let ClaimPhase::Other(word) = &claim.phase {
            note("phase", word, claim.object().to_string());
        }
    }
    let line = |(word, (first, count)): (String, (String, usize))| {
        let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        format!("{first}{others}: {word}; most findings do not apply")
    };
    words.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    #[test]
    fn kinds_that_were_forbidden_alike_share_a_line() {
        let gap = |kind: Kind, namespace: Option<&str>, place: &str| Gap {
            kind,
            namespace: namespace.map(Into::into),
            reason: format!(
                "forbidden: User \"ann\" cannot list resource \"{}\" {place}",
                kind.plural()
            ),
        };
        let whole = "at the cluster scope";
        let tried = "at the cluster scope; only shop was tried";
        let gaps = [
            gap(Kind::Node, None, whole),
            gap(Kind::Lease, None, whole),
            gap(Kind::Pod, None, tried),
            gap(Kind::Pod, Some("shop"), "in the namespace \"shop\""),
            gap(Kind::Event, Some("shop"), "in the namespace \"other\""),
            Gap { kind: Kind::Job, namespace: None, reason: "the connection broke".to_owned() },
        ];
        assert_eq!(
            gap_lines(gaps.iter(), &Kind::ALL),
            [
                "events in shop: forbidden: User \"ann\" cannot list resource \"events\" in the namespace \"other\"",
                "nodes, leases, pods in shop: forbidden: user \"ann\" may not list them",
                "pods: forbidden: user \"ann\" may not list them; only shop was tried",
                "jobs: the connection broke",
            ]
        );
    }

    #[test]
    fn what_hides_every_kind_is_said_once() {
        let gap = |kind| Gap { kind, namespace: None, reason: "it breaks off".to_owned() };
        let kinds = [Kind::Pod, Kind::Node, Kind::Lease];
        let gaps = kinds.map(gap);
        assert_eq!(gap_lines(gaps.iter(), &kinds), ["all kinds: it breaks off"]);
        assert_eq!(gap_lines(gaps[1..].iter(), &kinds), ["nodes, leases: it breaks off"]);
        assert_eq!(gap_lines(gaps[..1].iter(), &kinds[..1]), ["pods: it breaks off"]);
    }

    #[test]
    fn what_is_read_again_is_one_line() {
        let gap = |kind, namespace: Option<&str>| Gap {
            kind,
            namespace: namespace.map(Into::into),
            reason: "it broke".to_owned(),
        };
        let kinds = [Kind::Pod, Kind::Node];
        let gaps = [gap(Kind::Pod, None), gap(Kind::Node, None)];
        assert_eq!(gap_names(&gaps, &kinds), "all kinds");
        assert_eq!(gap_names(&gaps[..1], &kinds), "pods");
        let gaps = [gap(Kind::Pod, Some("shop")), gap(Kind::Node, None)];
        assert_eq!(gap_names(&gaps, &kinds), "pods in shop, nodes");
    }

    #[test]
    fn the_flag_that_settles_it_names_every_kind() {
        let gap = |kind: Kind| Gap {
            kind,
            namespace: None,
            reason: format!("none; pass --complete {}", kind.plural()),
        };
        let kinds = [Kind::Pod, Kind::Node, Kind::Lease];
        let gaps = kinds.map(gap);
        assert_eq!(gap_lines(gaps.iter(), &kinds), ["all kinds: none; pass --complete all"]);
        assert_eq!(
            gap_lines(gaps[1..].iter(), &kinds),
            ["nodes, leases: none; pass --complete nodes,leases"]
        );
        assert_eq!(gap_lines(gaps[..1].iter(), &kinds), ["pods: none; pass --complete pods"]);
    }

    #[test]
    fn what_is_said_of_one_kind_is_left_as_it_is() {
        let reason = "dump.json:1 is an error of the API server: pods is forbidden".to_owned();
        let gap = Gap { kind: Kind::Pod, namespace: Some("a".into()), reason };
        assert_eq!(
            gap_lines([&gap].into_iter(), &Kind::ALL),
            ["pods in a: dump.json:1 is an error of the API server: pods is forbidden"]
        );
    }
}
