//! A progress line on stderr while lists are read. It is removed when they are complete.

use std::{fmt::Write as _, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use crate::sources::intake::Intake;

/// Shows how many objects of each kind were read so far. Invisible where stderr is no terminal.
pub struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Begins to show.
    pub fn start() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message("connecting");
        Self(bar)
    }

    /// Shows what was read so far.
    pub fn show(&self, intake: &Intake) {
        if self.0.is_hidden() {
            return;
        }
        let mut line = String::from("reading");
        for (kind, count) in intake.seen() {
            let _ = write!(line, "  {} {count}", kind.plural());
        }
        self.0.set_message(line);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
