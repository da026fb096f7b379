// SPDX-License-Identifier: Apache-2.0

//! Ordered tables as their users see them: keys, batches of changes, prefixes, and what a change does to a table's size.
//!
//! Pure. A user builds a [`Batch`] without knowing which store will apply it; `nyala-store` logs the batch's bytes as they
//! are, so their layout is part of the format on disk (`docs/format-store.md`).

mod batch;
mod change_kind;
mod key;
mod prefix;
mod visit;

pub use batch::{Batch, BatchIter, MAX_BATCH_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES, iter_encoded, validate};
pub use change_kind::ChangeKind;
pub use key::Key;
pub use prefix::prefix_end;
pub use visit::{Change, Visit};

/// Longest value that takes one page of a table on disk, bytes.
pub const ONE_PAGE_VALUE_BYTES: usize = 4096 - 20;
