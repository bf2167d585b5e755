//! Decisions, from what chance or a shrinking test put in.

pub(super) struct Chance<'a>(&'a [u8]);

impl<'a> Chance<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// A number below `sides`; 0 when nothing is left.
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % sides
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    /// Rarely, and never when nothing is left.
    pub(super) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == sides - 1
    }
}
