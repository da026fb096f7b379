// SPDX-License-Identifier: Apache-2.0

//! Starting a set without drives that never come back, though they could be newer than those that are there: only an operator knows that.
//!
//! **Failure model.** That of the parent module. What only the others had is lost. Should they come back after all, the set is refused with both parts if they went on
//! without these, and they are out of date otherwise. A service that has drives of this host keeps them, since it locks them; one that has drives of other hosts loses
//! those, as in any take-over, and stops. A crash in the middle leaves a set that does not start by itself, or does: asked again, it is done.

use super::open::take;
use super::reach::{DriveKeys, Reach};
use super::seen::{self, Seen};
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_drives::{DriveSet, SetError};
use nyala_raid::assemble::assemble;
use nyala_raid::event::ErrorLimit;
use nyala_raid::member::MemberState;

/// A set that was, or would be, started without some of its drives.
#[derive(Debug)]
pub struct Start {
    /// Why it does not start by itself; none if it does.
    pub refused: Option<String>,
    /// Numbers of the members that it does without.
    pub without: Vec<usize>,
    /// How many members it has.
    pub members: usize,
}

/// Writes on the drives that are there that the set does without the others, so that it starts from now on. `go`: do it, not only look.
///
/// Errors: drives that are not enough by themselves, or in use by a service, or of which some say something else.
pub fn start(spec: &SetSpec, keys: Option<&DriveKeys>, go: bool) -> Result<Start, StorageError> {
    let failed = |error: SetError| StorageError::Set { path: spec.first(), error: Box::new(error) };
    let mut reach = Reach::of(spec, keys)?;
    let Seen { mut drives, locations, superblocks, missing, .. } = seen::look(spec, &reach)?;
    missing.iter().for_each(|why| tracing::error!(why, "a drive is missing"));
    let assembled = assemble(&superblocks, true).map_err(|error| failed(error.into()))?;
    let refused = assemble(&superblocks, false).err().map(|error| error.to_string());
    if go && refused.is_some() {
        drives.extend(take(spec, &mut reach, &locations)?);
        drop(DriveSet::open(drives, true, ErrorLimit::default(), false).map_err(failed)?);
    }
    let members = &assembled.superblock.members;
    let without = (0..members.len()).filter(|member| members[*member].state == MemberState::Missing).collect();
    Ok(Start { refused, without, members: members.len() })
}
