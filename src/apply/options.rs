//! Options of a run: dry run, parallelism, Events, waiting.

/// Whether requests are dry runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// They are carried out.
    None,
    /// The API server checks each and carries out none.
    Server,
}

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// How many changes are made at the same time, also of one driver; `None` for one per driver.
    pub parallel: Option<usize>,
    /// Whether requests are dry runs.
    pub dry_run: DryRun,
    /// Whether Events are written.
    pub events: bool,
    /// Whether the run waits for the effect of each write.
    pub wait: bool,
}
