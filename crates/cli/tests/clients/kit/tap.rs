//! A tap on the line between a client and the proxy: what the client sent, to the byte.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A tap. It passes requests on one by one, over a connection each, and answers back as they come.
#[derive(Clone)]
pub(super) struct Tap {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
}

/// A request as it left the client.
#[derive(Clone)]
pub(crate) struct Heard {
    /// Path and query.
    pub(crate) target: String,
    pub(crate) body: Vec<u8>,
}

impl Tap {
    /// Between whoever connects and this address. Its threads end with the process, which is the test's own.
    pub(super) fn before(proxy: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let tap = Self { address: listener.local_addr().unwrap(), heard: Arc::default() };
        let listening = tap.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let tap = listening.clone();
                std::thread::spawn(move || {
                    // A connection that breaks is the client's to notice.
                    let _ = tap.pass(&client, proxy);
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        tap
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that the client sent so far.
    pub(super) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    fn pass(&self, client: &TcpStream, proxy: SocketAddr) -> io::Result<()> {
        let mut from_client = BufReader::new(client);
        let mut head = Vec::new();
        let (mut length, mut target) = (0, String::new());
        loop {
            let mut line = String::new();
            if from_client.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let lower = line.to_ascii_lowercase();
            if target.is_empty() {
                target = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            assert!(!lower.starts_with("transfer-encoding:"), "clients say how long their requests are");
            match lower.split(':').next() {
                Some("host") => write!(head, "Host: {proxy}\r\n")?,
                Some("connection") => {}
                _ if line == "\r\n" => break,
                _ => head.extend_from_slice(line.as_bytes()),
            }
        }
        let mut body = vec![0; length];
        from_client.read_exact(&mut body)?;
        let mut to_proxy = TcpStream::connect(proxy)?;
        to_proxy.write_all(&[&head, b"Connection: close\r\n\r\n".as_slice(), &body].concat())?;
        self.heard.lock().unwrap().push(Heard { target, body });
        let mut piece = [0; 1 << 16];
        loop {
            match to_proxy.read(&mut piece)? {
                0 => return Ok(()),
                read => (&*client).write_all(&piece[..read])?,
            }
        }
    }
}
