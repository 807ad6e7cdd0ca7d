//! The loopback device of a new network namespace: it is there, but down.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;

/// `RTM_NEWLINK`: change a device.
const CHANGE_LINK: u16 = 16;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST_AND_ANSWER: u16 = 1 | 4;
/// `NLMSG_ERROR`: an answer, also of success.
const ANSWER: u16 = 2;
/// `IFF_UP`.
const UP: u32 = 1;
/// The loopback device is the first of every namespace.
const LOOPBACK: u32 = 1;
const LENGTH: u32 = 32;

/// Brings it up.
pub(super) fn bring_up() -> io::Result<()> {
    // Protocol 0 is the one for devices and routes.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 256];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let answer = answer.get(..length).unwrap_or_default();
    // A header of 16 bytes, its kind at 4; then the error, negated.
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, error) {
        (Some(ANSWER), Some(0)) => Ok(()),
        (Some(ANSWER), Some(error)) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        (_, _) => Err(io::Error::other("the kernel's answer is not understood")),
    }
}

/// `nlmsghdr` and `ifinfomsg`.
fn request() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(CHANGE_LINK.to_ne_bytes());
    bytes.extend(REQUEST_AND_ANSWER.to_ne_bytes());
    bytes.extend(1_u32.to_ne_bytes()); // sequence number
    bytes.extend(0_u32.to_ne_bytes()); // port
    bytes.extend([0; 4]); // family, padding, kind of device
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes()); // flags
    bytes.extend(UP.to_ne_bytes()); // which of them change
    bytes
}
