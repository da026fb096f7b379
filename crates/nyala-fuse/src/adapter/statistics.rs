// SPDX-License-Identifier: Apache-2.0

//! What a mount counts, for whoever asks for the attribute `user.nyala.stats` of its root: one `name value` a line. It is
//! the mount's own and not the directory's: it is in no listing and nothing of it is stored.

use crate::abi::opcode::Opcode;
use nyala_client::ClientStats;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// The attribute's name.
pub const NAME: &[u8] = b"user.nyala.stats";

/// Numbers of requests are below this.
const KINDS: usize = 64;

/// Requests of the kernel, by kind.
pub struct Requests([AtomicU64; KINDS]);

impl Default for Requests {
    fn default() -> Requests {
        Requests(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Requests {
    /// One has come.
    pub fn arrived(&self, opcode: u32) {
        if let Some(count) = self.0.get(opcode as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The attribute's value.
    pub fn text(&self, client: &ClientStats) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: u64| {
            // Writing into memory does not fail.
            let _ = writeln!(text, "{name} {value}");
        };
        let counts: Vec<u64> = self.0.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        line("fuse.requests", counts.iter().sum());
        for (number, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            match Opcode::from_number(number as u32) {
                Some(opcode) => line(&format!("fuse.{opcode:?}").to_lowercase(), *count),
                None => line(&format!("fuse.{number}"), *count),
            }
        }
        for (name, value) in [
            ("meta.requests", client.meta_requests),
            ("meta.revocations", client.revocations),
            ("storage.reads", client.storage_reads),
            ("storage.writes", client.storage_writes),
            ("retries", client.retries),
            ("checksum.errors", client.checksum_errors),
            ("read.bytes", client.read_bytes),
            ("written.bytes", client.written_bytes),
            ("dirty.bytes", client.dirty_bytes),
            ("cached.bytes", client.cached_bytes),
            ("cache.hits", client.cache_hits),
        ] {
            line(name, value);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_kind() {
        let requests = Requests::default();
        for opcode in [3, 3, 1, 63, 9999] {
            requests.arrived(opcode);
        }
        let text = requests.text(&ClientStats { revocations: 7, ..ClientStats::default() });
        assert!(
            text.starts_with("fuse.requests 4\nfuse.lookup 1\nfuse.getattr 2\nfuse.63 1\nmeta.requests 0\n"),
            "{text}"
        );
        assert!(text.contains("meta.revocations 7\n"));
    }
}
