//! Judges what a change touched, a whole cluster on several threads. The result does not depend on
//! how many there are. This is the one place where commands and the loop have anything judged.

use std::{
    iter,
    num::NonZero,
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{
    cluster::{Cluster, Dirty, Facts, Subject},
    model::Settings,
    rules::{Assessor, PartialAssessment},
};

/// Fewer subjects than this are judged before a second thread has begun.
const CROWD: usize = 4096;
/// What a thread takes at a time: costs differ, so that halves would not be done together.
const SHARE: usize = 1024;
/// More threads would find little left to do.
const MOST_THREADS: usize = 8;

/// Takes in what changed, as [`Assessor::update`] does, and returns the subjects that were judged.
pub(crate) fn update(
    assessor: &mut Assessor,
    cluster: &Cluster,
    settings: &Settings,
    dirty: Dirty,
) -> Vec<Subject> {
    let subjects = assessor.begin(cluster, settings, dirty);
    let threads = match subjects.len() < CROWD {
        true => 1,
        false => thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS),
    };
    let facts = assessor.facts();
    assessor.end(cluster, spread(cluster, settings, &subjects, &facts, threads, SHARE));
    subjects
}

/// Has threads judge subjects, so many at a time.
fn spread(
    cluster: &Cluster,
    settings: &Settings,
    subjects: &[Subject],
    facts: &Facts,
    threads: usize,
    share: usize,
) -> Vec<PartialAssessment> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = PartialAssessment::new(facts.clone());
        let shares = iter::from_fn(|| {
            let begin = next.fetch_add(share, Ordering::Relaxed);
            let left = subjects.get(begin..).filter(|left| !left.is_empty())?;
            Some(&left[..left.len().min(share)])
        });
        done.judge(cluster, settings, shares.flatten());
        done
    };
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = others.into_iter();
        let others =
            others.map(|it| it.join().unwrap_or_else(|reason| panic::resume_unwind(reason)));
        iter::once(own).chain(others).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::dump::Input;
    use crate::sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    };

    #[test]
    fn many_threads_find_what_one_finds() {
        let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky-cluster.json.gz");
        let dump = [Input::Path(PathBuf::from(dump))];
        let mut intake = Intake::new(None);
        documents::read(&dump, &mut std::io::empty(), &DumpOptions::default(), &mut intake)
            .expect("it ships with us");
        let (cluster, settings) = (&intake.cluster, &Settings::default());
        let found = |threads, share| {
            let mut assessor = Assessor::default();
            let subjects = assessor.begin(cluster, settings, Dirty::everything());
            assert!(subjects.len() > 50, "{}", subjects.len());
            let facts = assessor.facts();
            let shares = spread(cluster, settings, &subjects, &facts, threads, share);
            assessor.end(cluster, shares);
            format!("{assessor:?}")
        };
        let mut alone = Assessor::default();
        alone.update(cluster, settings, Dirty::everything());
        assert!(alone.findings(cluster, settings).count() > 10);
        let alone = format!("{alone:?}");
        for (threads, share) in [(1, 1000), (1, 1), (2, 1), (2, 7), (5, 1), (8, 16)] {
            assert_eq!(found(threads, share), alone, "{threads} threads, {share} at a time");
        }
    }
}
