// SPDX-License-Identifier: Apache-2.0

//! Ways to a peer: directly, with small packets, or through another server of the cluster.
//!
//! - [`delivery`]: whether what was sent over a connection arrives, as the kernel sees it.
//! - [`route`]: which way is taken, and when a better one is tried. Pure.
//! - [`directory`]: the servers that may pass a connection on.
//! - [`tunnel`]: asking one of them to.
//! - [`relay`]: what it does then, and for whom ([`relay_rule`]).
//!
//! **Failure model.** Between two hosts that are both well, packets may get lost: all of them, those of one direction, those above a
//! certain size, or all of them half of the time. Nobody but the two notices. TCP sends again after pauses that double, and
//! says nothing for minutes.
//!
//! - *All packets, or those of one direction.* What was sent is not acknowledged. The kernel acknowledges for a service that is slow,
//!   busy or stopped, so these are never mistaken for it; a host that has no power is, and then no other way leads there
//!   either. A connection that delivers nothing for about 0.7 s (3 s while it carries only requests that wait for news) is
//!   **stuck**: a new one is made directly and, at the same time, through other servers. The first that proves itself is used,
//!   and the stuck one is closed, so that its callers send again; the transport repeats nothing itself.
//! - *Large packets.* The same for requests: those are not acknowledged either. For replies only the server sees it: it closes a
//!   connection over which it has sent the same bytes four times. So a peer whose connection was stuck or lost while
//!   requests waited is **suspect**, and a new connection to it is tested with a message of many packets each way. If that does not
//!   come back, the connection is made again with segments of 1,200 bytes, then of 536. A service may be so busy that the test
//!   is late, though the handshake was not: then packets are small for some minutes for nothing, and through other
//!   servers if that is late too: slower, never wrong.
//! - *Now and then.* Connections are made anew as above instead of waiting for TCP's next attempt. Once another way is used, the
//!   direct one has to work without a break before it is taken again: for 2 s, and for twice as long each time it fails soon after.
//! - *A relay* is trusted with nothing: the handshake with the peer runs through it, and so do all records of an encrypted cluster. It may
//!   die, or lose its own way to the peer: it closes both ends, and another way is looked for.

pub(crate) mod delivery;
pub mod directory;
pub(crate) mod relay;
pub(crate) mod relay_rule;
pub(crate) mod route;
pub(crate) mod tunnel;
