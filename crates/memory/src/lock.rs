//! Waiting for a lock that another process holds.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::mpsc;
use std::time::Duration;

/// How long somebody waits before they are told that the folder is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Locks a file, waiting in the system's queue: whoever tries again and again would be passed by those who hold it in turn. `None` if
/// it was not free in time.
pub(crate) fn lock(file: File, patience: Duration) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().name("lock".to_owned()).spawn(move || {
        let result = loop {
            match file.lock() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        // A lock that comes too late is given back here, with the file.
        let _ = sender.send(result.map(|()| file));
    })?;
    receiver.recv_timeout(patience).map_or(Ok(None), |result| result.map(Some))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_comes_too_late_is_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::options().create(true).append(true).open(dir.path().join("lock")).unwrap();
        let held = lock(open(), PATIENCE).unwrap().unwrap();
        assert!(lock(open(), Duration::from_millis(1)).unwrap().is_none());
        drop(held);
        // Whoever gave up had queued before: it comes and goes.
        assert!(lock(open(), Duration::from_secs(600)).unwrap().is_some());
    }

    #[test]
    fn all_who_wait_have_their_turn() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let count = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let file = File::options().create(true).append(true).open(&path).unwrap();
                        let held = lock(file, Duration::from_secs(600)).unwrap().unwrap();
                        let before = count.load(std::sync::atomic::Ordering::SeqCst);
                        std::thread::yield_now();
                        count.store(before + 1, std::sync::atomic::Ordering::SeqCst);
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 400, "nobody was there at the same time as another");
    }
}
