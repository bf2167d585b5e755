//! What a type of row has to do with others: the indexes by which it is found, and the subjects
//! whose judgement rests on it.

mod admission;
mod storage;
mod users;

use super::{
    Cluster, Dirty,
    indexes::{EntryChange, Indexes},
    table::RowTable,
};
use crate::model::{NamedRow, ObjectId, for_each_row};

/// A row that has a table.
pub(super) trait Stored: NamedRow + PartialEq + Sized {
    /// The table of such rows.
    fn table(tables: &Tables) -> &RowTable<Self>;

    /// The table of such rows, to change it.
    fn table_mut(tables: &mut Tables) -> &mut RowTable<Self>;
}

/// A row with what leads to it and from it.
pub(super) trait Linked: Stored {
    /// Adds the row to the indexes by which lookups find it, or removes it from them.
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes);

    /// Marks the subjects whose judgement may rest on the row.
    ///
    /// This is the reverse of what lookups of [`Cx`](super::Cx) do, before a change and after it.
    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty);

    /// Marks the drivers of which the row tells something that does not change with each change of
    /// it.
    fn touch_drivers(&self, _: &mut Dirty) {}

    /// Whether it tells of these drivers what it told before a change.
    fn tells_the_same_of_drivers(&self, _before: &Self) -> bool {
        true
    }
}

macro_rules! declare_tables {
    ($($table:ident: $variant:ident($row:ident) [$($kind:ident)+] $($field:ident)+;)+) => {
        /// One table for each type of row.
        #[derive(Debug, Default)]
        pub(super) struct Tables {
            $(pub(super) $table: RowTable<crate::model::$row>,)+
        }

        $(impl Stored for crate::model::$row {
            fn table(tables: &Tables) -> &RowTable<Self> {
                &tables.$table
            }

            fn table_mut(tables: &mut Tables) -> &mut RowTable<Self> {
                &mut tables.$table
            }
        })+
    };
}

for_each_row!(declare_tables);
