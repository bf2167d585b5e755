//! The range of ordinals of a `StatefulSet` (R-1847-4).

use std::fmt;

use crate::model::StatefulSet;

/// The ordinals of a set: `start` to `start + replicas - 1`.
///
/// Computed in 64 bits, so that no start overflows (`stateful_set_utils.go`, `getStartOrdinal`,
/// `getEndOrdinal` and `podInOrdinalRange`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordinals {
    first: i64,
    last: i64,
}

impl Ordinals {
    /// The range with this start and number of replicas, of which the default is one.
    pub fn new(start: i32, replicas: Option<i32>) -> Self {
        let first = i64::from(start);
        Self { first, last: first + i64::from(replicas.unwrap_or(1)) - 1 }
    }

    /// The range of a set.
    pub fn of(set: &StatefulSet) -> Self {
        Self::new(set.start, set.replicas)
    }

    /// Whether an ordinal is in the range.
    pub fn contains(self, ordinal: i32) -> bool {
        (self.first..=self.last).contains(&i64::from(ordinal))
    }

    /// Returns the ordinal after the batch in which a set that is not ordered visits an ordinal:
    /// one pod, then two, four and so on (`stateful_set_control.go`, `slowStartBatch`).
    pub(super) fn end_of_batch(self, ordinal: i64) -> i64 {
        /// `MaxBatchSize`.
        const LARGEST: i64 = 500;
        /// Pods in all smaller batches: 1 to 256.
        const SMALLER: i64 = 511;
        let index = ordinal - self.first;
        let end = if index < SMALLER {
            let doubled = (0..10).map(|power| (1 << power) - 1).find(|end| *end > index);
            doubled.unwrap_or(SMALLER)
        } else {
            SMALLER + ((index - SMALLER) / LARGEST + 1) * LARGEST
        };
        self.first + end
    }
}

impl fmt::Display for Ordinals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.last < self.first {
            return f.write_str("none");
        }
        write!(f, "[{}, {}]", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_double_until_they_are_large() {
        let range = Ordinals::new(3, Some(5000));
        for (ordinal, end) in [
            (3, 4),
            (4, 6),
            (5, 6),
            (6, 10),
            (9, 10),
            (10, 18),
            (513, 514),
            (514, 1014),
            (1014, 1514),
        ] {
            assert_eq!(range.end_of_batch(ordinal), end, "{ordinal}");
        }
    }

    #[test]
    fn a_range_begins_at_its_start_and_is_as_long_as_its_replicas() {
        for (start, replicas, inside, outside, shown) in [
            (0, Some(3), vec![0, 1, 2], vec![3, -1, i32::MAX], "[0, 2]"),
            (3, Some(2), vec![3, 4], vec![0, 2, 5], "[3, 4]"),
            (0, None, vec![0], vec![1], "[0, 0]"),
            (7, None, vec![7], vec![0, 6, 8], "[7, 7]"),
            (0, Some(0), vec![], vec![0, 1, -1], "none"),
            (4, Some(0), vec![], vec![3, 4, 5], "none"),
            (0, Some(-2), vec![], vec![0, -1, -2], "none"),
            (-2, Some(3), vec![-2, -1, 0], vec![1], "[-2, 0]"),
            (i32::MAX, Some(i32::MAX), vec![i32::MAX], vec![0], "[2147483647, 4294967293]"),
            (i32::MIN, Some(i32::MIN), vec![], vec![i32::MIN, 0], "none"),
        ] {
            let range = Ordinals::new(start, replicas);
            assert_eq!(range.to_string(), shown);
            assert!(inside.iter().all(|it| range.contains(*it)), "{range} of {inside:?}");
            assert!(!outside.iter().any(|it| range.contains(*it)), "{range} of {outside:?}");
        }
    }
}
