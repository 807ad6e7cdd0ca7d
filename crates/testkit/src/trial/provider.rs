//! A provider that does exactly what is planned for each request.

use crate::http::{Incoming, find};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The header that names what is planned.
pub const TRIAL: &str = "x-trial";

/// What is done to a request.
#[derive(Clone, Debug)]
pub struct Act {
    /// All bytes, head and framing included.
    pub bytes: Arc<[u8]>,
    /// How many of them are written at a time.
    pub piece: usize,
    /// How long it waits between two pieces.
    pub pause: Duration,
    /// What happens behind the last byte.
    pub end: End,
}

/// What happens behind the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The next request may come.
    Open,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing, until the client leaves.
    Stall,
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// Method and target.
    pub line: String,
    /// In order, as they were written.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
}

impl Arrived {
    /// A header by its name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

/// The provider. It stops when dropped.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    next: AtomicU64,
    planned: Mutex<HashMap<u64, Planned>>,
    arrived: Condvar,
    stopping: AtomicBool,
    open: Mutex<HashMap<u64, Arc<TcpStream>>>,
    busy: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Planned {
    act: Act,
    arrived: Vec<Arrived>,
}

impl Provider {
    /// Listens on a free loopback port.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let accepting = std::thread::Builder::new().name("provider".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || accept(&shared, &listener)
        })?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Plans what is done to the request that says this number.
    pub fn plan(&self, act: Act) -> u64 {
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.shared.planned).insert(number, Planned { act, arrived: Vec::new() });
        number
    }

    /// Waits until a request has arrived, at most so long; whether it has.
    pub fn wait_for(&self, number: u64, limit: Duration) -> bool {
        let planned = lock(&self.shared.planned);
        let is_missing = |planned: &mut HashMap<u64, Planned>| {
            planned.get(&number).is_some_and(|planned| planned.arrived.is_empty())
        };
        let waited = self.shared.arrived.wait_timeout_while(planned, limit, is_missing);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// What arrived under a number. It is forgotten then.
    pub fn take(&self, number: u64) -> Vec<Arrived> {
        lock(&self.shared.planned).remove(&number).map(|planned| planned.arrived).unwrap_or_default()
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        lock(&self.shared.open).len()
    }

    /// Of these, those on which a request is being answered.
    pub fn busy(&self) -> usize {
        self.shared.busy.load(Ordering::SeqCst)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts; if it can't be reached it has ended already.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for stream in lock(&self.shared.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in std::mem::take(&mut *lock(&self.shared.threads)) {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for (id, stream) in (0..).zip(listener.incoming()) {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let stream = Arc::new(stream);
        lock(&shared.open).insert(id, Arc::clone(&stream));
        let work = {
            let shared = Arc::clone(shared);
            move || {
                let end = serve(&shared, &stream);
                // Before the socket is let go, so that a reset is one.
                lock(&shared.open).remove(&id);
                if end != End::Reset {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
        };
        let mut threads = lock(&shared.threads);
        threads.retain(|thread| !thread.is_finished());
        match std::thread::Builder::new().name(format!("provider-{id}")).spawn(work) {
            Ok(thread) => threads.push(thread),
            Err(_) => {
                lock(&shared.open).remove(&id);
            }
        }
    }
}

/// Answers the requests of one connection.
fn serve(shared: &Shared, stream: &TcpStream) -> End {
    let _ = stream.set_nodelay(true);
    loop {
        let Ok(Some(mut incoming)) = Incoming::read(stream) else { return End::Close };
        let act = shared.take_in(&mut incoming);
        shared.busy.fetch_add(1, Ordering::SeqCst);
        let end = play(&act, stream);
        shared.busy.fetch_sub(1, Ordering::SeqCst);
        match end {
            End::Reset => return End::Reset,
            End::Open if incoming.take_rest(stream).is_ok() && incoming.keep_alive => {}
            End::Open | End::Close | End::Stall => {
                // A socket that is closed with unread bytes would be reset.
                let _ = incoming.take_rest(stream);
                return End::Close;
            }
        }
    }
}

impl Shared {
    fn take_in(&self, incoming: &mut Incoming) -> Act {
        let arrived = Arrived {
            line: format!("{} {}", incoming.method, incoming.target),
            headers: std::mem::take(&mut incoming.headers),
            body: std::mem::take(&mut incoming.body),
        };
        let number = arrived.header(TRIAL).and_then(|number| number.parse().ok());
        let mut planned = lock(&self.planned);
        let Some(planned) = number.and_then(|number: u64| planned.get_mut(&number)) else {
            let bytes = *b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
            return Act { bytes: bytes.into(), piece: usize::MAX, pause: Duration::ZERO, end: End::Open };
        };
        planned.arrived.push(arrived);
        self.arrived.notify_all();
        planned.act.clone()
    }
}

fn play(act: &Act, mut stream: &TcpStream) -> End {
    for (at, piece) in act.bytes.chunks(act.piece.max(1)).enumerate() {
        if at > 0 && !act.pause.is_zero() {
            std::thread::sleep(act.pause);
        }
        if stream.write_all(piece).is_err() {
            return End::Close;
        }
    }
    if act.end == End::Stall {
        let mut ignored = [0; 1024];
        while stream.read(&mut ignored).is_ok_and(|read| read > 0) {}
    }
    act.end
}
