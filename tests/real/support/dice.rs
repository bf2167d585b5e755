//! Numbers that a seed repeats.

/// `SplitMix64`: the same numbers for the same seed, on every machine.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from zero up to, but not including, `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A place in a list of this many.
    pub(crate) fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).expect("because it is below the count")
    }

    /// A number of this range, both ends included.
    pub(crate) fn between(&mut self, first: i32, last: i32) -> i32 {
        let width = u64::try_from(last - first + 1).expect("because ranges have a number in them");
        first + i32::try_from(self.below(width)).expect("because ranges are small")
    }

    /// Whether it happens, of so many times once.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let length = u64::try_from(all.len()).expect("because slices are small");
        all[usize::try_from(self.below(length)).expect("because slices are small")]
    }
}
