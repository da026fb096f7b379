// SPDX-License-Identifier: Apache-2.0

//! What members hold, compared a range of keys at a time, as of the same record ([`nyala_replica::log`]). Rows about the log itself are
//! each member's own, and do not count.
//!
//! Failure model: a member may answer late or never, or be called good no more: then it has not said, and whoever asks may ask again.
//! One range is compared at a time; who gives up frees the place. A table that cannot be read is an error in the log of the service
//! whose it is, and no answer. Memory: nothing but the sums.

use super::rows;
use crate::tables::Tables;
use nyala_replica::log::Summed;
use nyala_store::StoreError;
use nyala_wire::TargetId;
use nyala_wire::check::MemberCompared;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::ops::{Bound, ControlFlow};
use std::time::Duration;
use tokio::sync::mpsc;

/// A range ends behind so many bytes.
pub(super) const RANGE_BYTES: usize = 256 << 10;
/// Members have so long to answer.
const ANSWER: Duration = Duration::from_secs(3);
/// Keys of the hash, which all members have to compute alike.
const HASH_KEYS: (u64, u64) = (0x6e79_616c_612d_636d, 0x702d_726f_7773_2d31);

/// An answer: the member, and what it holds, if it could say.
pub type Answer = (TargetId, Option<Summed>);

/// The comparison that is under way.
#[derive(Debug, Default)]
pub struct Comparing {
    number: u64,
    answers: Option<mpsc::UnboundedSender<Answer>>,
}

impl Comparing {
    /// The next comparison, if none is under way that somebody waits for.
    pub fn begin(&mut self) -> Option<(u64, mpsc::UnboundedReceiver<Answer>)> {
        if self.answers.as_ref().is_some_and(|answers| !answers.is_closed()) {
            return None;
        }
        let (answers, heard) = mpsc::unbounded_channel();
        (self.number, self.answers) = (self.number + 1, Some(answers));
        Some((self.number, heard))
    }

    /// A member has answered.
    pub fn heard(&self, from: TargetId, number: u64, sum: Option<Summed>) {
        if let Some(answers) = self.answers.as_ref().filter(|_| number == self.number) {
            // Nobody waits for it any more.
            let _ = answers.send((from, sum));
        }
    }
}

/// Takes in what members say of a range of which the primary holds this, until all have said something, or may not any more.
pub(super) async fn answers(mut heard: mpsc::UnboundedReceiver<Answer>, mine: Summed, members: &mut [MemberCompared]) {
    let all = async {
        while members.iter().any(|member| member.equal.is_none())
            && let Some((from, Some(sum))) = heard.recv().await
        {
            let member = members.iter_mut().find(|member| member.target == from);
            member.into_iter().for_each(|member| member.equal = Some(sum == mine));
        }
    };
    // Who has not answered by then has not said.
    let _ = tokio::time::timeout(ANSWER, all).await;
}

/// Sums up the rows of a range, up to so many rows and bytes; and the key behind them, empty if there are no more.
pub(super) fn sum_up(
    tables: &Tables,
    (from, to): (&[u8], &[u8]),
    most: u32,
    bytes: usize,
) -> Result<(Summed, Vec<u8>), StoreError> {
    let (mut rows, mut seen, mut next) = (0, 0, Vec::new());
    let mut hash = SipHasher24::new_with_keys(HASH_KEYS.0, HASH_KEYS.1);
    let end = if to.is_empty() { Bound::Unbounded } else { Bound::Excluded(to) };
    tables.store.scan(Bound::Included(from), end, &mut |key, value| {
        if rows::is_own(key) {
            return ControlFlow::Continue(());
        }
        if rows == most || seen >= bytes {
            next = key.to_vec();
            return ControlFlow::Break(());
        }
        (rows, seen) = (rows + 1, seen + key.len() + value.len());
        for part in [key, value] {
            hash.write(&(part.len() as u32).to_le_bytes());
            hash.write(part);
        }
        ControlFlow::Continue(())
    })?;
    Ok((Summed { rows, hash: hash.finish() }, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_kv::Batch;
    use nyala_store::{Options, Store};

    fn tables(dir: &std::path::Path, rows: &[(&[u8], &[u8])]) -> Tables {
        let (store, _) = Store::open(dir, Options::default()).unwrap();
        let mut batch = Batch::new();
        for (key, value) in rows {
            batch.put(key, value);
        }
        store.apply(batch).unwrap();
        Tables::new(store).unwrap()
    }

    #[test]
    fn sums_differ_where_rows_do_and_own_rows_do_not_count() {
        let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let rows: [(&[u8], &[u8]); 4] = [(b"E1", b"a"), (b"E2", b""), (b"I1", b"xy"), (b"Qi", b"1")];
        let one = tables(dirs[0].path(), &rows);
        let own = tables(dirs[1].path(), &[&rows[..3], &[(b"Qi", b"2"), (b"Qg", b"3")]].concat());
        let other = tables(dirs[2].path(), &[(b"E1", b""), (b"E2", b"a"), (b"I1", b"xy")]);
        let all = |tables: &Tables| sum_up(tables, (b"", b""), 100, 1000).unwrap();
        assert_eq!((all(&one), all(&one).0.rows, &all(&one).1[..]), (all(&own), 3, &b""[..]));
        assert_ne!(all(&one).0, all(&other).0);
        let part = |tables, from: &[u8], to: &[u8]| sum_up(tables, (from, to), 100, 1000).unwrap().0;
        assert_eq!(part(&one, b"F", b""), part(&other, b"F", b""));
        // Up to so many rows, or bytes; a first one always.
        assert_eq!(sum_up(&one, (b"", b""), 1, 1000).unwrap().1, b"E2");
        assert_eq!(sum_up(&one, (b"", b""), 100, 5).unwrap().1, b"I1");
        assert_eq!(part(&one, b"", b"E2"), sum_up(&one, (b"", b""), 1, 1000).unwrap().0);
    }

    #[test]
    fn one_comparison_at_a_time_and_only_its_answers_count() {
        let mut comparing = Comparing::default();
        let (number, mut heard) = comparing.begin().unwrap();
        assert!(comparing.begin().is_none());
        let sum = Some(Summed { rows: 1, hash: 2 });
        comparing.heard(TargetId(3), number, sum);
        comparing.heard(TargetId(4), number + 1, sum);
        assert_eq!((heard.try_recv().ok(), heard.try_recv().ok()), (Some((TargetId(3), sum)), None));
        drop(heard);
        assert_ne!(comparing.begin().unwrap().0, number, "nobody waited any more");
    }
}
