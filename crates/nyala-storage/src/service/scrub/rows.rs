// SPDX-License-Identifier: Apache-2.0

//! What a target remembers of its scrub, in its store: `docs/format-storage.md`.
//!
//! **Failure model.** The last records may be lost with the machine: an older state is found. What cannot be read is said, and left out.

use crate::chunk_store::{ChunkError, group_key, parse_key, tag};
use crate::scrub::logic::damage::Damage;
use crate::scrub::logic::progress::Progress;
use nyala_store::{Batch, Store, StoreError, prefix_end};
use nyala_wire::WireError;
use nyala_wire::walk::{PIECE_BYTES, WalkAt};
use std::ops::{Bound, ControlFlow};

/// First byte of the keys; alone, that of the progress.
const TAG: u8 = tag::SCRUB;

/// What is to be remembered of a piece; absent: nothing any more.
pub(super) type Change = (WalkAt, Option<Damage>);

/// What was remembered; `name` says of which target, in the log.
pub(super) fn load(kv: &Store, name: &dyn std::fmt::Display, now_ms: u64) -> (Progress, Vec<(WalkAt, Damage)>) {
    let said = |error: StoreError| {
        tracing::warn!(target_id = %name, %error, "what was remembered of the scrub cannot be read");
    };
    let progress = kv.get(&[TAG]).unwrap_or_else(|error| {
        said(error);
        None
    });
    let (end, mut damage) = (prefix_end(&[TAG]), Vec::new());
    let scanned = kv.scan(Bound::Excluded(&[TAG]), Bound::Excluded(&end), &mut |key, value| {
        if let (Some((file, Some(group))), Some(found)) = (parse_key(key), Damage::decode(value)) {
            damage.push((WalkAt { file, offset: u64::from(group) * PIECE_BYTES }, found));
        }
        ControlFlow::Continue(())
    });
    scanned.unwrap_or_else(said);
    (Progress::recall(progress.as_deref(), now_ms), damage)
}

/// Remembers, as one record of the log.
pub(super) fn save(kv: &Store, progress: &Progress, changes: &[Change]) -> Result<(), WireError> {
    let written = kv.apply(batch(progress, changes)).and_then(|_| kv.flush());
    written.map(drop).map_err(|error| ChunkError::from(error).into())
}

fn batch(progress: &Progress, changes: &[Change]) -> Batch {
    let mut batch = Batch::new();
    batch.put([TAG], progress.encode());
    for (at, damage) in changes {
        // No chunk file is so long that its groups do not fit: walks give none beyond.
        let key = group_key(TAG, at.file, u32::try_from(at.offset / PIECE_BYTES).unwrap_or(u32::MAX));
        match damage {
            Some(damage) => batch.put(key, damage.encode()),
            None => batch.delete(key),
        };
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::logic::reason::Reason;
    use nyala_store::Options;
    use nyala_wire::InodeId;
    use nyala_wire::storage::ChunkFileId;

    #[test]
    fn what_is_remembered_is_found_and_what_is_nonsense_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let (kv, _) = Store::open(&dir.path().join("kv"), Options::default()).unwrap();
        assert_eq!(load(&kv, &"t", 5), (Progress::new(5), Vec::new()));
        let at = |inode| WalkAt { file: ChunkFileId { inode: InodeId(inode), index: 3 }, offset: 7 * PIECE_BYTES };
        let progress = Progress { at: Some(at(9)), bytes: 1 << 40, ..Progress::new(2) };
        let damage = Damage { bad: 6, found_ms: 4, reason: Reason::NoPlace };
        save(&kv, &progress, &[(at(1), Some(damage)), (at(2), Some(damage))]).unwrap();
        assert_eq!(load(&kv, &"t", 5), (progress, vec![(at(1), damage), (at(2), damage)]));
        save(&kv, &progress, &[(at(1), None)]).unwrap();
        kv.apply(Batch::new().put([TAG], [9]).put([TAG, 1, 2], [3])).unwrap();
        assert_eq!(load(&kv, &"t", 5), (Progress::new(5), vec![(at(2), damage)]), "it begins anew");
    }
}
