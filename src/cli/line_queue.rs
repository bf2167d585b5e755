//! `LineQueue`: lines that a thread writes, so that whoever does not read them holds up nothing else.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How many bytes wait at most.
const MOST: usize = 1 << 20;

/// Lines that wait to be written. Whoever adds one never waits: what has no room is lost, and how
/// many lines were is told as soon as somebody reads again. Clones share the queue.
#[derive(Debug, Clone)]
pub(super) struct LineQueue(Arc<SharedLines>);

#[derive(Debug, Default)]
struct SharedLines {
    lines: Mutex<WaitingLines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WaitingLines {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    lost: usize,
    /// Whether the thread holds lines that are not all written.
    is_writing: bool,
    /// The thread that writes. What it says itself always has room.
    writer: Option<ThreadId>,
}

impl LineQueue {
    /// Begins to write lines. `tell_lost` is called in the thread that does, and may add lines.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(
        into: impl Write + Send + 'static,
        tell_lost: impl Fn(usize) + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Self(Arc::default());
        let writing = queue.clone();
        thread::Builder::new()
            .name("stderr".to_owned())
            .spawn(move || writing.write_all(into, tell_lost))?;
        Ok(queue)
    }

    /// Adds a line, with its line end.
    pub(super) fn push(&self, line: Vec<u8>) {
        let mut waiting = self.waiting();
        let is_of_writer = waiting.writer == Some(thread::current().id());
        if waiting.bytes + line.len() > MOST && !is_of_writer {
            waiting.lost += 1;
            return;
        }
        waiting.bytes += line.len();
        waiting.lines.push_back(line);
        drop(waiting);
        self.0.changed.notify_all();
    }

    /// Waits until everything is written, no longer than this. Returns whether it is.
    pub(super) fn settle(&self, patience: Duration) -> bool {
        let is_busy = |it: &mut WaitingLines| it.is_writing || !it.lines.is_empty();
        let waited = self.0.changed.wait_timeout_while(self.waiting(), patience, is_busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn write_all(&self, mut into: impl Write, tell_lost: impl Fn(usize)) {
        self.waiting().writer = Some(thread::current().id());
        loop {
            let waited = self.0.changed.wait_while(self.waiting(), |it| it.lines.is_empty());
            let mut waiting = waited.unwrap_or_else(PoisonError::into_inner);
            waiting.is_writing = true;
            waiting.bytes = 0;
            let lines = std::mem::take(&mut waiting.lines);
            let lost = std::mem::take(&mut waiting.lost);
            drop(waiting);
            for line in lines {
                // Where it is closed, nobody wants to know.
                let _ = into.write_all(&line);
            }
            let _ = into.flush();
            if lost > 0 {
                tell_lost(lost);
            }
            self.waiting().is_writing = false;
            self.0.changed.notify_all();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingLines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::sync::OnceLock;

    use super::*;

    /// A queue that writes into a pipe, and says `N lost` there.
    fn piped() -> (LineQueue, io::PipeReader) {
        let (reader, writer) = io::pipe().expect("because there is room for a pipe");
        let own: Arc<OnceLock<LineQueue>> = Arc::default();
        let to = Arc::clone(&own);
        let tell = move |lost: usize| {
            let queue = to.get().expect("because it is set before a line is added");
            queue.push(format!("{lost} lost\n").into_bytes());
        };
        let queue = LineQueue::start(writer, tell).expect("because threads can be started");
        own.set(queue.clone()).expect("because it is set once");
        (queue, reader)
    }

    #[test]
    fn lines_come_in_order() {
        let (queue, reader) = piped();
        for number in 0..100 {
            queue.push(format!("{number}\n").into_bytes());
        }
        assert!(queue.settle(Duration::from_secs(60)));
        let read: Vec<_> = BufReader::new(reader).lines().take(100).map_while(Result::ok).collect();
        assert_eq!(read, (0..100).map(|it| it.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_up_nobody_and_what_is_lost_is_told() {
        let (queue, reader) = piped();
        let line = |number: usize| format!("{number:0>1023}\n").into_bytes();
        // Far more than a pipe and the queue hold together.
        let all = 4 * (MOST >> 10);
        for number in 0..all {
            queue.push(line(number));
        }
        assert!(!queue.settle(Duration::from_millis(1)));
        let (mut read, mut lost) = (0, 0);
        for text in BufReader::new(reader).lines().map_while(Result::ok) {
            if let Some(count) = text.strip_suffix(" lost") {
                lost += count.parse::<usize>().expect("because it is a number");
            } else {
                assert_eq!(text.parse(), Ok(read), "in order, and the first ones are kept");
                read += 1;
            }
            if read + lost == all {
                break;
            }
        }
        assert!(read > MOST >> 10 && lost > 0, "{read} read, {lost} lost");
        // It goes on as if nothing had been.
        assert!(queue.settle(Duration::from_secs(60)));
    }
}
