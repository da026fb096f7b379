// SPDX-License-Identifier: Apache-2.0

//! Rounds of samples as records of a segment, which is a file that holds the same rounds as a [`Block`](super::block::Block).
//!
//! **Failure model.** A segment may end in the middle of a record (torn), have other bytes than were written (lying), or be no
//! segment at all. Each record has a length and a checksum; reading ends at the first that does not hold, and says where. Nothing
//! that a length says is allocated before the bytes are there.
//!
//! A segment is `NYMON` and its version, one byte, then records: length u32, CRC-32C of what follows u32, and the payload: time
//! in milliseconds, number of series that are new in this segment and these, number of values and these. Numbers are
//! [varints](super::varint). A value is the distance of its series' number to the one before, and the difference to the series' last value.

use super::key_bytes::{put_key, take_key};
use super::series::{Key, LARGEST};
use super::varint::{put, take, unzigzag, zigzag};
use nyala_wire::checksum::crc32c;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a segment begins with; the last byte is the version.
pub const MAGIC: [u8; 6] = *b"NYMON\x01";
/// Longest record, bytes.
const LONGEST: usize = 32 << 20;

/// A round: its time, and values by series, in the order of the series.
pub type Round = (u64, Vec<(Arc<Key>, i64)>);

/// Writes and reads the records of one segment; knows what came before.
#[derive(Clone, Debug, Default)]
pub struct Codec {
    series: Vec<(Arc<Key>, i64)>,
    numbers: BTreeMap<Arc<Key>, usize>,
}

impl Codec {
    /// The next record.
    pub fn encode(&mut self, time_ms: u64, values: &[(Arc<Key>, i64)]) -> Vec<u8> {
        let (mut new, mut numbered) = (Vec::new(), Vec::with_capacity(values.len()));
        for (key, value) in values {
            let number = *self.numbers.entry(key.clone()).or_insert_with(|| {
                new.push(key.clone());
                self.series.push((key.clone(), 0));
                self.series.len() - 1
            });
            numbered.push((number, *value));
        }
        numbered.sort_unstable();
        numbered.dedup_by_key(|(number, _)| *number);
        let mut payload = Vec::new();
        put(&mut payload, time_ms);
        put(&mut payload, new.len() as u64);
        new.iter().for_each(|key| put_key(&mut payload, key));
        put(&mut payload, numbered.len() as u64);
        let mut next = 0;
        for (number, value) in numbered {
            put(&mut payload, (number - next) as u64);
            put(&mut payload, zigzag(value - self.series[number].1));
            (next, self.series[number].1) = (number + 1, value);
        }
        let mut record = Vec::with_capacity(payload.len() + 8);
        record.extend((payload.len() as u32).to_le_bytes());
        record.extend(crc32c(&payload).to_le_bytes());
        record.extend(payload);
        record
    }

    /// The record at the front, and what follows it; none if it is not whole, and then this cannot go on.
    fn decode<'a>(&mut self, bytes: &'a [u8]) -> Option<(Round, &'a [u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (crc, rest) = rest.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST {
            return None;
        }
        let (payload, rest) = rest.split_at_checked(length)?;
        if crc32c(payload) != u32::from_le_bytes(*crc) {
            return None;
        }
        Some((self.payload(payload)?, rest))
    }

    fn payload(&mut self, mut bytes: &[u8]) -> Option<Round> {
        let from = &mut bytes;
        let time_ms = take(from)?;
        for _ in 0..take(from)? {
            let key = Arc::new(take_key(from)?);
            if self.numbers.insert(key.clone(), self.series.len()).is_some() {
                return None;
            }
            self.series.push((key, 0));
        }
        let mut values = Vec::new();
        let mut next = 0_usize;
        for _ in 0..take(from)? {
            let number = next.checked_add(usize::try_from(take(from)?).ok()?)?;
            let difference = unzigzag(take(from)?);
            let (key, last) = self.series.get_mut(number)?;
            let value = last.checked_add(difference).filter(|value| (-LARGEST..=LARGEST).contains(value))?;
            (*last, next) = (value, number + 1);
            values.push((key.clone(), value));
        }
        values.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        from.is_empty().then_some((time_ms, values))
    }
}

/// The rounds of a segment, how to go on with it, and how many of its bytes are whole.
pub fn read_segment(bytes: &[u8]) -> (Vec<Round>, Codec, usize) {
    let (mut rounds, mut codec) = (Vec::new(), Codec::default());
    let Some(mut rest) = bytes.strip_prefix(&MAGIC) else { return (rounds, codec, 0) };
    while let Some((round, after)) = codec.decode(rest) {
        rounds.push(round);
        rest = after;
    }
    match bytes.len() - rest.len() {
        good if rest.is_empty() => (rounds, codec, good),
        // A record that makes no sense has left something behind in the codec.
        good => read_segment(&bytes[..good]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::series::{Field, Kind};
    use nyala_metrics::catalog::Source;
    use proptest::prelude::*;

    fn key(number: u8) -> Arc<Key> {
        Arc::new(Key {
            metric: format!("m{}", number / 4),
            service: Source::ALL[usize::from(number) % 4],
            instance: "meta1".into(),
            labels: vec![("op".into(), format!("o\"{number}"))],
            field: Field::ALL[usize::from(number) % 5],
            kind: Kind::ALL[usize::from(number) % 3],
            micros: number.is_multiple_of(2),
        })
    }

    fn rounds() -> impl Strategy<Value = Vec<BTreeMap<u8, i64>>> {
        let value = prop_oneof![-3_i64..1000, -LARGEST..=LARGEST];
        prop::collection::vec(prop::collection::btree_map(0_u8..20, value, 0..8), 0..12)
    }

    fn round(time: usize, values: &BTreeMap<u8, i64>) -> Round {
        let mut values: Vec<_> = values.iter().map(|(number, value)| (key(*number), *value)).collect();
        values.sort();
        (time as u64 * 5000, values)
    }

    proptest! {
        #[test]
        fn a_segment_comes_back_up_to_where_it_is_torn(rounds in rounds(), cut: prop::sample::Index, flip: Option<(prop::sample::Index, u8)>) {
            let rounds: Vec<Round> = rounds.iter().enumerate().map(|(time, values)| round(time, values)).collect();
            let (mut segment, mut codec, mut ends) = (MAGIC.to_vec(), Codec::default(), vec![MAGIC.len()]);
            for (time, values) in &rounds {
                segment.extend(codec.encode(*time, values));
                ends.push(segment.len());
            }
            prop_assert_eq!(&read_segment(&segment).0, &rounds);
            let cut = cut.index(segment.len() + 1);
            segment.truncate(cut);
            let mut whole = cut;
            if let Some((at, bit)) = flip && cut > 0 {
                whole = at.index(cut);
                segment[whole] ^= 1 << (bit % 8);
            }
            let (read, mut codec, good) = read_segment(&segment);
            let expected = ends.iter().filter(|end| **end <= whole).count();
            prop_assert_eq!(&read[..], &rounds[..expected.saturating_sub(1)]);
            prop_assert_eq!(good, if expected == 0 { 0 } else { ends[expected - 1] });
            // It goes on where it was cut.
            if expected > 0 {
                segment.truncate(good);
                let more = round(99, &BTreeMap::from([(3, 7), (19, -1)]));
                segment.extend(codec.encode(more.0, &more.1));
                let read = read_segment(&segment).0;
                prop_assert_eq!((read.len(), read.last()), (expected, Some(&more)));
            }
        }

        #[test]
        fn any_bytes_are_read(mut bytes: Vec<u8>, sound: bool) {
            if sound {
                let mut record = MAGIC.to_vec();
                record.extend((bytes.len() as u32).to_le_bytes());
                record.extend(crc32c(&bytes).to_le_bytes());
                record.append(&mut bytes);
                bytes = record;
            }
            read_segment(&bytes);
        }
    }
}
