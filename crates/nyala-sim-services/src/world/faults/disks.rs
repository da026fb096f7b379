// SPDX-License-Identifier: Apache-2.0

//! Bits flip on disks, and disks are full for a while.

use crate::check::ledger;
use crate::kernel::clock::SECOND;
use crate::kernel::with;
use crate::random::Random;
use crate::world::cluster::{Cluster, Role, Server};

/// Space that a full disk has left at most, bytes.
const MAX_FREE_BYTES: u64 = 256 << 10;
/// A log is read right again after so long, which a service that refuses it waits for.
pub const REFUSES: u64 = 6 * SECOND;

/// A bit of a log that has flipped, while the service did not run.
pub struct Flip {
    server: usize,
    file: String,
    offset: usize,
    was: u8,
    /// How often the service had ended by itself before.
    ended: u64,
}

impl Flip {
    /// The disk is read right again, if the file is still there.
    pub fn back(self, cluster: &Cluster) {
        let server = &cluster.servers[self.server];
        let refused = server.ended > self.ended;
        let how = if refused { "refused" } else { "not needed so far" };
        ledger(|ledger| ledger.count(&format!("flipped bit of a log: {how}")));
        if server.rack.store.read(&self.file).is_some_and(|content| content.len() > self.offset) {
            server.rack.store.patch(&self.file, self.offset, &[self.was]);
        }
    }
}

/// Bits of a server's chunk files flip that are synced.
pub fn flip_chunks(random: &mut Random, server: &Server) {
    for _ in 0..=random.below(3) {
        let Some((file, offset)) = server.rack.flip_chunk(random) else { continue };
        tracing::info!("ACCIDENT a bit flips at {offset} of {file} of {}", server.name);
        ledger(|ledger| {
            ledger.count("fault: bit of a chunk file flips");
            ledger.damaged.insert(file.split('.').next().unwrap_or_default().to_owned());
        });
    }
}

/// A service is killed, and a bit of its log flips before it starts again.
pub fn flip_log(random: &mut Random, cluster: &mut Cluster, number: usize) -> Option<Flip> {
    let server = &cluster.servers[number];
    // A machine without power, or one whose service just ended, has its own accident.
    server.process?;
    let (ended, role) = (server.ended, server.role);
    let at = with(|kernel| kernel.sched.now);
    cluster.stop(number, false);
    let flipped = cluster.servers[number].rack.flip_log(random);
    cluster.start(number);
    let (file, offset, was) = flipped?;
    tracing::info!("ACCIDENT a bit flips at {offset} of {file} of {}", cluster.servers[number].name);
    ledger(|ledger| {
        ledger.count("fault: bit of a log flips");
        // What was not synced may be cut off.
        if role != Role::Mgmt {
            ledger.log_is_cut(at);
        }
    });
    Some(Flip { server: number, file, offset, was, ended })
}

/// A server's disks are full.
pub fn fill(random: &mut Random, server: &Server) {
    let (left, tables) = (random.below(MAX_FREE_BYTES), random.one_in(2));
    ledger(|ledger| ledger.count("fault: full disk"));
    tracing::info!("ACCIDENT {} has {left} bytes left", server.name);
    server.rack.fill(left, tables);
}
