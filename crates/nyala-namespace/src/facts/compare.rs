// SPDX-License-Identifier: Apache-2.0

//! What two rows of one server say of each other.

use crate::change::stored;
use crate::keys;
use crate::records::EntryRecord;
use crate::view::View;
use nyala_wire::{InodeId, SessionId, WireError};

/// Whether there is a session; the server itself is one.
pub fn is_session(view: &dyn View, session: SessionId) -> Result<bool, WireError> {
    Ok(session.0 == 0 || view.get(&keys::session(session))?.is_some())
}

/// Whether a lookup of a name looks at its place: the first place for its hash, or one of the following if the first says so. `of`: the
/// directory, if it is known to be another than `dir`, a fragment of it.
pub fn is_misplaced(
    view: &dyn View,
    (dir, of): (InodeId, Option<InodeId>),
    cookie: u64,
    entry: &EntryRecord,
) -> Result<bool, WireError> {
    let first = keys::cookie(of.unwrap_or(dir), entry.name.as_bytes());
    if cookie == first {
        return Ok(false);
    }
    if cookie / keys::COLLISIONS * keys::COLLISIONS != first {
        return Ok(true);
    }
    let place = view.get(&keys::entry(dir, first))?;
    let followed = place.is_some_and(|place| stored::<EntryRecord>(&place).is_ok_and(|place| place.is_followed()));
    Ok(!followed)
}
