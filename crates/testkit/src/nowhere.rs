//! An address that refuses.

use std::io;
use std::net::{TcpListener, TcpStream};

/// A loopback address where connections are refused for as long as this value lives.
///
/// The port belongs to a socket that does not listen, so no other test can come to listen on it meanwhile.
#[derive(Debug)]
pub struct Nowhere {
    held: TcpStream,
    _peer: TcpListener,
}

impl Nowhere {
    /// Takes a port.
    pub fn new() -> io::Result<Self> {
        let peer = TcpListener::bind(("127.0.0.1", 0))?;
        Ok(Self { held: TcpStream::connect(peer.local_addr()?)?, _peer: peer })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}", self.held.local_addr()?))
    }
}
