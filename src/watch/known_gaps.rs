//! `KnownGaps`: what was said not to be read, and what has become of it.

use std::collections::BTreeSet;

use crate::cluster::{Cluster, Gap};
use crate::rules::UnreadGap;

/// What the user was told not to be read.
#[derive(Debug, Default)]
pub(super) struct KnownGaps(BTreeSet<Gap>);

/// Gaps that have appeared, and gaps that are none any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GapNews {
    /// What is not read any more, or for another reason than before.
    pub lost: Vec<Gap>,
    /// What is read again.
    pub read_again: Vec<Gap>,
}

impl GapNews {
    /// Whether nothing is new.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.read_again.is_empty()
    }
}

impl KnownGaps {
    /// Whether something is not read.
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Compares with what is not read now.
    ///
    /// A kind that is just being listed again is read again only when that has succeeded.
    pub(super) fn compare(&mut self, unread: &[UnreadGap], cluster: &Cluster) -> GapNews {
        let now: BTreeSet<Gap> = unread.iter().map(|it| it.gap.clone()).collect();
        let mut news =
            GapNews { lost: now.difference(&self.0).cloned().collect(), read_again: Vec::new() };
        let known = std::mem::replace(&mut self.0, now);
        for gap in known {
            if self.0.contains(&gap) {
                continue;
            }
            let another_reason = |it: &Gap| it.kind == gap.kind && it.namespace == gap.namespace;
            let is_listed =
                !gap.kind.is_listed() || cluster.reach(gap.kind, gap.namespace.as_ref()).is_ok();
            if self.0.iter().any(another_reason) {
                // It was told with the new reason.
            } else if is_of_no_namespace(&gap, cluster) {
                // All namespaces are a gap, which is told, and this one is not among those that
                // were listed by themselves: it does not exist any more.
            } else if is_listed {
                news.read_again.push(gap);
            } else {
                self.0.insert(gap);
            }
        }
        // What failed, was tried and failed again for the same reason is not told twice.
        news.lost.retain(|gap| self.0.contains(gap));
        news
    }
}

/// Whether a gap is of one namespace, and nothing is said any more of this namespace by itself.
fn is_of_no_namespace(gap: &Gap, cluster: &Cluster) -> bool {
    let mut coverages = cluster.coverages().filter(|(reach, _)| reach.kind == gap.kind);
    gap.namespace.is_some()
        && cluster.gaps().any(|it| it.kind == gap.kind && it.namespace.is_none())
        && !coverages.any(|(reach, _)| reach.namespace == gap.namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Change, Dirty, Reach};
    use crate::model::Kind;

    fn gap(reason: &str) -> Gap {
        Gap { kind: Kind::Pod, namespace: None, reason: reason.to_owned() }
    }

    #[test]
    fn a_namespace_that_does_not_exist_any_more_leaves_no_gap() {
        let (mut cluster, mut dirty) = (Cluster::default(), Dirty::default());
        let mut known = KnownGaps::default();
        let mut after = |changes: &[Change]| {
            for change in changes {
                cluster.apply(change.clone(), &mut dirty);
            }
            let news = known.compare(&unread(&cluster), &cluster);
            (news.lost.len(), news.read_again.len(), known.0.len())
        };
        let of = |name: &str| Gap { namespace: Some(name.into()), ..gap("forbidden") };
        let begin =
            |name: &str| Change::Begin(Reach { kind: Kind::Pod, namespace: Some(name.into()) });
        let lost = Change::Lost;
        let told = after(&[lost(gap("forbidden")), lost(of("a")), lost(of("b"))]);
        assert_eq!(told, (3, 0, 3));
        // All of it is tried again, and nothing is told twice.
        assert_eq!(after(&[Change::Begin(Reach::all(Kind::Pod))]), (0, 0, 3));
        let tried = [lost(gap("forbidden")), begin("a"), begin("b"), lost(of("a"))];
        assert_eq!(after(&tried), (0, 0, 3));
        assert_eq!(after(&[lost(of("b"))]), (0, 0, 3));
        // Without "b".
        let tried = [Change::Begin(Reach::all(Kind::Pod)), lost(gap("forbidden")), begin("a")];
        assert_eq!(after(&tried), (0, 0, 2));
        assert_eq!(after(&[lost(of("a"))]), (0, 0, 2));
        // And without the kind.
        assert_eq!(after(&[Change::NotServed(Kind::Pod)]), (0, 2, 0));
    }

    fn unread(cluster: &Cluster) -> Vec<UnreadGap> {
        cluster.gaps().map(|gap| UnreadGap { gap: gap.clone(), rules: Vec::new() }).collect()
    }

    #[test]
    fn a_gap_is_told_once_until_it_is_read_again() {
        let (mut cluster, mut dirty) = (Cluster::default(), Dirty::default());
        let mut known = KnownGaps::default();
        let mut after = |changes: &[Change]| {
            for change in changes {
                cluster.apply(change.clone(), &mut dirty);
            }
            known.compare(&unread(&cluster), &cluster)
        };
        let all = Reach::all(Kind::Pod);
        let lost = |reason: &str| GapNews { lost: vec![gap(reason)], ..GapNews::default() };
        assert_eq!(after(&[Change::Lost(gap("refused"))]), lost("refused"));
        assert_eq!(after(&[Change::Begin(all.clone())]), GapNews::default());
        assert_eq!(after(&[Change::Lost(gap("refused"))]), GapNews::default());
        assert_eq!(after(&[Change::Lost(gap("forbidden"))]), lost("forbidden"));
        assert_eq!(
            after(&[Change::Begin(all.clone()), Change::Complete(all)]),
            GapNews { read_again: vec![gap("forbidden")], ..GapNews::default() }
        );
        assert!(!known.any());
    }
}
