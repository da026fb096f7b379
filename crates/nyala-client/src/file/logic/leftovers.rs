// SPDX-License-Identifier: Apache-2.0

//! What is known of bytes that interrupted writes may have left behind a file's end at storage (`writeback::leftovers`).

/// What is known of the space behind the end, under the delegation that the file was loaded under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// Somebody may have left something there.
    Unknown,
    /// It is being cut; writes wait.
    Cutting,
    /// There is only what this client wrote.
    Clean,
}
