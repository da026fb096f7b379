// SPDX-License-Identifier: Apache-2.0

//! Sets of regions as lists in messages.

use crate::regions::{RegionSet, Runs};
use minicbor::{Decode, Encode};
use nyala_wire::storage::ChunkFileId;

/// Regions of one file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FileRegions {
    /// The file.
    #[n(0)]
    pub file: ChunkFileId,
    /// Its runs.
    #[n(1)]
    pub runs: Runs,
}

/// A set as a list, for a message.
pub fn to_list(set: &RegionSet) -> Vec<FileRegions> {
    let of = |file| set.runs(file).map(|runs| FileRegions { file, runs: runs.clone() });
    set.files().filter_map(of).collect()
}

/// A list out of a message, whatever order a stranger gave it.
pub fn from_list(list: &[FileRegions], max_runs: usize) -> RegionSet {
    let mut set = RegionSet::default();
    for entry in list {
        entry.runs.iter().for_each(|run| set.insert(entry.file, run, max_runs));
    }
    set
}
