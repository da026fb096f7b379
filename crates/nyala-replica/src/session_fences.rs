// SPDX-License-Identifier: Apache-2.0

//! What all members of a group have to know beside its chunk files: which sessions are fenced. It is treated as the
//! content of one more chunk file, so that everything that holds for content holds for it.
//!
//! **Failure model.** Metadata fences a session while members are away, resyncing, or about to become primary, and then gives
//! away what the session held; whoever leads later must refuse its late writes. Therefore:
//!
//! - The member that leads orders a fence like a change: every good and every resyncing member has it before it is answered, and
//!   it is dirty for the others.
//! - A member that does not lead may have been told alone, before or after it was away. So a new primary gives what it knows to
//!   all good members before it leads, and every resync brings it, whether anything is dirty or not.
//! - Taking it in never forgets what was there: fences only become more. So the content of members may differ where a fence was
//!   not answered yet, which is no harm: that session's writes are refused a moment early.

use crate::regions::Span;
use nyala_wire::InodeId;
use nyala_wire::storage::ChunkFileId;

/// Names it. No file has inode number 0.
pub const FENCES: ChunkFileId = ChunkFileId { inode: InodeId(0), index: 0 };

/// All of it is in the first region.
pub const FENCES_RUN: Span = Span { start: 0, end: 1 };
