//! Findings about claims whose volumes are nearly full, and about those that are paid for and stay empty.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, FileSystem};
use crate::model::{Bytes, Claim, Finding, Severity, Volume, format_age, format_bytes};
use crate::remedies;
use crate::rules::finding::time;
use crate::rules::{CapacityRisk, Judge, Rule};

/// F108: the volume of a claim is nearly full, or will be soon.
pub(super) static NEARLY_FULL: Rule = Rule {
    id: "pvc-nearly-full",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![users: PersistentVolumeClaim, PersistentVolume, Node],
    remedies: &[&remedies::EXPAND],
    title: "The volume of a claim is nearly full, or will be within four days",
    danger: "Writes fail when it is full, and databases stop. A kubelet that restarts the pod again and again then \
             measures nothing any more.",
    remedy: "Make room, or `kubectl storage expand pvc/NAME --by 20%`, where its class allows that. The tool expands \
             nothing by itself.",
    source: "kubernetes-mixin, KubePersistentVolumeFillingUp; kubernetes pkg/volume/metrics_statfs.go",
    judge: &[Judge::Claim(nearly_full)],
};

/// F109: the file system of a claim has hardly any inodes left.
pub(super) static INODES_NEARLY_FULL: Rule = Rule {
    id: "pvc-inodes-nearly-full",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![users: PersistentVolumeClaim, PersistentVolume, Node],
    remedies: &[],
    title: "The file system of a claim has hardly any inodes left",
    danger: "No file can be created when there is none left, however much room there is.",
    remedy: "Delete small files. An expansion of ext4 adds inodes in proportion; so does one of xfs, where `xfs_growfs -m` \
             also raises the share of its blocks that may become inodes.",
    source: "kubernetes-mixin, KubePersistentVolumeInodesFillingUp",
    judge: &[Judge::Claim(inodes_nearly_full)],
};

/// F110: most of a volume that is billed by its size was never used for two weeks.
pub(super) static OVER_PROVISIONED: Rule = Rule {
    id: "pvc-over-provisioned",
    severity: Severity::Info,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![users: PersistentVolumeClaim, PersistentVolume, Node],
    remedies: &[],
    title: "Most of a volume that is billed by its size was not used for two weeks",
    danger: "What is not used is billed all the same. It may be room for what comes once a quarter.",
    remedy: "The tool changes nothing: no volume can shrink. A smaller claim, into which the data is copied, costs less; \
             or request less for new replicas.",
    source: "Kubernetes API validation: a claim cannot request less; prices of providers by provisioned size",
    judge: &[Judge::Claim(over_provisioned)],
};

/// Share in per cent below which hardly anything is left.
const LEAST: u64 = 3;
/// Bytes of which volumes are not nearly full, whatever share that is, as long as it is not below [`LEAST`].
const ROOM: Bytes = 100 << 30;
/// Time ahead within which it is a finding that a volume will be full.
const SOON: f64 = 4.0 * 86_400.0;

/// Returns how severe it is that this is left of a whole, with the share below which it is a finding.
fn severity(cx: &Cx, left: u64, whole: u64, is_much: bool) -> Option<Severity> {
    let is_below = |percent: u64| u128::from(left) * 100 < u128::from(whole) * u128::from(percent);
    let asked = cx.settings().least_free.percent;
    match (is_below(LEAST.min(asked)), is_below(asked) && !is_much) {
        (true, _) => Some(Severity::High),
        (false, true) => Some(Severity::Medium),
        (false, false) => None,
    }
}

/// Returns a part of a whole in per cent, with one decimal below ten.
fn share(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1000 / u128::from(whole.max(1));
    match tenths {
        0..100 => format!("{}.{}%", tenths / 10, tenths % 10),
        _ => format!("{}%", tenths / 10),
    }
}

fn nearly_full(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some((system, is_shared)) = facts::measured_now(cx, claim)? else { return Ok(None) };
    let FileSystem { capacity, available, used, .. } = system;
    // What is reserved can neither be written nor is it used.
    let by_share = severity(cx, available, used.saturating_add(available), available >= ROOM);
    let full_in = system.history.full_in(available).filter(|it| *it <= SOON && !is_shared);
    let Some(severity) = by_share.or(full_in.map(|_| Severity::Medium)) else { return Ok(None) };
    let free = format!(
        "{} free, {}",
        format_bytes(available),
        share(available, used.saturating_add(available))
    );
    let when = full_in.map(|it| format!(": full in about {}", in_words(it)));
    let what = match is_shared {
        true => format!("the file system of {} that it shares has ", format_bytes(capacity)),
        false => String::new(),
    };
    let finding = NEARLY_FULL.on_claim(claim, format!("{what}{free}{}", when.unwrap_or_default()));
    // Who uses up a share is not told by it.
    let severity = if is_shared { less(severity) } else { severity };
    let finding = shows(finding, cx, claim, &system)?.severe(severity);
    Ok(Some(match is_shared {
        true => finding.report_only(
            "make room in the file system, which also holds data of others: expanding the claim changes nothing",
        ),
        false => finding.remedied_by(cx, claim, &remedies::EXPAND),
    }))
}

fn inodes_nearly_full(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some((system, is_shared)) = facts::measured_now(cx, claim)? else { return Ok(None) };
    let Some((used, all)) = system.inodes else { return Ok(None) };
    let left = all.saturating_sub(used);
    let Some(severity) = severity(cx, left, all, false) else { return Ok(None) };
    // xfs and ZFS make inodes of free blocks: where there are none, that is the finding.
    let blocks = system.used.saturating_add(system.available);
    if self::severity(cx, system.available, blocks, false).is_some() {
        return Ok(None);
    }
    let what = if is_shared { "the file system that it shares has " } else { "" };
    let summary = format!("{what}{left} of {all} inodes left, {}", share(left, all));
    let severity = if is_shared { less(severity) } else { severity };
    let finding = shows(INODES_NEARLY_FULL.on_claim(claim, summary), cx, claim, &system)?
        .severe(severity)
        .shows("inodes", format!("{used} of {all} used"));
    let is_xfs = volume_of(cx, claim)?.is_some_and(|it| it.is_xfs);
    Ok(Some(finding.report_only(match is_xfs {
        true => ON_XFS,
        false => "delete files: there may be room in bytes, but none for another file",
    })))
}

/// What there is to do on xfs (`xfs_fs_statfs`, and `imaxpct` in `mkfs.xfs(8)` and `xfs_growfs(8)`).
const ON_XFS: &str = "xfs allocates inodes from free blocks, up to a share of them (imaxpct): delete files, or raise that \
                      with `xfs_growfs -m` on the node; an expansion raises it in proportion";

fn over_provisioned(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some((_, unused, system)) = facts::over_provisioned(cx, claim)? else {
        return Ok(None);
    };
    let peak = system.capacity.saturating_sub(unused);
    let summary = format!(
        "{} of {} were not used for two weeks: at most {} ({}) were, by {} samples",
        format_bytes(unused),
        format_bytes(system.capacity),
        format_bytes(peak),
        share(peak, system.capacity),
        system.history.peak.as_ref().map_or(0, |it| it.samples)
    );
    let finding = shows(OVER_PROVISIONED.on_claim(claim, summary), cx, claim, &system)?;
    Ok(Some(finding.report_only(
        "no volume can shrink: a smaller claim and a copy of the data, if this room is not for what comes rarely",
    )))
}

/// Returns a time ahead, as tables show ages.
fn in_words(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
    format_age(seconds.round() as i64)
}

/// Adds what was measured.
fn shows(finding: Finding, cx: &Cx, claim: &Claim, system: &FileSystem) -> Seen<Finding> {
    let bytes = |bytes: Bytes| format!("{} ({bytes} bytes)", format_bytes(bytes));
    let mut finding = finding
        .shows("size of the file system", bytes(system.capacity))
        .shows("used", bytes(system.used))
        .shows("available", bytes(system.available))
        .shows("measured at", time(system.at))
        .shows("used by", facts::used_by(cx, claim)?);
    if let Some(node) = &system.node {
        finding = finding.shows("measured by", &**node);
    }
    if let Some(peak) = &system.history.peak {
        let since = format!("{} since {}", bytes(peak.used), time(Some(peak.since)));
        finding = finding.shows("most that was used", since);
    }
    let volume = volume_of(cx, claim)?;
    Ok(finding.about_volume(volume).relates(volume.map(Volume::object)))
}

fn volume_of<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Option<&'a Volume>> {
    Ok(claim.volume_name.as_deref().map(|it| cx.volume(it)).transpose()?.flatten())
}

/// Returns the next severity below.
const fn less(severity: Severity) -> Severity {
    match severity {
        Severity::Critical => Severity::High,
        Severity::High => Severity::Medium,
        Severity::Medium | Severity::Low => Severity::Low,
        Severity::Info => Severity::Info,
    }
}
