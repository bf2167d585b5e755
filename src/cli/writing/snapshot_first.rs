//! `--snapshot-first`: flags of commands that delete a claim.

use clap::Args;

use crate::cli::Failure;
use crate::model::{Settings, SnapshotFirst, Text, Time};
use crate::remedies::snapshot_first;

/// Whether a snapshot is taken first, and with which class.
#[derive(Debug, Args)]
pub(super) struct SnapshotFirstArgs {
    #[arg(
        long,
        help = "Take a VolumeSnapshot of each claim first, and go on only once it is ready to use"
    )]
    snapshot_first: bool,
    #[arg(
        long,
        value_name = "NAME",
        requires = "snapshot_first",
        help = "Take it with this VolumeSnapshotClass [default: the default class of the driver]"
    )]
    snapshot_class: Option<String>,
}

impl SnapshotFirstArgs {
    /// Whether a snapshot is asked for.
    pub(super) const fn is_given(&self) -> bool {
        self.snapshot_first
    }

    /// Puts them into the settings. `waits` is `--wait`.
    pub(super) fn take_into(&self, settings: &mut Settings, waits: bool) -> Result<(), Failure> {
        if self.snapshot_first && !waits {
            let told = "--snapshot-first waits until the snapshot is ready to use, which \
                        --wait=false rules out";
            return Err(Failure::usage(told));
        }
        settings.snapshot_first = self.snapshot_first.then(|| SnapshotFirst {
            class: self.snapshot_class.as_deref().map(Text::from),
            stamp: Text::from(""),
        });
        Ok(())
    }
}

/// Fixes the names of the snapshots, once the API server's clock is known.
pub(super) fn fix_names(settings: &mut Settings, now: Option<Time>) {
    if let (Some(first), Some(now)) = (&mut settings.snapshot_first, now) {
        first.stamp = snapshot_first::stamp(now);
    }
}
