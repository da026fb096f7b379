// SPDX-License-Identifier: Apache-2.0

//! Clients whose rule is about users: storage lets them use a file's chunks as far as a metadata server has granted it.
//!
//! **Failure model.** A client may name any inode, and show grants of other files, rights, rules or clusters, or made-up ones: none of them holds. What
//! was granted is remembered for all clients that are held to the same, within bounds, and forgotten when this service ends; who is refused
//! with `GRANT_NEEDED` shows its grant and sends again. A grant goes on to hold when its file's mode, owner or list changes, as an open file
//! does, until the rule changes or the key of servers that it was made with is retired.

use super::recent::Recent;
use nyala_transport::{GrantHolder, GrantMaker, Secret};
use nyala_wire::storage_grants::{StorageRights, decode_grants};
use nyala_wire::{ClusterId, ErrorCode, InodeId, WireError};

/// What was granted, as far as it was shown to this service.
#[derive(Default)]
pub struct ShownGrants {
    known: Recent<(GrantHolder, InodeId), StorageRights>,
}

impl ShownGrants {
    /// Takes the grants of such a client. One that does not hold refuses all.
    pub fn show(&self, body: &[u8], holder: GrantHolder, secret: &Secret, cluster: ClusterId) -> Result<(), WireError> {
        let (maker, shown) = (GrantMaker::new(secret, cluster, holder), decode_grants(body)?);
        if !shown.iter().all(|grant| maker.is_grant(grant)) {
            return Err(ErrorCode::ACCESS.with("that is no grant for a client with this one's rule"));
        }
        shown.iter().for_each(|grant| self.known.remember((holder, grant.inode), grant.rights));
        Ok(())
    }

    /// May such a client do that with the chunk files of an inode?
    pub fn check(&self, holder: GrantHolder, inode: InodeId, rights: StorageRights) -> Result<(), WireError> {
        match self.known.get(&(holder, inode)).is_some_and(|granted| granted >= rights) {
            true => Ok(()),
            false => Err(ErrorCode::GRANT_NEEDED
                .with("show a grant of the file's metadata server: a rule says which users this client acts for")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::codec;
    use nyala_wire::key_rules::{KeyRule, Squash};
    use nyala_wire::restriction::Restriction;
    use nyala_wire::storage_grants::StorageGrant;

    const CLUSTER: ClusterId = ClusterId([3; 16]);
    const MINE: InodeId = InodeId(5);
    const OTHER: InodeId = InodeId(6);

    fn holder(squash: Squash, root: Option<u64>) -> GrantHolder {
        let rule = KeyRule { squash, ..KeyRule::none("lab") };
        GrantHolder::of(&Restriction { rule, root: root.map(InodeId), refused: false }).unwrap()
    }

    #[test]
    fn what_was_granted_is_let_in_for_that_rule_file_and_right_alone() {
        // A plain secret is a key of servers, too.
        let secret = Secret::from_bytes(&[7; 32]).unwrap();
        let (us, all, below) = (holder(Squash::Root, None), holder(Squash::All, None), holder(Squash::Root, Some(9)));
        let grant = |rights| GrantMaker::new(&secret, CLUSTER, us).grant(MINE, rights).unwrap();
        let (read, write) = (grant(StorageRights::Read), grant(StorageRights::Write));
        let shown = ShownGrants::default();
        let show = |holder, grants: &[StorageGrant]| {
            shown.show(&codec::encode(&grants.to_vec()), holder, &secret, CLUSTER).map_err(|error| error.code)
        };
        let allowed = |holder, inode| {
            [StorageRights::Read, StorageRights::Write].map(|rights| shown.check(holder, inode, rights).is_ok())
        };
        let lies = [
            StorageGrant { inode: OTHER, ..read },
            StorageGrant { rights: StorageRights::Write, ..read },
            StorageGrant { rights: StorageRights::Read, ..write },
            StorageGrant { code: [0; 16].into(), ..write },
        ];
        for lie in lies {
            assert_eq!(show(us, &[read, lie]), Err(ErrorCode::ACCESS), "{lie:?}");
        }
        assert_eq!([show(all, &[write]), show(below, &[write])], [Err(ErrorCode::ACCESS); 2], "another rule, or root");
        assert_eq!([us, all, below].map(|holder| allowed(holder, MINE)), [[false; 2]; 3], "nothing is taken of a lie");
        assert_eq!(show(us, &[read]), Ok(()));
        assert_eq!((allowed(us, MINE), allowed(us, OTHER)), ([true, false], [false; 2]));
        assert_eq!(
            shown.check(us, MINE, StorageRights::Write).map_err(|error| error.code),
            Err(ErrorCode::GRANT_NEEDED)
        );
        assert_eq!(show(us, &[write]), Ok(()));
        assert_eq!((allowed(us, MINE), allowed(all, MINE), allowed(below, MINE)), ([true; 2], [false; 2], [false; 2]));
    }
}
