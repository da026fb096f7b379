// SPDX-License-Identifier: Apache-2.0

//! Records that several clients append to one file are there whole, once, and each client's in its order. Pure.

use super::{ClientId, Moment};
use std::collections::BTreeMap;

/// Length of a record, bytes; all of its words are its stamp.
pub const RECORD: usize = 64;

#[derive(Clone, Debug)]
struct Record {
    client: ClientId,
    acked: Option<Moment>,
    synced: bool,
    lost: bool,
}

/// All records, by stamp; stamps of a client grow.
#[derive(Default)]
pub struct Appended(BTreeMap<u64, Record>);

impl Appended {
    pub fn begin(&mut self, client: ClientId, stamp: u64) {
        self.0.insert(stamp, Record { client, acked: None, synced: false, lost: false });
    }

    pub fn done(&mut self, stamp: u64, now: Moment) {
        self.0.entry(stamp).and_modify(|record| record.acked = Some(now));
    }

    /// A sync by a client is done that began at `from`.
    pub fn synced(&mut self, client: ClientId, from: Moment) {
        let of =
            self.0.values_mut().filter(|record| record.client == client && record.acked.is_some_and(|at| at < from));
        of.filter(|record| !record.lost).for_each(|record| record.synced = true);
    }

    /// What a client, or any, has not synced may be gone.
    pub fn lost(&mut self, client: Option<ClientId>) {
        let of = self.0.values_mut().filter(|record| client.is_none_or(|client| record.client == client));
        of.filter(|record| !record.synced).for_each(|record| record.lost = true);
    }

    /// What is wrong with the file's content, read from `from` on.
    pub fn judge(&self, content: &[u8], from: Moment) -> Option<String> {
        let mut seen = BTreeMap::new();
        let mut last: BTreeMap<ClientId, u64> = BTreeMap::new();
        for (at, record) in content.chunks(RECORD).enumerate() {
            let words: Vec<u64> = record.chunks(8).map(word).collect();
            let stamp = words[0];
            let holes = words.iter().all(|word| *word == 0) && self.0.values().any(|record| record.lost);
            if holes {
                continue;
            }
            let torn = words.len() * 8 != RECORD || words.iter().any(|word| *word != stamp);
            match self.0.get(&stamp) {
                Some(known) if torn && known.lost => continue,
                _ if torn => return Some(format!("record {at} is torn: {words:?}")),
                None => return Some(format!("record {at}: {stamp} was never appended")),
                Some(known) => {
                    if let Some(before) = seen.insert(stamp, at) {
                        return Some(format!("{stamp} is there twice, as records {before} and {at}"));
                    }
                    let newest = last.entry(known.client).or_default();
                    if *newest > stamp {
                        return Some(format!("{newest} of client {} comes before {stamp}", known.client));
                    }
                    *newest = stamp;
                }
            }
        }
        let missing = self.0.iter().find(|(stamp, record)| {
            !record.lost && record.acked.is_some_and(|acked| acked < from) && !seen.contains_key(stamp)
        });
        missing.map(|(stamp, record)| format!("{stamp} is missing: {record:?}"))
    }
}

/// A number in a record or cell.
pub fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(stamps: &[u64]) -> Vec<u8> {
        stamps.iter().flat_map(|stamp| stamp.to_le_bytes().repeat(RECORD / 8)).collect()
    }

    #[test]
    fn whole_once_in_order_and_all() {
        let mut appended = Appended::default();
        for (client, stamp) in [(1, 5), (2, 6), (1, 7)] {
            appended.begin(client, stamp);
            appended.done(stamp, stamp);
        }
        assert_eq!(appended.judge(&records(&[6, 5, 7]), 9), None);
        for wrong in [&[5, 6][..], &[5, 5, 6, 7], &[7, 6, 5], &[5, 6, 7, 8], &[5, 6, 7, 0]] {
            assert!(appended.judge(&records(wrong), 9).is_some(), "{wrong:?}");
        }
        assert_eq!(appended.judge(&records(&[5, 6]), 7), None, "the third was under way");
        let mut torn = records(&[5, 6, 7]);
        torn[70] ^= 1;
        assert!(appended.judge(&torn, 9).is_some());
    }

    #[test]
    fn what_is_lost_may_be_missing_unless_it_was_synced() {
        let mut appended = Appended::default();
        for stamp in [5, 6] {
            appended.begin(1, stamp);
            appended.done(stamp, stamp);
        }
        appended.synced(1, 6);
        appended.lost(Some(1));
        assert_eq!(appended.judge(&records(&[5]), 9), None);
        assert!(appended.judge(&records(&[6]), 9).is_some());
    }
}
