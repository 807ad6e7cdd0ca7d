//! What a process runs on that has a server in it, and how much of our own work it does at once.

use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Requests that are decided about at once, for each core. Some of that waits for files.
const PER_CORE: usize = 4;
/// Threads for what else may block: what is learnt from answers, memories that are looked up, pages, names of hosts.
const BESIDE: usize = 16;
/// How long a thread waits for more to do. The memory that it keeps for itself is given back when it ends.
const WAITING: Duration = Duration::from_secs(1);

/// How many requests are decided about at once: the rest of the machine is the user's.
pub(crate) fn at_once() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from) * PER_CORE
}

/// What a process runs on that has a server in it. Each thread keeps some memory for itself: there are no more of them than are of
/// use, and no longer.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .max_blocking_threads(at_once() + BESIDE)
        .thread_keep_alive(WAITING)
        .enable_all()
        .build()
}
