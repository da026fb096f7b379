// SPDX-License-Identifier: Apache-2.0

//! What a change does to the size of a table, so that a store that is nearly full can refuse the right ones.

/// What a change does to the size of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It adds something that nobody relies on yet.
    Grows,
    /// It adds what belongs to something that was added before: it may use half of what is kept, so that what was begun
    /// when there was room can be completed.
    Completes,
    /// It removes or replaces, or others cannot go on without it.
    Maintains,
}
