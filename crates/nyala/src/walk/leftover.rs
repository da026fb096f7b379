// SPDX-License-Identifier: Apache-2.0

//! Chunk files that no file needs, for `nyala scrub --leftovers`: reported, and removed if the administrator says so.
//!
//! **Failure model.** What a look at metadata says of a chunk file, and what it may mean:
//!
//! | Metadata says | Leftover | But also |
//! |---|---|---|
//! | no such inode | a power cut took its creation back, after storage had its chunks | a removal whose chunks go in a moment; metadata restored from an old copy: the only copy of the data |
//! | the content is inline | the client died while it moved the content to storage | a move under way |
//! | the layout has no such chunk file | the client died while it moved the data ([`nyala_client::Client::move_data`]) | damage; a move under way, or its removals |
//! | nothing, or another error | | metadata is away: nothing is known |
//!
//! Removals and moves under way end, so a chunk file counts when two looks, `grace` apart, both find no use for it and
//! it still has data after the second. A restored copy looks the same at any number of looks: that is why an
//! administrator decides. Beside
//! inline content only what metadata itself knows of is cut, under a delegation that keeps movers out. Memory is bounded: of more than [`LISTED`] candidates the rest is only counted.

use super::Look;
use super::found::{Leftover, Reason};
use crate::exit::Failure;
use nyala_wire::meta::EntryInfo;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use nyala_wire::walk::{WalkAt, WalkPiece};
use nyala_wire::{ErrorCode, TargetId};
use std::time::{Duration, Instant};

/// Chunk files that are looked at a second time.
const LISTED: usize = 10_000;

/// A chunk file that the first look found no use for.
#[derive(Clone, Debug)]
struct Candidate {
    /// Its first piece.
    at: WalkAt,
    bytes: u64,
    seen: Instant,
}

/// Chunk files of one target that a first look found no use for.
#[derive(Debug, Default)]
pub struct Candidates {
    /// The chunk file that was asked about last, and whether it is the last candidate.
    last: Option<(ChunkFileId, bool)>,
    found: Vec<Candidate>,
    /// Candidates beyond those that are listed.
    pub more: u64,
}

/// Why no file needs the chunk file `index` of an inode. `info`: what metadata says of the inode; absent: it knows none.
fn useless(info: Option<&EntryInfo>, index: u16) -> Option<Reason> {
    let Some(info) = info else { return Some(Reason::NoFile) };
    match (info.inline, info.layout.as_ref().is_some_and(|layout| layout.has(index))) {
        (_, false) => Some(Reason::NoStripe),
        (true, true) => Some(Reason::Inline),
        (false, true) => None,
    }
}

impl Candidates {
    /// Whether metadata is to be asked about this piece's chunk file; counts the piece if it was.
    fn is_new(&mut self, piece: &WalkPiece) -> bool {
        match (self.last, self.found.last_mut()) {
            (Some((file, true)), Some(candidate)) if file == piece.at.file => candidate.bytes += bytes(piece),
            (Some((file, _)), _) if file == piece.at.file => {}
            _ => return true,
        }
        false
    }

    /// Takes what the first look said.
    fn take(&mut self, piece: &WalkPiece, reason: Option<Reason>, now: Instant) {
        let listed = reason.is_some() && self.found.len() < LISTED;
        self.more += u64::from(reason.is_some() && !listed);
        self.last = Some((piece.at.file, listed));
        if listed {
            self.found.push(Candidate { at: piece.at, bytes: bytes(piece), seen: now });
        }
    }

    /// Asks metadata about a piece's chunk file, once for each file.
    pub async fn first_look(&mut self, look: &Look, piece: &WalkPiece) -> Result<(), Failure> {
        if self.is_new(piece) {
            let reason = ask(look, piece.at.file).await?;
            self.take(piece, reason, Instant::now());
        }
        Ok(())
    }

    /// Looks at all candidates again, each `grace` after its first look. `again` reads a piece as it is now.
    pub async fn second_look(
        self,
        look: &Look,
        grace: Duration,
        again: impl AsyncFn(WalkAt) -> Result<WalkPiece, Failure>,
    ) -> Result<Vec<Leftover>, Failure> {
        let mut all = Vec::new();
        for candidate in self.found {
            tokio::time::sleep_until((candidate.seen + grace).into()).await;
            let reason = ask(look, candidate.at.file).await?;
            // After metadata was asked: a removal that it had forgotten by then has ended here.
            let piece = again(candidate.at).await?;
            all.extend(confirmed(&candidate, reason, &piece));
        }
        Ok(all)
    }
}

/// What a candidate is after the second look.
fn confirmed(candidate: &Candidate, reason: Option<Reason>, piece: &WalkPiece) -> Option<Leftover> {
    let file = candidate.at.file;
    let (inode, inode_number) = (file.inode.to_string(), file.inode.0);
    let (index, bytes) = (file.index, candidate.bytes);
    let leftover = |reason| Leftover { inode, inode_number, index, bytes, reason, removed: false, kept: None };
    reason.filter(|_| piece.present != 0 || piece.bad != 0).map(leftover)
}

/// Removes what was found on a target, where that is safe.
pub async fn remove(look: &Look, target: TargetId, found: &mut [Leftover]) {
    for left in found {
        let file = left.file();
        let outcome = match left.reason {
            Reason::NoFile => look.client.remove_chunk_file(file, target).await.map(|()| None),
            Reason::Inline => {
                let why =
                    "its metadata server knows of no client that left it; it goes when the file grows or is removed";
                look.client.cut_beside_inline(file.inode).await.map(|cut| (!cut).then_some(why))
            }
            Reason::NoStripe => Ok(Some(
                "the file exists, and its layout may be what is damaged: nyala fsck --repair --remove-chunks looks at both",
            )),
        };
        left.kept = outcome.map_or_else(|error| Some(error.to_string()), |kept| kept.map(str::to_owned));
        left.removed = left.kept.is_none();
    }
}

fn bytes(piece: &WalkPiece) -> u64 {
    u64::from(piece.present.count_ones()) * BLOCK_BYTES
}

async fn ask(look: &Look, file: ChunkFileId) -> Result<Option<Reason>, Failure> {
    match look.client.entry_info(file.inode).await {
        Err(error) if error.is(ErrorCode::NOT_FOUND) || error.is(ErrorCode::STALE) => Ok(useless(None, file.index)),
        other => Ok(useless(Some(&other?), file.index)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::entry_info::tests::info;
    use nyala_wire::{FileKind, InodeId, Layout, Pattern, TargetId};

    fn piece(inode: u64, offset: u64, present: u64) -> WalkPiece {
        let file = ChunkFileId { inode: InodeId(inode), index: 0 };
        WalkPiece { present, ..WalkPiece::empty(WalkAt { file, offset }) }
    }

    fn file(inline: bool) -> EntryInfo {
        let layout = Layout {
            pattern: Pattern::Raid0,
            chunk_bytes: 1 << 20,
            targets: vec![TargetId(101), TargetId(201)],
            moves: 0,
            code: None,
        };
        EntryInfo { layout: Some(layout), inline, ..info(FileKind::File) }
    }

    #[test]
    fn a_chunk_file_is_useless_without_inode_or_stripe_and_beside_inline_content() {
        assert_eq!(useless(None, 0), Some(Reason::NoFile));
        assert_eq!(useless(Some(&file(true)), 1), Some(Reason::Inline));
        assert_eq!(useless(Some(&file(false)), 2), Some(Reason::NoStripe));
        assert_eq!(useless(Some(&info(FileKind::Directory)), 0), Some(Reason::NoStripe));
        assert_eq!((useless(Some(&file(false)), 0), useless(Some(&file(false)), 1)), (None, None));
    }

    #[test]
    fn what_ended_between_two_looks_is_no_leftover() {
        let candidate = Candidate { at: piece(7, 0, 1).at, bytes: 4096, seen: Instant::now() };
        // A removal, whose chunks have gone; a move, which was committed.
        assert_eq!(confirmed(&candidate, Some(Reason::NoFile), &piece(7, 0, 0)), None);
        assert_eq!(confirmed(&candidate, None, &piece(7, 0, 1)), None);
        let left = confirmed(&candidate, Some(Reason::Inline), &piece(7, 0, 1)).unwrap();
        assert_eq!((left.inode_number, left.bytes, left.reason), (7, 4096, Reason::Inline));
        // A disk that cannot read it has it.
        let bad = WalkPiece { bad: 1, ..piece(7, 0, 0) };
        assert!(confirmed(&candidate, Some(Reason::NoFile), &bad).is_some());
    }

    #[test]
    fn metadata_is_asked_once_for_each_chunk_file_and_memory_is_bounded() {
        let (mut all, now) = (Candidates::default(), Instant::now());
        assert!(all.is_new(&piece(1, 0, 1)));
        all.take(&piece(1, 0, 1), None, now);
        assert!(!all.is_new(&piece(1, 1 << 18, 1)) && all.found.is_empty());
        assert!(all.is_new(&piece(2, 0, 0b11)));
        all.take(&piece(2, 0, 0b11), Some(Reason::NoFile), now);
        assert!(!all.is_new(&piece(2, 1 << 18, 1)));
        assert_eq!(all.found[0].bytes, 3 * 4096);
        for inode in 3..LISTED as u64 + 5 {
            assert!(all.is_new(&piece(inode, 0, 1)));
            all.take(&piece(inode, 0, 1), Some(Reason::NoFile), now);
        }
        assert_eq!((all.found.len(), all.more), (LISTED, 3));
        let last = all.found[LISTED - 1].bytes;
        assert!(!all.is_new(&piece(LISTED as u64 + 4, 1 << 18, 1)));
        assert_eq!(all.found[LISTED - 1].bytes, last, "a file that is only counted adds to no other");
    }
}
