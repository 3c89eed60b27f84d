//! Work on many things at a time, results in the order of the things.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;
use metaloc_toolchain::interrupt;

/// Number of workers: as asked for, or one per core.
pub fn workers(asked: Option<NonZeroUsize>) -> usize {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    asked.map_or_else(cores, NonZeroUsize::get)
}

/// Calls `work` for each item. The first error, and ctrl-C, end all of it: no item is begun after that.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let worker = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { return Ok(()) };
            let result =
                interrupt::check().map_err(Into::into).and_then(|()| work(item)).inspect_err(|_| {
                    next.store(items.len(), Ordering::Relaxed);
                })?;
            done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((number, result));
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.min(items.len())).map(|_| scope.spawn(worker)).collect();
        // All of them are waited for, whatever the first one says.
        let ends: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        ends.into_iter().try_for_each(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..50).collect();
        let slow_first = |item: &u64| {
            thread::sleep(std::time::Duration::from_millis(50 - *item));
            Ok(item * 2)
        };
        assert_eq!(
            map(&items, 8, slow_first).unwrap(),
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
    }

    #[test]
    fn an_error_stops_the_rest() {
        let begun = AtomicUsize::new(0);
        let items: Vec<usize> = (0..1000).collect();
        let fail_early = |item: &usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            thread::sleep(std::time::Duration::from_millis(1));
            if *item == 3 { anyhow::bail!("item 3") } else { Ok(()) }
        };
        assert_eq!(map(&items, 2, fail_early).unwrap_err().to_string(), "item 3");
        assert!(begun.into_inner() < 100);
    }
}
