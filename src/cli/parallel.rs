//! Work on many things at once.

use std::{
    sync::{Mutex, PoisonError},
    thread,
};

/// Does the same to each item, on as many threads as there are cores, and returns the results in the order of the items.
pub fn on_all_cores<T: Send, R: Send>(
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
