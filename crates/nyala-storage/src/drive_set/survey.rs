// SPDX-License-Identifier: Apache-2.0

//! How the drives of a set are, before any of them is taken: whoever takes one of another host ends what another service does with it.
//! Failure model: see the parent module; what is seen may be otherwise a moment later, so opening the set looks again.

use super::reach::{DriveKeys, Reach};
use super::seen;
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_raid::assemble::assemble;
use nyala_store::own_dir::{Identity, Kind};
use std::path::Path;

/// What was seen.
pub struct Survey {
    /// Drives that are there.
    pub there: usize,
    /// Of so many.
    pub of: usize,
    /// All of them are empty directories.
    pub new: bool,
    /// Why the set cannot start with those that are there.
    pub short: Option<String>,
    /// Who the target is, if a drive of another host says so.
    pub identity: Option<Identity>,
}

/// Who the target on drives is, as they say; the one that has registered first of all.
pub(super) fn identity(said: impl IntoIterator<Item = impl AsRef<[u8]>>, location: &Path) -> Option<Identity> {
    let parsed = said.into_iter().filter(|text| !text.as_ref().is_empty());
    let parsed = parsed.filter_map(|text| match Identity::from_text(text.as_ref(), location, Kind::StorageTarget) {
        Ok(identity) => Some(identity),
        Err(error) => {
            tracing::warn!(%error, "a drive cannot say whose it is");
            None
        }
    });
    parsed.max_by_key(|identity| identity.target.0 != 0)
}

/// Looks at all drives of a set of which some are of other hosts.
pub fn survey(spec: &SetSpec, keys: &DriveKeys) -> Result<Survey, StorageError> {
    let reach = Reach::of(spec, Some(keys))?;
    let seen = seen::look(spec, &reach)?;
    let of = spec.drives.len();
    let new = seen.empty == of;
    let short = if new { None } else { assemble(&seen.superblocks, false).err().map(|error| error.to_string()) };
    let identity = identity(&seen.targets, &spec.first());
    Ok(Survey { there: seen.superblocks.len(), of, new, short, identity })
}
