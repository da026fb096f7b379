// SPDX-License-Identifier: Apache-2.0

//! How fast each host sends to each other one. Failure model: see the parent module.

use super::ask::{SpeedTest, figures, test};
use super::servers::Server;
use crate::progress::{Counted, during};
use nyala_tune::links::{Link, rounds};
use std::cell::Cell;

/// Measures the way of each host to each other one, once, over the first address that was reached.
pub(super) async fn measure(servers: &[Server], host_of: &[usize], speed: SpeedTest, links: &mut [Link]) {
    let count = host_of.iter().max().map_or(0, |most| most + 1);
    let server_of = |name: &str| servers.iter().position(|server| server.name == name);
    let way = |from: usize, to: usize, links: &[Link]| {
        links.iter().position(|link| {
            let ends = server_of(&link.from).zip(server_of(&link.to));
            link.found.as_ref().is_ok_and(|found| found.large)
                && ends.is_some_and(|(one, other)| (host_of[one], host_of[other]) == (from, to))
        })
    };
    let rounds = rounds(count);
    let (done, total) = (Cell::new(0), rounds.iter().map(|round| round.len() as u64).sum());
    let work = async {
        for round in rounds {
            let mut tasks = Vec::new();
            for at in round.iter().filter_map(|(from, to)| way(*from, *to, links)) {
                let connection = server_of(&links[at].from).and_then(|from| servers[from].connection.clone());
                let (Some(connection), Ok(to)) = (connection, links[at].address.parse()) else { continue };
                tasks.push((at, tokio::spawn(async move { test(&connection, to, speed).await })));
            }
            for (at, task) in tasks {
                if let (Ok(Ok(reply)), Ok(found)) = (task.await, &mut links[at].found) {
                    found.bytes_per_s = figures(&reply).bytes_per_s;
                }
            }
            done.set(done.get() + round.len() as u64);
        }
    };
    during("speeds", Counted::Things("ways"), || (done.get(), Some(total)), work).await;
}
