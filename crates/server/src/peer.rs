//! Identity of a connection's peer.
//!
//! Every user of this machine can connect to a port of the loopback interface. The kernel knows which user owns the client's socket:
//! that user is compared with ours.

use std::net::{IpAddr, SocketAddr};

/// Sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The user that this server runs as, or somebody who has that user's secret.
    Owner,
    /// Another user of this machine, or nobody knows who. Their requests are forwarded and nothing else.
    Stranger,
}

/// The two ends of an accepted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
}

impl Caller {
    /// Asks the kernel who owns the client's socket. It reads files: not for an async thread.
    pub(crate) fn find(ends: Ends) -> Self {
        if is_ours(ends) { Self::Owner } else { Self::Stranger }
    }
}

/// The user that unknown users are shown as in a user namespace: it says nothing about who that is.
#[cfg(target_os = "linux")]
const OVERFLOW_UID: u32 = 65_534;

#[cfg(target_os = "linux")]
fn is_ours(ends: Ends) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().filter_map(|path| std::fs::read(path).ok());
    let owner = tables.into_iter().find_map(|table| owner(&String::from_utf8_lossy(&table), ends));
    ours != OVERFLOW_UID && owner == Some(ours)
}

/// `lsof` shows the sockets of the user who starts it.
#[cfg(target_os = "macos")]
fn is_ours(ends: Ends) -> bool {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let port = format!("-iTCP:{}", ends.client.port());
    let listed = std::process::Command::new("/usr/sbin/lsof")
        .args(["-nP", "-a", "-u", &uid, &port, "-Fn"])
        .env_clear()
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .output();
    listed.is_ok_and(|listed| is_listed(&String::from_utf8_lossy(&listed.stdout), ends))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn is_ours(_: Ends) -> bool {
    false
}

/// The owner of the client's socket, by a table of the kernel's (`/proc/net/tcp`). A socket without an inode belongs to no process any
/// more, and is shown as root's.
#[cfg(any(target_os = "linux", test))]
fn owner(table: &str, ends: Ends) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let client = address(fields.nth(1)?)?;
        let server = address(fields.next()?)?;
        // Behind it: state, queues, timer, retransmits.
        let (uid, _, inode) = (fields.nth(4)?, fields.next()?, fields.next()?);
        let is_it = client == plain(ends.client) && server == plain(ends.server) && inode != "0";
        is_it.then(|| uid.parse().ok())?
    })
}

/// `0100007F:1F90`: words of 32 bits, each in the order of this machine.
#[cfg(any(target_os = "linux", test))]
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words =
        ip.as_bytes().chunks(8).map(|word| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok());
    let bytes: Vec<u8> =
        words.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::from(four),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
    };
    Some(plain(SocketAddr::new(ip, port)))
}

/// An IPv4 address as such, however its socket has it.
#[cfg(any(target_os = "linux", test))]
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(IpAddr::to_canonical(&address.ip()), address.port())
}

#[cfg(any(target_os = "macos", test))]
fn is_listed(lines: &str, ends: Ends) -> bool {
    let wanted = format!("n{}->{}", ends.client, ends.server);
    lines.lines().any(|line| line == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2253 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0100007F:2253 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 20 4 30 10 -1
   2: 0100007F:9C40 0100007F:2253 01 00000000:00000000 00:00000000 00000000  1001        0 13 1 0 20 4 30 10 -1
   3: 0100007F:9C41 0100007F:2253 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
   4: 0000000000000000FFFF00000100007F:9C42 0000000000000000FFFF00000100007F:2253 01 00000000:00000000 00:00000000 00000000  1002        0 15 1
   garbage
";

    fn ends(client: u16) -> Ends {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Ends { client: local(client), server: local(0x2253) }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_owner_is_that_of_the_clients_end() {
        assert_eq!(owner(TABLE, ends(0x9C40)), Some(1001));
        assert_eq!(owner(TABLE, ends(0x9C41)), None, "a socket that no process has is shown as root's");
        assert_eq!(owner(TABLE, ends(0x9C42)), Some(1002), "an IPv6 socket may talk IPv4");
        assert_eq!(owner(TABLE, ends(0x9C43)), None);
    }

    #[test]
    fn lsof_lists_the_clients_end() {
        let listed = "p17\nf5\nn127.0.0.1:40000->127.0.0.1:8787\n";
        let server = "127.0.0.1:8787".parse().unwrap();
        assert!(is_listed(listed, Ends { client: "127.0.0.1:40000".parse().unwrap(), server }));
        assert!(!is_listed(listed, Ends { client: "127.0.0.1:4000".parse().unwrap(), server }));
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn a_socket_of_this_process_is_ours() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let ends = Ends { client: client.local_addr().unwrap(), server: listener.local_addr().unwrap() };
        assert_eq!(Caller::find(ends), Caller::Owner);
        assert_eq!(Caller::find(Ends { client: ends.server, server: ends.client }), Caller::Stranger);
    }
}
