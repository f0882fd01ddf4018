//! Work in parts that do not depend on each other, on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does the parts 0 to `count` − 1. The results are in this order, whatever the order in which the
/// parts end.
pub(crate) fn on_all_cores<T: Send>(count: usize, part: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let work = || {
        while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count) {
            let result = part(number);
            done.lock().expect("no part panics while it holds the lock")[number] = Some(result);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(count);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let done = done.into_inner().expect("no part panics while it holds the lock");
    done.into_iter().map(|result| result.expect("every part was done")).collect()
}
