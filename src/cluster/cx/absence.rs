//! Lookups by index and by name for all types of row, and proofs that an object is absent.

use super::{Cx, Lookup};
use crate::cluster::{Coverage, Reach, Seen, Unseen, rows::Stored};
use crate::model::{Answer, Kind, NamedRow, ObjectId, ObjectKey, Question, Text};

impl<'a> Cx<'a> {
    /// Returns those candidates of an index that really match, in the order of namespace and name.
    pub(super) fn matching<R: Stored>(
        &self,
        candidates: impl Iterator<Item = ObjectId>,
        matches: impl Fn(&R) -> bool,
    ) -> Seen<Vec<&'a R>> {
        let table = R::table(&self.cluster.tables);
        let rows = candidates.filter_map(|id| table.get(id)).inspect(|_| self.costs(1));
        let mut rows: Vec<_> = rows.filter(|row| matches(row)).collect();
        rows.sort_by(|a, b| (a.namespace(), a.name()).cmp(&(b.namespace(), b.name())));
        rows.iter().try_for_each(|row| self.legible(*row))?;
        Ok(rows)
    }

    /// Whether everything that matters of a row could be read.
    ///
    /// # Errors
    /// What could not.
    pub(super) fn legible(&self, row: &impl NamedRow) -> Seen<()> {
        let (kind, namespace, name) = row.identity();
        self.cluster.legible(kind, namespace, name)
    }

    /// Returns an object that an object of the kind `referenced_by` references; `Ok(None)` if it is
    /// known to be absent.
    pub(super) fn by_name<R: Stored>(
        &self,
        kind: Kind,
        namespace: Option<&Text>,
        name: &str,
        referenced_by: Kind,
    ) -> Seen<Option<&'a R>> {
        let in_namespace = namespace.map_or("", |namespace| namespace);
        let row = R::table(&self.cluster.tables).named(kind, in_namespace, name);
        self.cluster.legible(kind, in_namespace, name)?;
        if row.is_none() {
            self.absent(kind, namespace, name, referenced_by)?;
        }
        Ok(row)
    }

    /// Whether an object that no list contains is known to be absent: by the order of the lists, or
    /// by an answer about this object.
    pub(super) fn absent(
        &self,
        kind: Kind,
        namespace: Option<&Text>,
        name: &str,
        naming: Kind,
    ) -> Seen<()> {
        let key = ObjectKey { kind, namespace: namespace.cloned(), name: name.into() };
        let exists = Question::Exists(key.clone());
        if self.cluster.answers().get(&exists) == Some(&Answer::No) {
            self.note(|| Lookup::Answer(exists));
            return Ok(());
        }
        self.cluster.reach(kind, namespace)?;
        if self.listed_after(kind, namespace, naming).is_ok() {
            return Ok(());
        }
        let reason = format!("existence of {key} was not checked");
        let answer = self.answer(Question::Exists(key.clone()));
        match answer.map_err(|unseen| Unseen { reason, ..unseen })? {
            Answer::No => Ok(()),
            // The object would have been returned as a row; it may have been deleted since.
            Answer::Yes
            | Answer::Is(_)
            | Answer::Owner(_)
            | Answer::Users(_)
            | Answer::Announcements(_)
            | Answer::Unanswered(_)
            | Answer::Forbidden
            | Answer::NotServed { .. } => Err(Unseen {
                kind,
                namespace: namespace.cloned(),
                reason: format!("existence of {key} could not be confirmed"),
            }),
        }
    }

    /// Whether the list of a kind began after the list of the objects that reference it ended: only
    /// then is an object that it does not contain known to be absent.
    pub(super) fn listed_after(
        &self,
        kind: Kind,
        namespace: Option<&Text>,
        naming: Kind,
    ) -> Seen<()> {
        let (began, _) = self.cluster.listed(kind, namespace)?;
        let ended = match self.cluster.coverages.get(&Reach::all(naming)) {
            Some(Coverage::Seen { ended, .. }) => *ended,
            // The list of referencing objects is incomplete, or was read in parts: this proves
            // nothing.
            _ => u64::MAX,
        };
        if began >= ended {
            return Ok(());
        }
        Err(Unseen {
            kind,
            namespace: namespace.cloned(),
            reason: format!("{} were listed before {}", kind.plural(), naming.plural()),
        })
    }
}
