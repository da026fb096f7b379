// SPDX-License-Identifier: Apache-2.0

//! What a mount counts, for whoever asks for the attribute `user.nyala.stats` of its root: one `name value` a line. It is
//! the mount's own and not the directory's: it is in no listing and nothing of it is stored.

use crate::abi::opcode::Opcode;
use nyala_client::ClientStats;
use nyala_metrics::catalog::mount as metrics;
use nyala_metrics::{ByKey, Counters, OTHERS, Page};
use std::fmt::Write;
use std::time::Duration;

/// The attribute's name.
pub const NAME: &[u8] = b"user.nyala.stats";

/// Numbers of requests are below this.
const KINDS: usize = 64;

/// Requests of the kernel, by kind and by user.
pub struct Requests {
    arrived: Counters,
    answered: nyala_metrics::Requests,
    users: ByKey<1>,
}

impl Default for Requests {
    fn default() -> Requests {
        let names =
            (0..KINDS as u32).map(|number| Opcode::from_number(number).map_or("unknown", Opcode::word)).collect();
        Requests {
            arrived: Counters::new(KINDS),
            answered: nyala_metrics::Requests::new(names),
            users: ByKey::default(),
        }
    }
}

impl Requests {
    /// One has come, from a program of this user.
    pub fn arrived(&self, opcode: u32, uid: u32) {
        if (opcode as usize) < KINDS {
            self.arrived.add(opcode as usize, 1);
        }
        self.users.add(uid.into(), [1]);
    }

    /// One is answered.
    pub fn answered(&self, opcode: u32, time: Duration, failed: bool) {
        if (opcode as usize) < KINDS {
            self.answered.answered(opcode as usize, time, failed);
        }
    }

    /// Metrics of the mount.
    pub fn write(&self, page: &mut Page, client: &ClientStats, map_version: u64) {
        self.answered.write(page, &metrics::REQUESTS, &metrics::ERRORS);
        let mut users = page.family(&metrics::USERS);
        for (uid, [count]) in self.users.get() {
            match uid {
                OTHERS => users.value(&[&nyala_metrics::OTHERS_WORD], count),
                uid => users.value(&[&uid], count),
            }
        }
        for (metric, value) in [
            (&metrics::READ, client.read_bytes),
            (&metrics::WRITTEN, client.written_bytes),
            (&metrics::META_REQUESTS, client.meta_requests),
            (&metrics::STORAGE_READS, client.storage_reads),
            (&metrics::STORAGE_WRITES, client.storage_writes),
            (&metrics::RETRIES, client.retries),
            (&metrics::REVOCATIONS, client.revocations),
            (&metrics::CHECKSUM_ERRORS, client.checksum_errors),
            (&metrics::READ_AHEAD_HITS, client.cache_hits),
            (&metrics::REBUILT_READS, client.rebuilt_reads),
            (&metrics::REPAIRED_FILES, client.repaired_files),
            (&metrics::DIRTY, client.dirty_bytes),
            (&metrics::READ_AHEAD, client.cached_bytes),
            (&metrics::MAP, map_version),
        ] {
            page.family(metric).value(&[], value);
        }
    }

    /// The attribute's value.
    pub fn text(&self, client: &ClientStats) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: u64| {
            // Writing into memory does not fail.
            let _ = writeln!(text, "{name} {value}");
        };
        let counts: Vec<u64> = (0..KINDS).map(|kind| self.arrived.get(kind)).collect();
        line("fuse.requests", counts.iter().sum());
        for (number, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            match Opcode::from_number(number as u32) {
                Some(opcode) => line(&format!("fuse.{}", opcode.word()), *count),
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
            ("rebuilt.reads", client.rebuilt_reads),
            ("repaired.files", client.repaired_files),
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
            requests.arrived(opcode, 1000 + opcode % 2);
        }
        let text = requests.text(&ClientStats { revocations: 7, ..ClientStats::default() });
        assert!(
            text.starts_with("fuse.requests 4\nfuse.lookup 1\nfuse.getattr 2\nfuse.63 1\nmeta.requests 0\n"),
            "{text}"
        );
        assert!(text.contains("meta.revocations 7\n"));
    }

    #[test]
    fn the_page_has_requests_by_kind_and_user() {
        let requests = Requests::default();
        for (opcode, uid) in [(3, 0), (3, 1000), (1, 1000), (9999, 7)] {
            requests.arrived(opcode, uid);
            requests.answered(opcode, Duration::from_micros(10), opcode == 1);
        }
        let mut page = Page::new();
        requests.write(&mut page, &ClientStats { retries: 3, ..ClientStats::default() }, 9);
        let families = nyala_metrics::parse::parse(&page.finish()).unwrap();
        assert_eq!(families.len(), metrics::ALL.len());
        let value = |name: &str, suffix: &str, label: (&str, &str)| {
            let mut samples = families[name].samples.iter().filter(|sample| sample.suffix == suffix);
            samples.find(|sample| sample.labels.get(label.0).is_some_and(|value| value == label.1)).unwrap().value
        };
        assert_eq!(value(metrics::REQUESTS.name, "_count", ("op", "getattr")), 2.0);
        assert_eq!(value(metrics::ERRORS.name, "_total", ("op", "lookup")), 1.0);
        assert_eq!(value(metrics::USERS.name, "_total", ("uid", "1000")), 2.0);
        assert_eq!(families[metrics::RETRIES.name].samples[0].value, 3.0);
    }
}
