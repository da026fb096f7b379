// SPDX-License-Identifier: Apache-2.0

//! Grants to use files' chunks at storage that this client was given, if its rule is about users. Other clients keep nothing here.
//!
//! **Failure model.** Servers decide, by what is shown to them; what is kept here only saves asking again. A grant that storage does not take any more
//! (the rule has changed, or the keys of servers) is dropped, and another one asked for. One is kept as long as this client lives, about 40 bytes
//! for each file whose chunks it used.

use nyala_wire::InodeId;
use nyala_wire::storage_grants::{StorageGrant, StorageRights};
use parking_lot::Mutex;
use std::collections::HashMap;

/// What this client was granted.
#[derive(Default)]
pub(crate) struct StorageGrants {
    known: Mutex<HashMap<InodeId, StorageGrant>>,
}

impl StorageGrants {
    /// A grant that allows this, if there is one.
    pub(crate) fn of(&self, (inode, rights): (InodeId, StorageRights)) -> Option<StorageGrant> {
        self.known.lock().get(&inode).filter(|grant| grant.rights >= rights).copied()
    }

    /// A server gave this one.
    pub(crate) fn learn(&self, grant: StorageGrant) {
        self.known.lock().insert(grant.inode, grant);
    }

    /// Storage did not take one of these.
    pub(crate) fn drop_all(&self, refused: &[StorageGrant]) {
        let mut known = self.known.lock();
        for grant in refused {
            // Another request may have been given a new one meanwhile.
            if known.get(&grant.inode) == Some(grant) {
                known.remove(&grant.inode);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_kept_until_it_is_refused_and_serves_for_what_it_allows() {
        let grants = StorageGrants::default();
        let (read, write) = ((InodeId(5), StorageRights::Read), (InodeId(5), StorageRights::Write));
        let grant = |rights, code| StorageGrant { inode: InodeId(5), rights, code: [code; 16].into() };
        assert_eq!(grants.of(read), None);
        let old = grant(StorageRights::Read, 1);
        grants.learn(old);
        assert_eq!((grants.of(read), grants.of(write)), (Some(old), None));
        let new = grant(StorageRights::Write, 2);
        grants.learn(new);
        grants.drop_all(&[old]);
        assert_eq!((grants.of(read), grants.of(write)), (Some(new), Some(new)), "the newer one stays");
        grants.drop_all(&[new]);
        assert_eq!(grants.of(read), None);
    }
}
