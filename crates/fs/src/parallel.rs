//! Work that is shared out among threads.

use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, scope};

/// Does `work` on each part in a thread of its own, the first in the caller's, so that a single part starts none. Where the
/// system gives no more threads, the caller's does what is left. The results come in the order of the parts. A panic goes on in
/// the caller once all threads have ended.
pub fn in_parallel<P: Send, R: Send>(parts: impl IntoIterator<Item = P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Vec::new() };
    let work = &work;
    scope(|scope| {
        // The part stays outside of its thread, since a thread that does not start takes along what it was given.
        let others: Vec<_> = parts.map(|part| Arc::new(Mutex::new(Some(part)))).collect();
        let take = |part: &Mutex<Option<P>>| part.lock().unwrap_or_else(PoisonError::into_inner).take().map(work);
        let threads: Vec<_> = others
            .iter()
            .map(|part| {
                let part = Arc::clone(part);
                Builder::new().spawn_scoped(scope, move || take(&part)).ok()
            })
            .collect();
        let mut results = vec![work(first)];
        for (thread, part) in threads.into_iter().zip(&others) {
            let result = match thread.map(ScopedJoinHandle::join) {
                Some(joined) => joined.unwrap_or_else(|panic| resume_unwind(panic)),
                None => take(part),
            };
            results.extend(result);
        }
        results
    })
}

/// Does `other` in a thread of its own beside `work`, and gives both results. Where the system gives no thread, one comes after
/// the other. A panic of either goes on in the caller once both have ended.
pub fn beside<R, O: Send>(work: impl FnOnce() -> R, other: impl FnOnce() -> O + Send) -> (R, O) {
    let other = Mutex::new(Some(other));
    let take = || other.lock().unwrap_or_else(PoisonError::into_inner).take();
    scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, || take().map(|other| other()));
        let result = work();
        let beside = match thread.map(ScopedJoinHandle::join) {
            Ok(joined) => joined.unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => take().map(|other| other()),
        };
        (result, beside.expect("it is done once, by the thread or without it"))
    })
}

#[cfg(test)]
mod tests {
    use std::thread::current;

    use super::*;

    #[test]
    fn results_come_in_order_and_the_first_is_the_callers() {
        let results = in_parallel(0..4, |number| (number, current().id()));
        assert_eq!(results.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let is_here = |(_, thread): &(i32, _)| *thread == current().id();
        assert_eq!(results.iter().map(is_here).collect::<Vec<_>>(), [true, false, false, false]);
    }

    #[test]
    fn what_goes_beside_has_a_thread_of_its_own() {
        let (here, there) = beside(|| current().id(), || current().id());
        assert!(here == current().id() && there != here);
    }

    #[test]
    fn a_panic_goes_on_in_the_caller() {
        assert!(std::panic::catch_unwind(|| beside(|| 1, || assert_eq!(1, 2))).is_err());
        let caught = std::panic::catch_unwind(|| in_parallel(0..3, |number| assert_ne!(number, 2)));
        assert!(caught.is_err());
    }
}
