// SPDX-License-Identifier: Apache-2.0

//! What is there of a set, and sets whose making was cut off, on drives that are back. Failure model: that of [`super::seen`].

use nyala_drives::Drive;
use nyala_netdrives::DriveLocation;
use nyala_raid::member::SetId;
use nyala_raid::superblock::Superblock;
use std::fmt::Display;
use std::path::PathBuf;

/// What is there.
#[derive(Default)]
pub(super) struct Seen {
    /// Drives of this host, open.
    pub drives: Vec<Drive>,
    /// Their directories.
    pub there: Vec<PathBuf>,
    /// Drives of other hosts, not held.
    pub locations: Vec<DriveLocation>,
    /// What all of them say of the set.
    pub superblocks: Vec<Superblock>,
    /// What those of other hosts say of the target.
    pub targets: Vec<Vec<u8>>,
    /// Named drives that are empty directories.
    pub empty: usize,
    /// Named drives that are not there, and why.
    pub missing: Vec<String>,
    /// Where sets lie whose making was never finished, and which.
    pub half_made: Vec<(String, SetId)>,
}

/// A set that some drive has whole is not stopped by one whose making was cut off on another drive, which was away when it was made again.
pub(super) fn leave_half_made(seen: &mut Seen) {
    let half: Vec<SetId> = seen.half_made.iter().map(|(_, set)| *set).collect();
    let whole = |set: SetId| {
        let of = seen.superblocks.iter().filter(|superblock| superblock.set == set).count();
        of > half.iter().filter(|other| **other == set).count()
    };
    if !seen.superblocks.iter().any(|superblock| whole(superblock.set)) {
        return;
    }
    let cut_off: Vec<SetId> = half.iter().copied().filter(|set| !whole(*set)).collect();
    for (location, _) in seen.half_made.iter().filter(|(_, set)| cut_off.contains(set)) {
        seen.missing.push(format!(
            "{location} has what was begun of another set, and never finished, and is left out; make an empty drive of it: nyala raid delete {location} --yes"
        ));
    }
    let keep: Vec<bool> = seen.superblocks.iter().map(|superblock| !cut_off.contains(&superblock.set)).collect();
    let near = seen.there.len();
    retain(&mut seen.drives, &keep[..near]);
    retain(&mut seen.there, &keep[..near]);
    retain(&mut seen.locations, &keep[near..]);
    retain(&mut seen.targets, &keep[near..]);
    retain(&mut seen.superblocks, &keep);
}

/// What a set began on a spare and never finished stays for now.
pub(super) fn said_if_kept<T>(released: Result<T, impl Display>) {
    if let Err(error) = released {
        tracing::warn!(%error, "a spare that was begun cannot be given back now");
    }
}

/// Keeps what has a true in its place.
fn retain<T>(all: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    all.retain(|_| keep.next().copied().unwrap_or(true));
}
