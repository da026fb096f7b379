// SPDX-License-Identifier: Apache-2.0

//! Grants to use a file's chunks at storage, for clients whose rule is about users: codes that only holders of a server's key make.
//!
//! **Failure model.** A grant says nothing but what it was made over: the cluster, what the rule says of users, the directory that the client must not
//! leave, the inode and the rights. Who changes a bit of it, or shows one that was made for another rule, inode or right, shows no grant.
//! Keys and their rotation are as with proofs ([`super::proofs`]): made with the oldest key of servers, taken under any.

use super::Secret;
use super::proofs::PROOF_BYTES;
use crate::crypto;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::restriction::Restriction;
use nyala_wire::storage_grants::{StorageGrant, StorageRights};
use nyala_wire::{ClusterId, InodeId, codec};

/// For whom a grant is: all clients whose rule says the same of users, and that have the same root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GrantHolder {
    users: [u8; 16],
    /// 0: the file system's.
    root: InodeId,
}

impl GrantHolder {
    /// What a client is that is held to this; `None` where its rule is not about users: it needs no grants.
    pub fn of(held: &Restriction) -> Option<GrantHolder> {
        let KeyRule { squash, anonymous_uid, anonymous_gid, users, groups, .. } = &held.rule;
        // Field by field: what a later version adds to rules changes no digest of those that do not use it.
        let rule = || codec::encode(&(squash, anonymous_uid, anonymous_gid, users, groups));
        held.rule.is_about_ids().then(|| {
            let mut digest = [0; 16];
            digest.copy_from_slice(&crypto::users_digest(&rule())[..16]);
            GrantHolder { users: digest, root: held.root.unwrap_or(InodeId(0)) }
        })
    }
}

/// Makes and checks the grants of one holder.
pub struct GrantMaker {
    /// Of keys of servers, the oldest first.
    keys: Vec<[u8; 32]>,
    holder: [u8; 40],
}

impl GrantMaker {
    /// With the keys that the secret has now.
    pub fn new(secret: &Secret, cluster: ClusterId, holder: GrantHolder) -> GrantMaker {
        let servers = secret.keys();
        let keys = servers.iter().filter(|key| key.grant.roles.server).map(|key| crypto::grant_key(&key.psk)).collect();
        let mut said = [0; 40];
        said[..16].copy_from_slice(&cluster.0);
        said[16..32].copy_from_slice(&holder.users);
        said[32..].copy_from_slice(&holder.root.0.to_le_bytes());
        GrantMaker { keys, holder: said }
    }

    /// A grant of these rights; `None` on a host that holds no key of servers.
    pub fn grant(&self, inode: InodeId, rights: StorageRights) -> Option<StorageGrant> {
        let code = self.code(self.keys.first()?, inode, rights).into();
        Some(StorageGrant { inode, rights, code })
    }

    /// Whether this is one.
    pub fn is_grant(&self, grant: &StorageGrant) -> bool {
        let shown: [u8; PROOF_BYTES] = grant.code.into();
        // All bytes are compared, whatever the first ones are.
        let same = |code: [u8; PROOF_BYTES]| code.iter().zip(shown).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0;
        self.keys.iter().any(|key| same(self.code(key, grant.inode, grant.rights)))
    }

    fn code(&self, key: &[u8; 32], inode: InodeId, rights: StorageRights) -> [u8; PROOF_BYTES] {
        let mut said = [0; 49];
        said[..40].copy_from_slice(&self.holder);
        said[40..48].copy_from_slice(&inode.0.to_le_bytes());
        said[48] = match rights {
            StorageRights::Read => 0,
            StorageRights::Write => 1,
        };
        let mut code = [0; PROOF_BYTES];
        code.copy_from_slice(&crypto::code(key, &said)[..PROOF_BYTES]);
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::key::Grant;
    use crate::secret::key_file::{KeyEntry, KeyFile};
    use nyala_wire::key_rules::{IdRange, Squash};

    const CLUSTER: ClusterId = ClusterId([7; 16]);
    const FILE: InodeId = InodeId(100);

    fn secret(keys: &[(&str, &str)]) -> Secret {
        let entry = |(id, roles): &(&str, &str)| {
            let grant = Grant { key: (*id).into(), roles: roles.parse().unwrap(), ..Grant::default() };
            KeyEntry { grant, made: 0, secret: format!("{id:.<32}").into_bytes() }
        };
        Secret::from_keys(&KeyFile { keys: keys.iter().map(entry).collect() })
    }

    fn held(change: impl FnOnce(&mut Restriction)) -> Restriction {
        let rule = KeyRule { squash: Squash::Root, ..KeyRule::none("lab") };
        let mut held = Restriction { rule, root: None, refused: false };
        change(&mut held);
        held
    }

    fn maker(held: &Restriction) -> GrantMaker {
        GrantMaker::new(&secret(&[("s", "server"), ("c", "client")]), CLUSTER, GrantHolder::of(held).unwrap())
    }

    #[test]
    fn a_grant_is_of_one_file_and_right_for_one_rule_below_one_root_of_one_cluster() {
        let here = maker(&held(|_| {}));
        let grant = here.grant(FILE, StorageRights::Read).unwrap();
        assert!(here.is_grant(&grant));
        assert!(!here.is_grant(&StorageGrant { rights: StorageRights::Write, ..grant }));
        assert!(!here.is_grant(&StorageGrant { inode: InodeId(101), ..grant }));
        for bit in 0..PROOF_BYTES * 8 {
            let mut code: [u8; PROOF_BYTES] = grant.code.into();
            code[bit / 8] ^= 1 << (bit % 8);
            assert!(!here.is_grant(&StorageGrant { code: code.into(), ..grant }), "bit {bit}");
        }
        let range = IdRange { client: 1, server: 2, count: 3 };
        let others: [(&str, Restriction); 6] = [
            ("all", held(|held| held.rule.squash = Squash::All)),
            ("user", held(|held| held.rule.anonymous_uid = 7)),
            ("group", held(|held| held.rule.anonymous_gid = 7)),
            ("users", held(|held| held.rule.users = vec![range])),
            ("groups", held(|held| held.rule.groups = vec![range])),
            ("root", held(|held| held.root = Some(InodeId(9)))),
        ];
        for (what, other) in others {
            assert!(!maker(&other).is_grant(&grant), "{what}");
        }
        let elsewhere =
            GrantMaker::new(&secret(&[("s", "server")]), ClusterId([8; 16]), GrantHolder::of(&held(|_| {})).unwrap());
        assert!(!elsewhere.is_grant(&grant));
    }

    #[test]
    fn keys_that_are_held_to_the_same_share_grants_and_those_without_need_none() {
        let same = held(|held| (held.rule.key, held.rule.read_only) = ("other".to_owned(), true));
        assert_eq!(GrantHolder::of(&same), GrantHolder::of(&held(|_| {})));
        assert_eq!(GrantHolder::of(&held(|held| held.rule = KeyRule::none("lab"))), None);
        let read_only = held(|held| held.rule = KeyRule { read_only: true, ..KeyRule::none("lab") });
        assert_eq!(GrantHolder::of(&read_only), None);
    }

    #[test]
    fn only_keys_of_servers_make_grants_and_a_rotation_takes_them_along() {
        let holder = GrantHolder::of(&held(|_| {})).unwrap();
        let of = |keys: &[(&str, &str)]| GrantMaker::new(&secret(keys), CLUSTER, holder);
        assert_eq!(of(&[("c", "client")]).grant(FILE, StorageRights::Read), None);
        let forged = of(&[("c", "server")]).grant(FILE, StorageRights::Write).unwrap();
        assert!(!of(&[("s", "server"), ("c", "client")]).is_grant(&forged));
        let old = of(&[("a", "server")]).grant(FILE, StorageRights::Write).unwrap();
        assert!(of(&[("a", "server"), ("b", "server")]).is_grant(&old));
        assert!(!of(&[("b", "server")]).is_grant(&old));
    }
}
