// SPDX-License-Identifier: Apache-2.0

//! Clocks of the servers' hosts, against this host's. Failure model: see the parent module.

use super::super::network::local_addresses;
use super::servers::{CONNECT, Server};
use nyala_transport::{Connection, Request};
use nyala_tune::links::HostClock;
use nyala_wire::{Time, codec, message_type};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How often a clock is asked; the answer with the shortest round trip counts.
const ASKED: usize = 5;

/// The clock of each host, and whose could not be asked.
pub(super) async fn compare(servers: &[Server], host_of: &[usize]) -> (Vec<HostClock>, Vec<String>) {
    let own = local_addresses();
    let (mut clocks, mut silent) = (Vec::new(), Vec::new());
    let (mut asked, mut own_is_asked) = (Vec::new(), false);
    for (server, host) in servers.iter().zip(host_of) {
        let Some(connection) = server.connection.as_ref().filter(|_| !asked.contains(host)) else { continue };
        match clock(connection).await {
            Some((ahead_us, error_us)) => {
                clocks.push(HostClock { name: server.name.clone(), ahead_us, error_us });
                asked.push(*host);
                own_is_asked |= server.addresses.iter().any(|address| own.contains(&address.ip()));
            }
            None => silent.push(format!("clock of {}: it does not say; it may be older", server.name)),
        }
    }
    if !clocks.is_empty() && !own_is_asked {
        clocks.insert(0, HostClock { name: "this host".into(), ahead_us: 0, error_us: 0 });
    }
    (clocks, silent)
}

/// How far a server's clock is ahead of this host's, and by how much that may be wrong, microseconds.
async fn clock(connection: &Connection) -> Option<(i64, u64)> {
    let mut best: Option<(i64, u64)> = None;
    for _ in 0..ASKED {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_micros() as i64;
        let began = Instant::now();
        let request = Request::new(message_type::CLOCK, Vec::new()).with_timeout(CONNECT);
        let reply = connection.call(request).await.ok().filter(|reply| !reply.is_error())?;
        let half = (began.elapsed().as_micros() / 2) as u64;
        let time: Time = codec::decode(&reply.body).ok()?;
        let there = time.seconds.saturating_mul(1_000_000).saturating_add(i64::from(time.nanos / 1000));
        if best.is_none_or(|(_, error)| half < error) {
            best = Some((there.saturating_sub(before).saturating_sub(half as i64), half));
        }
    }
    best
}
