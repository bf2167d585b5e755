//! Notes about a look on stderr: one line that something was not read, with -v what that is, and other notes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Collected, kinds};
use crate::{
    cli::terminal,
    cluster::{Cluster, Coverage, Gap, Unseen},
    model::{ClaimPhase, Kind, Phase, ReclaimPolicy, RuleId, counted, escape_control},
    output::{repeated::RepeatedFlags, report::wrap, wire},
    rules::{REGISTRY, UnreadGap},
};

/// Number of reasons that are told for a kind; of more, their number.
const REASONS: usize = 3;

/// Returns the notes about a look, but for its gaps.
pub(in crate::cli) fn notes(collected: &Collected) -> Vec<String> {
    let cluster = &collected.intake.cluster;
    let words = unknown_words(cluster).into_iter().chain(odd_fields(cluster));
    let words: Vec<_> = words.collect();
    // Where something is missing, details are told with -v.
    let is_whole = collected.blind.is_empty() || terminal::is_verbose();
    let details = collected.details.iter().filter(|_| is_whole);
    // What is a gap as well is told once.
    let is_gap = |note: &&String| collected.blind.iter().any(|it| it.gap.reason == **note);
    collected.notes.iter().chain(details).chain(&words).filter(|it| !is_gap(it)).cloned().collect()
}

/// Tells the notes about a look on stderr, but not its gaps.
pub(in crate::cli) fn tell_notes(collected: &Collected) {
    for note in notes(collected) {
        terminal::note(&format!("note: {}", escape_control(&note)));
    }
}

/// Returns one gap for all that was not read for the same reason, with the rules that could not judge.
pub(in crate::cli) fn unread(
    unseen: BTreeSet<Unseen>,
    unjudged: &BTreeSet<(Unseen, RuleId)>,
) -> Vec<wire::Gap> {
    let mut all = unseen;
    all.extend(unjudged.iter().map(|(unseen, _)| unseen.clone()));
    let gap = |unseen: Unseen| wire::Gap {
        cluster: None,
        ids: unjudged
            .iter()
            .filter(|(of, _)| *of == unseen)
            .map(|(_, rule)| (*rule).to_owned())
            .collect(),
        resource: unseen.kind.plural().to_owned(),
        namespace: unseen.namespace.as_ref().map(ToString::to_string),
        reason: unseen.reason,
    };
    all.into_iter().map(gap).collect()
}

/// Tells on stderr what a command could not show because it was not read; `role` is its name in `rbac`.
pub(in crate::cli) fn tell_unread(unread: &[wire::Gap], role: &str) {
    for gap in unread {
        let line = format!("not read: {}", escape_control(&gap.told()));
        let width = terminal::width().map_or(usize::MAX, usize::from);
        for line in wrap(&line, width) {
            terminal::note(&line);
        }
    }
    if unread.iter().any(|it| it.reason.starts_with("forbidden")) {
        tell_permissions(role);
    }
}

/// Tells on stderr the commands that list and grant missing permissions.
pub(in crate::cli) fn tell_permissions(command: &str) {
    terminal::note(&format!(
        "hint: `rbac {command} --check` lists the permissions that you lack, `rbac {command}` \
         prints a ClusterRole with them"
    ));
}

/// Returns notes about storage systems whose inventory lies in the cluster and was not read: no disk of them is judged.
pub(in crate::cli) fn unread_inventories(cluster: &Cluster) -> Vec<String> {
    let is_read = |kind: Kind| {
        let mut parts = cluster.coverages().filter(|it| it.0.kind == kind);
        parts.any(|it| matches!(it.1, Coverage::Seen { .. }))
    };
    let withheld = cluster.coverages().filter_map(|(reach, coverage)| match coverage {
        Coverage::Withheld(gap) if reach.kind.is_inventory() && !is_read(reach.kind) => Some(gap),
        _ => None,
    });
    let note = |gap: &Gap| {
        let resource = gap.kind.resource();
        let reason = &gap.reason;
        let grant = match reason.starts_with("forbidden") {
            true => "; `rbac audit --inventory` grants that",
            false => "",
        };
        format!("{resource} were not read, and none of these disks is judged: {reason}{grant}")
    };
    withheld.map(note).collect()
}

/// Tells gaps on stderr, in as few lines as possible.
pub(in crate::cli) fn tell_gaps<'a>(told: &str, gaps: impl Iterator<Item = &'a Gap>) {
    for line in gap_lines(gaps, &kinds()) {
        terminal::note(&format!("{told}: {}", escape_control(&line)));
    }
}

/// Tells on stderr which kinds are read again.
pub(in crate::cli) fn tell_read_again(gaps: &[Gap]) {
    if !gaps.is_empty() {
        terminal::note(&format!("read again: {}", gap_names(gaps, &kinds())));
    }
}

/// Tells the notes about a look on stderr, and last, in one line, that it has gaps.
pub(in crate::cli) fn tell(collected: &Collected, command: &str) {
    let blind = &collected.blind;
    tell_notes(collected);
    if terminal::is_verbose() {
        tell_gaps("not read", blind.iter().map(|it| &it.gap));
    }
    let seen = collected.intake.seen().iter().filter(|(_, count)| **count > 0);
    let seen: BTreeSet<Kind> = seen.map(|(kind, _)| *kind).collect();
    let server = collected.intake.cluster.server();
    let has_version = server.is_some_and(|it| it.git_version.is_some() || it.allowed.is_some());
    let line = incomplete(blind, &seen, has_version, command, &collected.repeated);
    if let Some(line) = line {
        let details = if terminal::is_verbose() { "" } else { " (details: -v)" };
        terminal::note(&format!("{line}{details}"));
    }
}

/// Returns one line about gaps, with the command that closes them; `None` without gaps.
fn incomplete(
    blind: &[UnreadGap],
    seen: &BTreeSet<Kind>,
    has_version: bool,
    command: &str,
    repeated: &RepeatedFlags,
) -> Option<String> {
    if blind.is_empty() {
        return None;
    }
    let lost: BTreeSet<Kind> = blind.iter().map(|it| it.gap.kind).collect();
    let (lists, answers): (Vec<_>, Vec<_>) = lost.iter().partition(|kind| kind.is_listed());
    let is_partial = |kind: &Kind| {
        let mut its = blind.iter().filter(|it| it.gap.kind == *kind);
        seen.contains(kind) || its.all(|it| it.gap.namespace.is_some())
    };
    let (partial, missing): (Vec<Kind>, Vec<Kind>) = lists.into_iter().partition(is_partial);
    let of_answers = |it: &&UnreadGap| answers.contains(&it.gap.kind);
    let open = blind.iter().filter(of_answers).count();
    let some = |count: usize, what: &str| (count > 0).then(|| counted(count, what));
    let absent: Vec<String> = some(missing.len(), "kind")
        .into_iter()
        .chain((!has_version).then(|| "the server version".to_owned()))
        .chain(some(open, "answer"))
        .collect();
    let are = match (&absent[..], missing.len().max(open)) {
        ([_], ..=1) => "is",
        _ => "are",
    };
    let absent = (!absent.is_empty()).then(|| format!("{} {are} missing", absent.join(" and ")));
    let partial = some(partial.len(), "kind").map(|it| format!("{it} partly read"));
    // A plan does not report what every check found.
    let limited: BTreeSet<_> = blind.iter().flat_map(|it| &it.rules).collect();
    let checks = matches!(command, "audit" | "watch") && !limited.is_empty();
    let checks = checks.then(|| format!("{} of {} checks limited", limited.len(), REGISTRY.len()));
    let told: Vec<_> = absent.into_iter().chain(partial).chain(checks).collect();
    let because = |reason: &str| blind.iter().any(|it| it.gap.reason.starts_with(reason));
    let way = if because("forbidden") {
        format!(": {}", repeated.command(&format!("kubectl storage rbac {command} --check")))
    } else if because("the dump contains") {
        format!(": {} saves them all", repeated.command("kubectl storage dump FILE"))
    } else {
        String::new()
    };
    Some(format!("Incomplete: {}{way}", told.join(", ")))
}

/// Returns lines about gaps: each kind once, those with the same reasons in one line. `looked_at` are the kinds of
/// which any could be missed.
pub(in crate::cli) fn gap_lines<'a>(
    gaps: impl Iterator<Item = &'a Gap>,
    looked_at: &[Kind],
) -> Vec<String> {
    let mut by_kind: Vec<(Kind, Vec<&Gap>)> = Vec::new();
    for gap in gaps {
        match by_kind.iter_mut().find(|(kind, _)| *kind == gap.kind) {
            Some((_, its)) => its.push(gap),
            None => by_kind.push((gap.kind, vec![gap])),
        }
    }
    let mut by_reason: BTreeMap<String, Vec<Kind>> = BTreeMap::new();
    for (kind, gaps) in by_kind {
        by_reason.entry(reasons(&gaps)).or_default().push(kind);
    }
    let line = |(reason, kinds): (String, Vec<Kind>)| {
        let mut listed = looked_at.iter().filter(|kind| leaves_gaps(**kind));
        let is_all = kinds.len() > 1 && listed.all(|kind| kinds.contains(kind));
        let names: Vec<_> = kinds.iter().map(|kind| kind.resource()).collect();
        let what = if is_all { "all kinds".to_owned() } else { names.join(", ") };
        format!("{what}{reason}")
    };
    by_reason.into_iter().map(line).collect()
}

/// Returns the reasons why a kind was not read, and where.
fn reasons(gaps: &[&Gap]) -> String {
    let mut places: Vec<(String, Vec<&str>)> = Vec::new();
    for gap in gaps {
        let (reason, place) = (alike(gap), gap.namespace.as_deref());
        match places
            .iter_mut()
            .find(|(known, its)| *known == reason && its.is_empty() == place.is_none())
        {
            Some((_, its)) => its.extend(place),
            None => places.push((reason, place.into_iter().collect())),
        }
    }
    // What is the matter everywhere comes first.
    places.sort_by_key(|(_, its)| !its.is_empty());
    let more = places.len().saturating_sub(REASONS);
    let told = places.iter().take(REASONS).enumerate().map(|(index, (reason, its))| {
        let gap = if index == 0 { "" } else { "; " };
        match its[..] {
            [] if index == 0 => format!(": {reason}"),
            [] => format!("{gap}{reason}"),
            _ => {
                format!("{gap}{}in {}: {reason}", if index == 0 { " " } else { "" }, its.join(", "))
            }
        }
    });
    let more = (more > 0).then(|| format!("; and {more} more"));
    told.chain(more).collect()
}

/// Returns the names of the kinds that are read again, in one line.
pub(in crate::cli) fn gap_names(gaps: &[Gap], looked_at: &[Kind]) -> String {
    let has = |kind: &Kind| gaps.iter().any(|it| it.kind == *kind && it.namespace.is_none());
    let mut listed = looked_at.iter().filter(|kind| leaves_gaps(**kind));
    if gaps.len() > 1 && listed.all(has) {
        return "all kinds".to_owned();
    }
    gaps.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// Whether a kind that was not listed is told as a gap.
const fn leaves_gaps(kind: Kind) -> bool {
    kind.is_listed() && !kind.is_of_guard()
}

fn named(gap: &Gap) -> String {
    match &gap.namespace {
        Some(namespace) => format!("{} in {namespace}", gap.kind.resource()),
        None => gap.kind.resource().to_owned(),
    }
}

/// Returns the reason of a gap, in words that fit other kinds as well where many have the same.
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
    denied.unwrap_or_else(|| reason.clone())
}

/// Returns a note about sizes and times that cannot be read: they count as unknown.
pub(in crate::cli) fn odd_fields(cluster: &Cluster) -> Option<String> {
    let mut fields = cluster.odd_fields();
    let first = fields.next()?;
    Some(match fields.count() {
        0 => format!("{first}; it counts as unknown"),
        1 => format!("{first}; it and 1 more value count as unknown"),
        more => format!("{first}; it and {more} more values count as unknown"),
    })
}

/// Returns notes about phases and policies of a later version of Kubernetes: rules about the known ones pass over such
/// objects, which must not happen in silence.
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
                "nodes, leases: forbidden: user \"ann\" may not list them",
                "pods: forbidden: user \"ann\" may not list them; only shop was tried; in shop: forbidden: user \"ann\" may not list them",
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
    fn each_kind_is_named_once() {
        let gap = |namespace: Option<&str>, reason: &str| Gap {
            kind: Kind::Pod,
            namespace: namespace.map(Into::into),
            reason: reason.to_owned(),
        };
        let gaps = [
            gap(Some("a"), "it broke"),
            gap(None, "only a and b were tried"),
            gap(Some("b"), "it broke"),
            gap(None, "po/a/one is cut"),
            gap(None, "po/b/two is cut"),
        ];
        assert_eq!(
            gap_lines(gaps.iter(), &Kind::ALL),
            ["pods: only a and b were tried; po/a/one is cut; po/b/two is cut; and 1 more"]
        );
        assert_eq!(gap_lines(gaps[..1].iter(), &Kind::ALL), ["pods in a: it broke"]);
        let few = [gaps[0].clone(), gaps[2].clone(), gaps[1].clone()];
        assert_eq!(
            gap_lines(few.iter(), &Kind::ALL),
            ["pods: only a and b were tried; in a, b: it broke"]
        );
    }

    #[test]
    fn what_is_missing_is_one_line() {
        let gap = |kind, namespace: Option<&str>, reason: &str| UnreadGap {
            gap: Gap { kind, namespace: namespace.map(Into::into), reason: reason.to_owned() },
            rules: vec!["pvc-lost", "pvc-unused"],
        };
        let all = REGISTRY.len();
        let none = "the dump contains none";
        let gaps = [
            gap(Kind::Pod, None, none),
            gap(Kind::Node, None, none),
            gap(Kind::Lease, Some("a"), "it broke"),
        ];
        let told = |gaps: &[UnreadGap], seen: &[Kind], version, command| {
            incomplete(
                gaps,
                &seen.iter().copied().collect(),
                version,
                command,
                &RepeatedFlags::default(),
            )
        };
        assert_eq!(
            told(&gaps[..2], &[], true, "audit").as_deref(),
            Some(&*format!(
                "Incomplete: 2 kinds are missing, 2 of {all} checks limited: kubectl storage dump \
                 FILE saves them all"
            ))
        );
        assert_eq!(
            told(&gaps[1..], &[Kind::Node], false, "gc").as_deref(),
            Some(
                "Incomplete: the server version is missing, 2 kinds partly read: kubectl storage \
                 dump FILE saves them all"
            )
        );
        let denied = [gap(Kind::Pod, None, "forbidden: user ann may not list them")];
        assert_eq!(
            told(&denied, &[], true, "gc").as_deref(),
            Some("Incomplete: 1 kind is missing: kubectl storage rbac gc --check")
        );
        assert_eq!(told(&[], &[], false, "audit"), None);
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
