//! What a report says, before it is shown.

use std::collections::BTreeSet;

use super::{
    inventory::{JudgedInventory, WIDTH},
    packed::merged,
    prices::Prices,
};
use crate::{
    cli::{
        clusters::tell_gaps,
        collect::{Collected, tell, tell_unread, unmeasured},
        terminal,
    },
    facts::UsageSummary,
    model::{RuleId, Settings, escape_control},
    output::{
        inventory::InventorySummary,
        money::Money,
        publish::{self, ReportOrigin},
        repeated::RepeatedFlags,
        report::wrap,
        summary::Checks,
        wire::{ComparableContents, Finding, Gap, ReportMetadata, ReportScope, ReportTail, Source},
    },
    rules::{INVENTORY, ReportContents, Rule, Totals, USAGE, Waste, of_report},
    watch::report::{MeasuredCluster, report_metrics},
};

/// What a report says: of one cluster, whose findings are judged again as they are listed, or of several.
pub(super) struct Reported<'a> {
    pub(super) totals: Totals,
    pub(super) scope: ReportScope,
    pub(super) tail: ReportTail,
    pub(super) metadata: ReportMetadata,
    pub(super) checks: Checks,
    pub(super) findings: Box<dyn Fn() -> Box<dyn Iterator<Item = Finding> + 'a> + 'a>,
    pub(super) metrics: Box<dyn Fn(Totals) -> String + 'a>,
    /// What became of the disks that providers list.
    pub(super) inventory: Option<InventorySummary>,
    /// What costs that is wasted.
    pub(super) money: Option<Money>,
    pub(super) repeated: &'a RepeatedFlags,
    /// Tells on stderr what was read, and what was not.
    pub(super) tell: Box<dyn Fn() + 'a>,
}

impl<'a> Reported<'a> {
    /// What a report about one cluster says.
    pub(super) fn of(collected: &'a Collected, settings: &'a Settings, source: Source) -> Self {
        let (cluster, assessor) = (&collected.intake.cluster, &collected.assessor);
        let journal = collected.journal.as_ref().map(|path| path.display().to_string());
        let totals = assessor.totals(cluster, settings);
        let unmeasured = unmeasured_or_unjudged(collected, &totals);
        let checks = checks_of(collected, settings, &unmeasured);
        let mut tail = publish::tail(&collected.blind);
        tail.gaps.extend(unmeasured);
        Self {
            scope: publish::scope(&settings.scope, &assessor.exempted(cluster, settings)),
            checks,
            tail,
            totals,
            metadata: publish::metadata(cluster, settings, ReportOrigin { source, journal }),
            findings: Box::new(move || {
                let found = assessor.findings(cluster, settings);
                Box::new(found.map(|it| collected.public(it)))
            }),
            metrics: Box::new(|totals| metrics(collected, totals)),
            inventory: None,
            money: None,
            repeated: &collected.repeated,
            tell: Box::new(|| tell_read(collected)),
        }
    }

    /// What of the report may be compared with another one's.
    pub(super) fn comparable(&self) -> ComparableContents {
        ComparableContents::of(self.inventory.as_ref(), self.totals.usage.as_ref())
    }

    /// Tells of how many claims it is known how full they are.
    pub(super) fn measured(mut self) -> Self {
        let Some(usage) = &self.totals.usage else { return self };
        let why = usage.unjudged().map(|it| format!("note: {it}"));
        let lines = wrap(&usage.told(), WIDTH).into_iter().chain(why).collect::<Vec<_>>();
        let tell = self.tell;
        self.tell = Box::new(move || {
            tell();
            for line in &lines {
                terminal::note(line);
            }
        });
        self
    }

    /// Adds what costs that is wasted.
    pub(super) fn priced(
        mut self,
        prices: Option<&Prices>,
        disks: Option<&JudgedInventory<'_>>,
    ) -> Self {
        let Some(prices) = prices else { return self };
        let released = self.totals.storage.iter().map(|(pool, totals)| {
            ([pool.class.clone(), pool.driver.clone()], totals.of(Waste::Released))
        });
        let released: Vec<_> = released.filter(|it| it.1 > 0).collect();
        let mut wasted = vec![("released", released)];
        if !self.totals.over_provisioned.is_empty() {
            let unused = self.totals.over_provisioned.iter();
            wasted.push(("over-provisioned", unused.map(|it| (it.0.clone(), *it.1)).collect()));
        }
        if let Some(disks) = disks {
            wasted.push(("orphaned", disks.orphaned.clone()));
            wasted.push(("unattributed", disks.unattributed.clone()));
        }
        let money = prices.money(&wasted);
        let (lines, tell) = (money.told(), self.tell);
        self.money = Some(money);
        self.tell = Box::new(move || {
            for line in &lines {
                terminal::note(line);
            }
            tell();
        });
        self
    }

    /// Adds what providers list.
    pub(super) fn beside(
        mut self,
        disks: Option<&'a JudgedInventory<'_>>,
        settings: &Settings,
    ) -> Self {
        let Some(disks) = disks else { return self };
        self.totals.add_findings(&disks.totals);
        self.tail.gaps.extend(disks.gaps.iter().cloned());
        let limited = disks.gaps.iter().flat_map(|it| &it.ids);
        let limited: BTreeSet<&str> = limited.map(|it| &**it).collect();
        let limited = INVENTORY.iter().map(|it| it.id).filter(|it| limited.contains(it)).collect();
        let complete = disks.gaps.is_empty();
        let of_disks = checks(INVENTORY.iter().copied(), &limited, complete, settings);
        self.checks.made += of_disks.made;
        self.checks.all += of_disks.all;
        self.checks.complete &= complete;
        self.inventory = Some(disks.summary.clone());
        let (findings, tell, repeated) = (self.findings, self.tell, self.repeated);
        let of_disks = move || disks.findings().map(|it| repeated.finding(it));
        self.findings = Box::new(move || Box::new(merged(findings(), of_disks())));
        self.tell = Box::new(move || {
            tell();
            for line in disks.told() {
                terminal::note(&line);
            }
            tell_gaps("inventory", &disks.gaps);
        });
        self
    }
}

/// Returns what could not be read of how full volumes are, and the gap of figures by which no claim was judged.
pub(super) fn unmeasured_or_unjudged(collected: &Collected, totals: &Totals) -> Vec<Gap> {
    let unjudged = totals.usage.as_ref().and_then(UsageSummary::unjudged);
    let unjudged = unjudged.map(|it| unmeasured(it.to_owned()));
    collected.unmeasured().into_iter().chain(unjudged).collect()
}

/// Returns the figures of a report as metrics.
fn metrics(collected: &Collected, totals: Totals) -> String {
    let gaps = collected.blind.iter().map(|it| it.gap.kind).collect();
    let (name, taken_at) = (String::new(), collected.intake.cluster.clock());
    report_metrics(vec![MeasuredCluster { name, totals, gaps, taken_at }])
}

/// The checks that were made in one cluster.
pub(super) fn checks_of(collected: &Collected, settings: &Settings, unmeasured: &[Gap]) -> Checks {
    let of_usage = USAGE.iter().map(|it| it.id).filter(|_| !unmeasured.is_empty());
    let limited = collected.blind.iter().flat_map(|it| it.rules.iter().copied());
    let limited = limited.chain(of_usage).collect();
    let complete = collected.blind.is_empty() && unmeasured.is_empty();
    let usage = collected.intake.cluster.figures().is_some();
    let rules = of_report(ReportContents { usage, ..ReportContents::default() });
    checks(rules, &limited, complete, settings)
}

/// How many checks were made, of all: these were limited.
pub(super) fn checks(
    rules: impl Iterator<Item = &'static Rule>,
    limited: &BTreeSet<RuleId>,
    complete: bool,
    settings: &Settings,
) -> Checks {
    let scope = &settings.scope;
    let mut counted = Checks { made: 0, all: 0, complete };
    for rule in rules {
        let id = rule.id;
        let asked = scope.rules.is_empty() || scope.rules.contains(id);
        let is_made = asked && !scope.ignored.contains(id) && !limited.contains(id);
        counted.made += usize::from(is_made);
        counted.all += 1;
    }
    counted
}

/// Tells on stderr what was read, and what was not.
pub(super) fn tell_read(collected: &Collected) {
    if terminal::is_verbose() {
        for (kind, count) in collected.intake.seen() {
            terminal::note(&format!("read {count} {}", kind.resource()));
        }
        for complaint in collected.intake.complaints() {
            terminal::note(&format!("broken: {}", escape_control(complaint)));
        }
    }
    tell(collected, "audit");
    tell_unread(&collected.unmeasured(), "audit");
}
