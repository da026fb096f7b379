// SPDX-License-Identifier: Apache-2.0

//! Which changes a metadata server has on disk.

use nyala_wire::frame::Header;
use nyala_wire::meta::MetaOp;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Log {
    pub last: u64,
    pub durable: u64,
    /// Where each run began.
    pub began: BTreeMap<u32, u64>,
}

impl Log {
    pub fn done(&mut self, op: &MetaOp) {
        self.last += 1;
        let sync = match op {
            MetaOp::Commit(commit) => commit.sync,
            MetaOp::PutInline(put) => put.sync,
            _ => false,
        };
        if sync {
            self.durable = self.last;
        }
    }

    pub fn survived(&self, run: u32) -> u64 {
        self.began.range(run + 1..).map(|(_, began)| *began).min().unwrap_or(u64::MAX)
    }

    /// What a reply's header says of it.
    pub fn stamp(&self, header: &mut Header) {
        header.run = *self.began.last_key_value().unwrap().0;
        header.log_position = self.durable;
        header.unsynced_records = (self.last - self.durable) as u32;
    }
}
