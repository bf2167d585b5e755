//! `LineQueue`: lines that a thread writes, so that whoever does not read them holds up nothing else.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// From how many bytes on that wait there is no room for another line. One line has room however long
/// it is.
const MOST: usize = 1 << 20;

/// Lines that wait to be written. Whoever adds one never waits: what has no room is lost, and how
/// many lines were is told in their place. Clones share the queue.
#[derive(Debug, Clone)]
pub(super) struct LineQueue(Arc<SharedLines>);

#[derive(Debug, Default)]
struct SharedLines {
    lines: Mutex<WaitingLines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WaitingLines {
    lines: VecDeque<WaitingLine>,
    /// Of lines that are not written yet.
    bytes: usize,
    /// Whether the thread holds a line that is not written.
    is_writing: bool,
    /// The thread that writes. What it says itself always has room, and is written next.
    writer: Option<ThreadId>,
    own: Vec<Vec<u8>>,
}

#[derive(Debug)]
enum WaitingLine {
    Line(Vec<u8>),
    /// So many stood here, and had no room.
    Lost(usize),
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
        if waiting.writer == Some(thread::current().id()) {
            return waiting.own.push(line);
        }
        if waiting.bytes < MOST {
            waiting.bytes += line.len();
            waiting.lines.push_back(WaitingLine::Line(line));
        } else if let Some(WaitingLine::Lost(lost)) = waiting.lines.back_mut() {
            *lost += 1;
        } else {
            waiting.lines.push_back(WaitingLine::Lost(1));
        }
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
            let Some(next) = waiting.lines.pop_front() else { continue };
            waiting.is_writing = true;
            drop(waiting);
            let (lines, room) = match next {
                WaitingLine::Line(line) => {
                    let room = line.len();
                    (vec![line], room)
                }
                WaitingLine::Lost(lost) => {
                    tell_lost(lost);
                    (std::mem::take(&mut self.waiting().own), 0)
                }
            };
            for line in lines {
                // Where it is closed, nobody wants to know.
                let _ = into.write_all(&line);
            }
            let _ = into.flush();
            let mut waiting = self.waiting();
            waiting.bytes -= room;
            waiting.is_writing = false;
            drop(waiting);
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
                assert_eq!(text.parse(), Ok(read + lost), "in order, and so is what was lost");
                read += 1;
                if read == MOST >> 11 {
                    // There is room again, before it is told that there was none.
                    queue.push(line(all));
                }
            }
            if read + lost == all + 1 {
                break;
            }
        }
        assert!(read > MOST >> 10 && lost > 0, "{read} read, {lost} lost");
        // It goes on as if nothing had been.
        assert!(queue.settle(Duration::from_secs(60)));
    }

    #[test]
    fn a_line_is_not_lost_because_it_is_long() {
        let (queue, reader) = piped();
        let mut long = vec![b'a'; 2 * MOST];
        long.push(b'\n');
        queue.push(long);
        // There is no room any more until it is written.
        queue.push(b"no room\n".to_vec());
        let mut lines = BufReader::new(reader).lines().map_while(Result::ok);
        assert_eq!(lines.next().map(|it| it.len()), Some(2 * MOST));
        assert_eq!(lines.next().as_deref(), Some("1 lost"));
        assert!(queue.settle(Duration::from_secs(60)));
        queue.push(b"room\n".to_vec());
        assert_eq!(lines.next().as_deref(), Some("room"));
    }
}
