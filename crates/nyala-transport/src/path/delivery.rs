// SPDX-License-Identifier: Apache-2.0

//! Whether what was sent over a connection arrives.
//!
//! **Failure model.** As of [`super`]. One packet in a hundred may get lost, and its repetition too: only the second repetition, after 0.6 s on
//! a fast network and later on a slow one, counts. A peer that reads nothing still acknowledges. Looking costs a system call, and is done
//! only while something was sent that may be on its way.

use crate::tcp_option::{Delivery, delivery, reset_when_closed};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// Between two looks at a connection on which requests wait.
pub(crate) const LOOK: Duration = Duration::from_millis(200);
/// Between two looks at a connection on which replies are on their way.
const LOOK_AT_REPLIES: Duration = Duration::from_millis(400);
/// The same bytes were sent so often again, and requests are taken for stuck.
const STUCK: u8 = 2;
/// And replies for lost: later, since closing is the end of them.
const LOST: u8 = 3;
/// A peer's kernel that says nothing for so long, though it was asked.
const SILENT_MS: u32 = 2500;
/// A relayed connection over which nothing comes from either end for so long is closed.
const UNUSED_MS: u32 = 300_000;

impl Delivery {
    /// The same was sent again so many times. A packet that our own host does not let out is none that was sent: then the kernel
    /// asks, in the same rhythm, whether it may send. Who has no room to receive answers that each time.
    fn fails(&self, times: u8) -> bool {
        (self.unacked > 0 && self.retransmits >= times) || self.probes >= times
    }

    /// Asked, and silent. Only if it stays so: an answer may be on its way.
    fn is_silent(&self) -> bool {
        self.probes > 0 && self.silent_ms >= SILENT_MS
    }
}

/// Looks at a connection on which requests wait, every [`LOOK`].
#[derive(Debug, Default)]
pub(crate) struct Observer {
    silent: bool,
}

impl Observer {
    /// Whether requests are stuck.
    pub(crate) fn is_stuck(&mut self, socket: &TcpStream) -> bool {
        let now = delivery(socket).unwrap_or_default();
        let was_silent = std::mem::replace(&mut self.silent, now.is_silent());
        now.fails(STUCK) || (was_silent && self.silent)
    }
}

/// Looks at the accepting side of a connection whenever something was `sent`; returns, with the connection set to be closed at once,
/// when replies do not arrive.
pub(crate) async fn receiver_is_lost(socket: &TcpStream, sent: &Notify) -> std::io::Error {
    loop {
        sent.notified().await;
        loop {
            tokio::time::sleep(LOOK_AT_REPLIES).await;
            match delivery(socket) {
                Some(now) if now.fails(LOST) => {
                    reset_when_closed(socket);
                    return std::io::Error::other("what is sent does not arrive, though it was sent again and again");
                }
                Some(now) if now.unacked > 0 || now.probes > 0 => {}
                _ => break,
            }
        }
    }
}

/// Looks at both ends of a relayed connection; returns, with both set to be closed at once, when one of them is stuck, or when it is
/// not used any more.
pub(crate) async fn watch_relayed(ends: [&TcpStream; 2]) -> &'static str {
    let mut silent = false;
    let why = loop {
        tokio::time::sleep(LOOK_AT_REPLIES).await;
        let now = ends.map(|end| delivery(end).unwrap_or_default());
        if now.iter().any(|end| end.fails(STUCK)) || (silent && now.iter().any(Delivery::is_silent)) {
            break "packets of one end get lost";
        }
        if now.iter().all(|end| end.no_data_ms >= UNUSED_MS) {
            break "nothing comes over it";
        }
        silent = now.iter().any(Delivery::is_silent);
    };
    ends.into_iter().for_each(reset_when_closed);
    why
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slow_peer_and_a_lost_packet_look_like_is_no_failure() {
        let sent = Delivery { unacked: 3, ..Delivery::default() };
        assert!(!sent.fails(STUCK) && !Delivery { retransmits: 1, ..sent }.fails(STUCK));
        assert!(Delivery { retransmits: 2, ..sent }.fails(STUCK) && !Delivery { retransmits: 2, ..sent }.fails(LOST));
        assert!(!Delivery { retransmits: 5, ..Delivery::default() }.fails(STUCK), "nothing is on its way");
        assert!(Delivery { probes: 2, ..Delivery::default() }.fails(STUCK), "our own host lets nothing out");
        let asked = Delivery { probes: 1, silent_ms: 2500, ..Delivery::default() };
        assert!(asked.is_silent() && !Delivery { silent_ms: 2499, ..asked }.is_silent());
        assert!(!Delivery { probes: 0, silent_ms: 60_000, ..asked }.is_silent(), "nobody asked");
    }
}
