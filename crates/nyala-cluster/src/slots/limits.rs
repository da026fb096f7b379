// SPDX-License-Identifier: Apache-2.0

//! Bounds of moves.

/// Slots on their way at once, and in one plan.
pub const MAX_MOVES: usize = 4096;
