//! Work on several clusters at once, and on whatever is kept of each.

use std::{
    cell::RefCell,
    panic::resume_unwind,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use futures::{StreamExt as _, stream};

use super::{Exit, Failure, clusters::ClusterInput, collect::ProgressLine};
use crate::{
    model::{Text, first_of},
    platform::terminated,
};

/// How many clusters are read at once over the network.
const AT_ONCE: usize = 8;

/// Does the same to each item, on as many threads as there are cores, and returns the results in the order of the items.
pub(super) fn on_all_cores<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let items: Vec<_> = items.into_iter().enumerate().collect();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let (left, done) = (Mutex::new(items.into_iter()), Mutex::new(Vec::new()));
    let worker = || loop {
        let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((number, item)) = next else { return };
        let result = work(item);
        done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(worker);
        }
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|it| it.0);
    done.into_iter().map(|it| it.1).collect()
}

/// Reads clusters, and returns what comes of each, in their order: those behind a network at once, dumps one after the
/// other on each core.
///
/// # Errors
/// When what was typed is wrong for all of them, or none can be read: the first failure.
pub(super) async fn read_each<'a, T: Send>(
    inputs: &'a [ClusterInput],
    read: impl AsyncFn(&'a ClusterInput) -> Result<T, Failure> + Sync,
) -> Result<Vec<(&'a ClusterInput, Result<T, Failure>)>, Failure> {
    let (live, dumps): (Vec<_>, Vec<_>) =
        inputs.iter().enumerate().partition(|(_, it)| it.is_live());
    let progress = &RefCell::new(ClustersProgress::of(live.len()));
    let asked = live.into_iter().map(async |(place, input)| {
        progress.borrow_mut().begin(input.name());
        let outcome = read(input).await;
        progress.borrow_mut().end(input.name());
        (place, input, outcome)
    });
    let mut found: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let stopped = AtomicBool::new(false);
    let read_dump = |(place, input): (usize, &'a ClusterInput)| {
        if stopped.load(Ordering::Relaxed) {
            return None;
        }
        let outcome = match tokio::runtime::Builder::new_current_thread().build() {
            Ok(runtime) => runtime.block_on(read(input)),
            Err(error) => Err(Failure::error(anyhow::anyhow!("no thread can be started: {error}"))),
        };
        Some((place, input, outcome))
    };
    let (signalled, read_dumps) = tokio::task::block_in_place(|| {
        thread::scope(|scope| {
            let (end, ended) = tokio::sync::oneshot::channel::<()>();
            let reading = scope.spawn(|| {
                let _end = end;
                on_all_cores(dumps, read_dump)
            });
            let signalled = async {
                tokio::select! {
                    biased;
                    _ = tokio::signal::ctrl_c() => true,
                    () = terminated() => true,
                    _ = ended => false,
                }
            };
            let signalled = tokio::runtime::Handle::current().block_on(signalled);
            stopped.store(signalled, Ordering::Relaxed);
            (signalled, reading.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    });
    if signalled {
        // Whoever runs the command has the signal, too, but what should have woken them woke the wait above.
        tokio::task::yield_now().await;
        std::future::pending::<()>().await;
    }
    found.extend(read_dumps.into_iter().flatten());
    found.sort_by_key(|it| it.0);
    let is_usage =
        |it: &Result<T, Failure>| matches!(it, Err(failure) if failure.exit == Exit::Usage);
    let wrong = found.iter().position(|it| is_usage(&it.2));
    let none_read = found.iter().all(|it| it.2.is_err()).then_some(0);
    if let Some(first) = wrong.or(none_read).filter(|_| !found.is_empty()) {
        found.swap_remove(first).2?;
    }
    Ok(found.into_iter().map(|(_, input, read)| (input, read)).collect())
}

/// How many clusters are named in one line.
const READING: usize = 3;

/// Line that shows how many clusters were read so far, and which are being read.
struct ClustersProgress {
    /// `None` where no cluster is read over a network.
    line: Option<ProgressLine>,
    all: usize,
    read: usize,
    reading: Vec<Text>,
}

impl ClustersProgress {
    /// Starts the line of so many clusters.
    fn of(all: usize) -> Self {
        let line = (all > 0).then(ProgressLine::start);
        Self { line, all, read: 0, reading: Vec::new() }
    }

    /// Shows that a cluster is being read.
    fn begin(&mut self, name: &Text) {
        self.reading.push(Text::clone(name));
        self.show();
    }

    /// Shows that a cluster was read, or could not be.
    fn end(&mut self, name: &Text) {
        self.read += 1;
        self.reading.retain(|it| it != name);
        self.show();
    }

    fn show(&self) {
        let Self { line, all, read, reading } = self;
        if let Some(line) = line {
            line.say(format!(
                "{read} of {all} clusters read; reading {}",
                first_of(reading, READING)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::on_all_cores;

    #[test]
    fn results_keep_the_order_of_what_they_are_of() {
        let squares: Vec<_> = (0..100).map(|it| it * it).collect();
        assert_eq!(on_all_cores(0..100, |it| it * it), squares);
        assert!(on_all_cores([0; 0], |it| it).is_empty());
    }
}
