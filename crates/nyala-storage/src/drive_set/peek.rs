// SPDX-License-Identifier: Apache-2.0

//! Who a target is, as the directories of its drives say. Failure model: see the parent module.

use nyala_store::own_dir::{Identity, IdentityError, Kind, peek};
use std::path::{Path, PathBuf};

pub(super) const KIND: Kind = Kind::StorageTarget;

/// Where a drive has it.
pub(super) fn of_drive(drive: &Path) -> PathBuf {
    drive.join("target")
}

/// Who the target on these drives is, without locking or changing anything.
pub fn peek_set<'a>(drives: impl IntoIterator<Item = &'a PathBuf>) -> Result<Option<Identity>, IdentityError> {
    let (mut best, mut first): (Option<Identity>, _) = (None, None);
    for drive in drives {
        match peek(&of_drive(drive), KIND) {
            Ok(Some(found)) if best.as_ref().is_none_or(|best| best.target.0 == 0) => best = Some(found),
            Ok(_) => {}
            Err(error) => first = first.or(Some(error)),
        }
    }
    match (best, first) {
        (None, Some(error)) => Err(error),
        (best, _) => Ok(best),
    }
}
