//! A program that runs at a terminal of its own, as for a user who types and reads.

use std::io::Read;
use std::process::{Child, Command};

use pty_process::Size;
use pty_process::blocking::{Pty, open};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a program may be silent on a busy machine.
const SILENCE: Timespec = Timespec { tv_sec: 120, tv_nsec: 0 };

/// A program at a terminal of 50 rows, which is its stdin, its stdout and its stderr.
///
/// Dropping it closes the terminal; the system then ends a program that still runs.
pub(crate) struct Terminal {
    pub(crate) device: Pty,
    pub(crate) child: Child,
    /// What was shown so far, typed text included.
    pub(crate) shown: Vec<u8>,
}

impl Terminal {
    /// Starts a program at a terminal of so many columns, with its own `TERM` and `NO_COLOR`.
    pub(crate) fn sized(command: Command, columns: u16) -> Self {
        let (device, end) = open().expect("because the system has terminals");
        device.resize(Size::new(50, columns)).expect("because it is a terminal");
        let command = pty_process::blocking::Command::from(command);
        let child = command.spawn(end).unwrap_or_else(|error| panic!("it did not start: {error}"));
        Self { device, child, shown: Vec::new() }
    }

    /// Reads what the program shows next; false once the program has closed the terminal.
    pub(crate) fn read(&mut self) -> bool {
        let mut device = [PollFd::new(&self.device, PollFlags::IN)];
        let heard = poll(&mut device, Some(&SILENCE)).expect("because it is a terminal");
        assert_ne!(heard, 0, "no output for a long time after: {}", self.screen());
        let mut piece = [0; 4096];
        // On Linux, reading fails once the other end is closed.
        let length = self.device.read(&mut piece).unwrap_or(0);
        self.shown.extend(&piece[..length]);
        length > 0
    }

    /// What was shown so far, as text.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.shown).replace("\r\n", "\n")
    }

    /// Waits for the program's end, and returns what it showed and its exit code; `None` when a signal ended it.
    pub(crate) fn finish(mut self) -> (String, Option<i32>) {
        while self.read() {}
        let status = self.child.wait().expect("because it was started");
        (self.screen(), status.code())
    }
}
