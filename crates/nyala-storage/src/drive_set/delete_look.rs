// SPDX-License-Identifier: Apache-2.0

//! What a deletion finds on each drive. Failure model: that of [`super::delete`].

use crate::error::StorageError;
use nyala_drives::{DriveDeletion, NO_SET, SetError};
use nyala_netdrives::DriveLocation;
use nyala_raid::assemble::AssembleError;
use nyala_raid::member::SetId;
use nyala_raid::superblock::Superblock;
use nyala_wire::drive::DriveLook;

/// What is to be deleted of a drive or a spare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveOutcome {
    /// A drive of the set goes.
    Goes,
    /// What was begun there, of a drive or a deletion, goes.
    Rest,
    /// It is empty already.
    Empty,
    /// It is away, or no drive, for this reason, and stays as it is.
    Stays(String),
}

pub(super) struct Part {
    pub location: DriveLocation,
    pub outcome: DriveOutcome,
    /// Whose it is, if it goes.
    pub set: Option<SetId>,
    /// Of this host.
    pub near: Option<DriveDeletion>,
}

pub(super) fn failed(location: &DriveLocation, error: SetError) -> StorageError {
    let path = location.to_string().into();
    if error.is_locked() { StorageError::SetInUse(path) } else { StorageError::Set { path, error: Box::new(error) } }
}

pub(super) type Found = (Part, Option<Superblock>, Vec<u8>);

fn found(
    location: &DriveLocation,
    outcome: DriveOutcome,
    set: Option<SetId>,
    (superblock, target): (Option<Superblock>, Vec<u8>),
) -> Found {
    (Part { location: location.clone(), outcome, set, near: None }, superblock, target)
}

pub(super) fn near(location: &DriveLocation, looked: Result<DriveDeletion, SetError>) -> Result<Found, StorageError> {
    let stays = |why| Ok(found(location, DriveOutcome::Stays(why), None, Default::default()));
    let going = match looked {
        Ok(going) => going,
        Err(error) if error.is_locked() => return Err(failed(location, error)),
        Err(error) => return stays(error.to_string()),
    };
    let (set, said) = (going.set(), (going.superblock().cloned(), going.target()));
    let outcome = match (set, &said.0) {
        (None, _) => DriveOutcome::Empty,
        (Some(_), Some(_)) => DriveOutcome::Goes,
        (Some(_), None) => DriveOutcome::Rest,
    };
    let (part, superblock, target) = found(location, outcome, set, said);
    Ok((Part { near: Some(going), ..part }, superblock, target))
}

pub(super) fn far(location: &DriveLocation, look: Option<DriveLook>) -> Found {
    let stays = |why: &str| found(location, DriveOutcome::Stays(why.to_owned()), None, Default::default());
    let Some(look) = look else { return stays("its host does not answer") };
    let id = |set: nyala_wire::ClusterId| SetId(u128::from_le_bytes(set.0));
    if let Some(set) = look.deleted {
        return found(location, DriveOutcome::Rest, Some(id(set)), Default::default());
    }
    if look.empty {
        return found(location, DriveOutcome::Empty, None, Default::default());
    }
    match Superblock::decode(&look.superblock) {
        Some(superblock) => {
            let set = superblock.set;
            found(location, DriveOutcome::Goes, Some(set), (Some(superblock), look.target))
        }
        None if !look.superblock.is_empty() => stays("its superblock cannot be read"),
        None => match (look.claim, look.missing) {
            (Some(set), _) => found(location, DriveOutcome::Rest, Some(id(set)), Default::default()),
            (None, None) => found(location, DriveOutcome::Rest, Some(NO_SET), Default::default()),
            (None, Some(why)) => stays(&why),
        },
    }
}

/// The set that drives are of. What was begun for none may be among them.
pub(super) fn one_set(drives: &[Part]) -> Result<Option<SetId>, AssembleError> {
    let mut sets = drives.iter().filter_map(|part| part.set).filter(|set| *set != NO_SET);
    let Some(one) = sets.next() else { return Ok(drives.iter().find_map(|part| part.set)) };
    match sets.find(|other| *other != one) {
        Some(other) => Err(AssembleError::TwoSets { one, other }),
        None => Ok(Some(one)),
    }
}
