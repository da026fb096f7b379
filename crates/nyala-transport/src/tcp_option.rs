// SPDX-License-Identifier: Apache-2.0

//! Socket options of TCP that no library of ours has: how delivery goes, and the size of segments.
//!
//! **Failure model.** The kernel may be older and know fewer fields: those that it leaves out stay zero. A socket may be of
//! another kind: then there is nothing to tell.

use rustix::net::sockopt;
use std::io::Error;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// How the delivery of what was sent over a connection goes, as the kernel sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// The oldest of them was sent again so often, each time after a longer silence.
    pub retransmits: u8,
    /// Questions whether the peer's kernel is there, without an answer.
    pub probes: u8,
    /// Since anything was heard of the peer's kernel, milliseconds.
    pub silent_ms: u32,
    /// Since data came, milliseconds.
    pub no_data_ms: u32,
}

/// Sizes of packets on the way to the peer, as the kernel knows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PacketSizes {
    /// Largest packet that may be sent, bytes.
    pub path_mtu: u32,
    /// Most bytes of data in a packet that is sent: less where the peer takes only smaller ones.
    pub segment: u32,
}

/// Reads it; `None`: no TCP, or no connection.
pub(crate) fn packet_sizes(socket: &impl AsFd) -> Option<PacketSizes> {
    tcp_info(socket).map(|info| PacketSizes { path_mtu: info.tcpi_pmtu, segment: info.tcpi_snd_mss })
}

/// Reads it; `None`: no TCP, or no connection.
pub(crate) fn delivery(socket: &impl AsFd) -> Option<Delivery> {
    tcp_info(socket).map(|info| Delivery {
        unacked: info.tcpi_unacked,
        retransmits: info.tcpi_retransmits,
        probes: info.tcpi_probes,
        silent_ms: info.tcpi_last_ack_recv,
        no_data_ms: info.tcpi_last_data_recv,
    })
}

fn tcp_info(socket: &impl AsFd) -> Option<libc::tcp_info> {
    // SAFETY: the structure is made of integers, for which zeros are a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the descriptor is borrowed and open; the kernel writes at most `len` bytes to `info`, which is that long, and the
    // number of bytes to `len`.
    let done = unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut len) };
    (done == 0).then_some(info)
}

/// Before connecting: neither side sends more bytes than that in a segment.
pub(crate) fn limit_segments(socket: &impl AsFd, bytes: u16) -> std::io::Result<()> {
    let bytes = libc::c_int::from(bytes);
    let fd = socket.as_fd().as_raw_fd();
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is borrowed and open; the kernel reads `len` bytes of `bytes`, which is that long.
    let done = unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, (&raw const bytes).cast(), len) };
    if done == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// From now on closing throws away what was not delivered and tells the peer at once: for connections that deliver nothing.
pub(crate) fn reset_when_closed(socket: &impl AsFd) {
    // why ignored: without it, the kernel only holds what was not delivered for some time longer.
    let _ = sockopt::set_socket_linger(socket.as_fd(), Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn delivery_is_told_and_other_sockets_tell_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_server, _) = listener.accept().unwrap();
        client.write_all(b"hello").unwrap();
        let seen = (0..100).map(|_| {
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(5));
            delivery(&client).unwrap()
        });
        assert!(seen.into_iter().any(|now| now.unacked == 0 && now.retransmits == 0 && now.silent_ms < 1000));
        let sizes = packet_sizes(&client).unwrap();
        assert!(sizes.path_mtu > 1280 && sizes.segment > 0 && sizes.segment < sizes.path_mtu, "{sizes:?}");
        let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!((delivery(&other), packet_sizes(&other)), (None, None));
    }

    #[tokio::test]
    async fn segments_are_limited_in_both_directions() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        limit_segments(&socket, 536).unwrap();
        let client = socket.connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().unwrap();
        let mss = |fd: i32| {
            let (mut bytes, mut len) = (0_i32, 4);
            // SAFETY: the kernel writes at most four bytes to `bytes`.
            let done = unsafe {
                libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, (&raw mut bytes).cast(), &raw mut len)
            };
            assert_eq!(done, 0);
            bytes
        };
        assert!(mss(client.as_raw_fd()) <= 536 && mss(server.as_raw_fd()) <= 536);
    }
}
