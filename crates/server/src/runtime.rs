//! What a process runs on that has a server in it, and how much of our own work it does at once.

use std::io;
use tokio::runtime::{Builder, Runtime};

/// Our own work on requests and answers that is done at once, for each core. Some of it waits for files.
const PER_CORE: usize = 4;
/// Threads for what else may block: memories that are looked up, pages, names of hosts.
const BESIDE: usize = 48;

/// How much of our own work is done at once: the rest of the machine is the user's.
pub(crate) fn at_once() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from) * PER_CORE
}

/// What a process runs on that has a server in it. Each thread keeps some memory of its own: there are no more than are of use.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().max_blocking_threads(at_once() + BESIDE).enable_all().build()
}
