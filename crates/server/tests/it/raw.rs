//! A provider of which every byte is known: what it is sent, what it sends, and when it notices that nobody listens.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// Serves connections one after the other, each by a closure that is given the request as it came.
pub(crate) struct Raw {
    pub(crate) address: SocketAddr,
    requests: Receiver<Vec<u8>>,
}

impl Raw {
    pub(crate) fn start(serve: impl Fn(&mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (told, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let Some(request) = read_request(&mut stream) else { continue };
                if told.send(request).is_err() {
                    return;
                }
                serve(&mut stream);
            }
        });
        Self { address, requests }
    }

    /// Answers every request with the same bytes.
    pub(crate) fn answering(bytes: &'static [u8]) -> Self {
        Self::start(move |stream| {
            let _ = stream.write_all(bytes);
        })
    }

    /// The next request that came, head and body.
    pub(crate) async fn request(self) -> (Self, String) {
        tokio::task::spawn_blocking(move || {
            let request = self.requests.recv().unwrap();
            (self, String::from_utf8_lossy(&request).into_owned())
        })
        .await
        .unwrap()
    }
}

/// A whole request with a `content-length`.
fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
        if bytes.len() - end - 4 >= length.unwrap_or(0) {
            return Some(bytes);
        }
    }
}
