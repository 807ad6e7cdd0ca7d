//! The server: a thread that accepts, and one for each connection.

use crate::http::Incoming;
use crate::plan::{Plan, Sent, Stopping};
use crate::prompts::{Measure, Prompts};
use crate::route::{self, Asked};
use crate::{Reply, Script, Seen, fault, render};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use throughline_core::Wire;

/// A model server on a free loopback port, which plays a [`Script`]. It stops when dropped: connections are closed,
/// replies that wait are given up, and all its threads have ended when the drop is over.
///
/// It answers `POST` to any path that ends in `/messages`, `/responses` or `/chat/completions`; the ending
/// tells the wire. `…/messages/count_tokens` and `…/models` get a plausible reply that the script need not give.
/// Everything else is a 404.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    stage: Mutex<Stage>,
    log: Mutex<Log>,
    logged: Condvar,
    stopping: Stopping,
    connections: Mutex<Connections>,
}

/// What one request at a time may touch.
struct Stage {
    script: Box<dyn Script>,
    prompts: Prompts,
}

#[derive(Debug, Default)]
struct Log {
    seen: VecDeque<Seen>,
    arrived: usize,
    keep: Option<usize>,
    unscripted: Vec<usize>,
    departed: usize,
}

#[derive(Debug, Default)]
struct Connections {
    next: u64,
    open: HashMap<u64, Arc<TcpStream>>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Server {
    /// Listens on a free loopback port.
    pub fn start(script: impl Script) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let stage = Stage { script: Box::new(script), prompts: Prompts::default() };
        let shared = Arc::new(Shared {
            stage: Mutex::new(stage),
            log: Mutex::default(),
            logged: Condvar::new(),
            stopping: Stopping::default(),
            connections: Mutex::default(),
        });
        let accepting = std::thread::Builder::new().name("testkit".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || accept(&shared, &listener)
        })?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// `http://127.0.0.1:PORT`, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Everything that arrived, in order.
    pub fn requests(&self) -> Vec<Seen> {
        lock(&self.shared.log).seen.iter().cloned().collect()
    }

    /// The last request that arrived.
    pub fn last(&self) -> Option<Seen> {
        lock(&self.shared.log).seen.back().cloned()
    }

    /// How many requests arrived.
    pub fn count(&self) -> usize {
        lock(&self.shared.log).arrived
    }

    /// Waits until `n` requests have arrived, at most `limit`; everything that arrived by then.
    pub fn wait_for(&self, n: usize, limit: Duration) -> Vec<Seen> {
        self.wait(limit, |log| log.arrived >= n).seen.iter().cloned().collect()
    }

    /// The numbers of the requests that the script had no reply for, because it was over or had panicked.
    pub fn unscripted(&self) -> Vec<usize> {
        lock(&self.shared.log).unscripted.clone()
    }

    /// How many replies the client did not stay for.
    pub fn departures(&self) -> usize {
        lock(&self.shared.log).departed
    }

    /// Waits until the client has left before the end of `n` replies, at most `limit`; how many it left by then.
    pub fn wait_for_departures(&self, n: usize, limit: Duration) -> usize {
        self.wait(limit, |log| log.departed >= n).departed
    }

    /// Keeps the last `n` requests only, for long runs. Numbers go on.
    pub fn keep(&self, n: usize) {
        let mut log = lock(&self.shared.log);
        log.keep = Some(n);
        log.forget();
    }

    fn wait(&self, limit: Duration, until: impl Fn(&Log) -> bool) -> MutexGuard<'_, Log> {
        let log = lock(&self.shared.log);
        let waited = self.shared.logged.wait_timeout_while(log, limit, |log| !until(log));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.now();
        // Wakes the thread that accepts; if it can't be reached it has ended already.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let threads = {
            let mut connections = lock(&self.shared.connections);
            for stream in connections.open.values() {
                let _ = stream.shutdown(Shutdown::Both);
            }
            std::mem::take(&mut connections.threads)
        };
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Log {
    fn forget(&mut self) {
        while self.keep.is_some_and(|keep| self.seen.len() > keep) {
            self.seen.pop_front();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for stream in listener.incoming() {
        if shared.stopping.is_set() {
            return;
        }
        let Ok(stream) = stream else { continue };
        let stream = Arc::new(stream);
        let mut connections = lock(&shared.connections);
        connections.threads.retain(|thread| !thread.is_finished());
        let id = connections.next;
        connections.next += 1;
        connections.open.insert(id, Arc::clone(&stream));
        let work = {
            let shared = Arc::clone(shared);
            move || {
                let sent = serve(&shared, &stream);
                // Before the socket is let go, so that a reset is one.
                lock(&shared.connections).open.remove(&id);
                if sent != Sent::Reset {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
        };
        match std::thread::Builder::new().name(format!("testkit-{id}")).spawn(work) {
            Ok(thread) => connections.threads.push(thread),
            Err(_) => {
                connections.open.remove(&id);
            }
        }
    }
}

/// Answers the requests of one connection.
fn serve(shared: &Shared, stream: &TcpStream) -> Sent {
    let _ = stream.set_nodelay(true);
    loop {
        let mut incoming = match Incoming::read(stream) {
            Ok(Some(incoming)) => incoming,
            Ok(None) => return Sent::Close,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let reply = fault::bad_request(&error.to_string());
                Plan::http(reply).send(stream, &shared.stopping, false);
                return Sent::Close;
            }
            Err(_) => return Sent::Left,
        };
        let (mut plan, bodiless) = shared.plan(&mut incoming);
        if !incoming.keep_alive {
            plan.set_header("connection", "close");
        }
        let sent = plan.send(stream, &shared.stopping, bodiless);
        if sent == Sent::Left {
            lock(&shared.log).departed += 1;
            shared.logged.notify_all();
        }
        if sent == Sent::Reset {
            return sent;
        }
        if incoming.take_rest(stream).is_err() || sent != Sent::Whole || !incoming.keep_alive {
            return Sent::Close;
        }
    }
}

impl Shared {
    /// Records the request and decides the reply.
    fn plan(&self, incoming: &mut Incoming) -> (Plan, bool) {
        let (path, query) = incoming.target.split_once('?').unwrap_or((&incoming.target, ""));
        let (path, query) = (path.to_owned(), query.to_owned());
        let mut seen = Seen {
            wire: Wire::Chat,
            method: std::mem::take(&mut incoming.method),
            path,
            query,
            headers: incoming.headers.clone(),
            body: std::mem::take(&mut incoming.body),
            number: 0,
            tokens: 0,
            cached: 0,
            parsed: Arc::new(OnceLock::new()),
        };
        let (asked, wire) = route::route(&seen);
        seen.wire = wire;
        let bodiless = seen.method == "HEAD";

        let mut stage = lock(&self.stage);
        let Stage { script, prompts } = &mut *stage;
        let measure = match asked {
            Asked::Answer | Asked::Count => prompts.measure(wire, seen.json()),
            Asked::Models | Asked::Nothing => Measure::default(),
        };
        (seen.tokens, seen.cached) = (measure.tokens, measure.cached);
        self.record(&mut seen);
        let plan = match asked {
            Asked::Answer if !seen.json().is_object() => {
                Plan::http(fault::invalid(&seen, "We could not parse the JSON body of your request."))
            }
            Asked::Answer => match self.ask(&seen, || script.reply(&seen)) {
                Ok(reply) => play(reply, &seen, prompts),
                Err(why) => Plan::http(fault::script_over(&seen, &why)),
            },
            Asked::Count | Asked::Models | Asked::Nothing => match catch(|| script.other(&seen)) {
                Ok(Some(reply)) => play(reply, &seen, prompts),
                Ok(None) => Plan::http(route::usual(&asked, &seen)),
                Err(why) => Plan::http(fault::script_over(&seen, &why)),
            },
        };
        if matches!((&asked, &plan.head), (Asked::Answer, Some((200, _)))) {
            prompts.remember(measure.bytes);
        }
        (plan, bodiless)
    }

    fn record(&self, seen: &mut Seen) {
        let mut log = lock(&self.log);
        seen.number = log.arrived;
        log.arrived += 1;
        log.seen.push_back(seen.clone());
        log.forget();
        self.logged.notify_all();
    }

    fn ask(&self, seen: &Seen, reply: impl FnOnce() -> Option<Reply>) -> Result<Reply, String> {
        let reply = catch(reply).and_then(|reply| reply.ok_or_else(|| "the script is over".to_owned()));
        if reply.is_err() {
            lock(&self.log).unscripted.push(seen.number);
        }
        reply
    }
}

fn play(reply: Reply, seen: &Seen, prompts: &mut Prompts) -> Plan {
    match reply {
        Reply::Answer(answer) => {
            let body = render::body(&answer, seen, prompts);
            Plan::answer(&answer, seen, body)
        }
        Reply::Fault(fault) => fault::play(&fault, fault::usual_answer(), seen, prompts),
        Reply::Spoilt(answer, fault) => fault::play(&fault, *answer, seen, prompts),
        Reply::Http(http) => Plan::http(http),
    }
}

/// Runs a part of the script; a panic is its message.
fn catch<T>(script: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(script)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("the script panicked: {}", words.unwrap_or("without a message"))
    })
}
