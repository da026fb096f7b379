// SPDX-License-Identifier: Apache-2.0

//! Ids of users and groups of a client whose key has a rule about them: those of a request become the cluster's, and those of its reply the
//! client's ([`super::shown_ids`]). Pure. What operations then need is checked by `nyala_namespace::access`.
//!
//! **Failure model.** A client says what it likes; whatever it names, what comes out is somebody whom its key may act as. A list that cannot be
//! read is left to the operation, which refuses it.

use nyala_namespace::acl::{ACCESS, Acl, DEFAULT};
use nyala_wire::key_rules::KeyRule;
use nyala_wire::meta::{Caller, MetaOp, MetaRequest, Owner, SetAttr};
use nyala_wire::{WireError, codec};

/// Makes of a request what the server takes: `rule` is that of the client's key. Of clients without one nobody in particular asks.
pub fn take(rule: Option<&KeyRule>, request: &mut MetaRequest) -> Result<(), WireError> {
    let Some(rule) = rule.filter(|rule| rule.is_about_ids()) else {
        request.caller = None;
        return Ok(());
    };
    request.user = request.user.map(|uid| rule.user_to_server(uid));
    request.owner = owner(rule, request.caller.as_deref(), request.owner);
    // Storage knows hosts and no users: a grant is for whoever of them asks there.
    let said = request.caller.take().filter(|_| !matches!(request.op, MetaOp::StorageGrant(_)));
    request.caller = Some(Box::new(said.map_or_else(|| Caller::anybody(rule), |said| said.under(rule))));
    match &mut request.op {
        MetaOp::SetAttr { set, .. } => set_attr(rule, set),
        MetaOp::PutInline(put) => put.set.iter_mut().for_each(|set| set_attr(rule, set)),
        MetaOp::PutInlines { puts } => {
            puts.iter_mut().flat_map(|put| put.set.iter_mut()).for_each(|set| set_attr(rule, set));
        }
        MetaOp::SetXattr { name, value, .. } if is_list(name) => {
            if let Ok(Some(list)) = Acl::parse(value) {
                *value = list.with_ids(|group, id| to_server(rule, group, id)).to_bytes().into();
            }
        }
        MetaOp::Replay(replay) => {
            for change in &mut replay.changes {
                let mut again: MetaRequest = codec::decode(&change.request)?;
                // One within the other is refused by the server; here it must not nest.
                if !matches!(again.op, MetaOp::Replay(_)) {
                    take(Some(rule), &mut again)?;
                    change.request = codec::encode(&again).into();
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Who owns what is made: the one who asks, and a group that it is in.
fn owner(rule: &KeyRule, caller: Option<&Caller>, said: Owner) -> Owner {
    let mapped = Owner { uid: rule.user_to_server(said.uid), gid: rule.group_to_server(said.gid) };
    let Some(caller) = caller.map(|caller| caller.under(rule)) else { return mapped };
    Owner { uid: caller.uid, gid: if caller.is_in(mapped.gid) { mapped.gid } else { caller.gid } }
}

fn to_server(rule: &KeyRule, group: bool, id: u32) -> u32 {
    if group { rule.group_to_server(id) } else { rule.user_to_server(id) }
}

fn set_attr(rule: &KeyRule, set: &mut SetAttr) {
    set.uid = set.uid.map(|uid| rule.user_to_server(uid));
    set.gid = set.gid.map(|gid| rule.group_to_server(gid));
}

/// Whether an extended attribute is an access control list.
pub fn is_list(name: &[u8]) -> bool {
    name == ACCESS || name == DEFAULT
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::key_rules::{IdRange, NOBODY, Squash};
    use nyala_wire::meta::{Acknowledged, Replay, Want};
    use nyala_wire::{InodeId, SessionId, Time};

    fn lab() -> KeyRule {
        let range = vec![IdRange { client: 1000, server: 50_000, count: 10 }];
        KeyRule { users: range.clone(), groups: range, squash: Squash::Root, ..KeyRule::none("lab") }
    }

    fn request(op: MetaOp, caller: Option<Caller>) -> MetaRequest {
        let (session, now, want, caller) = (SessionId(1), Time::default(), Want::NOTHING, caller.map(Box::new));
        let owner = Owner { uid: 1000, gid: 1001 };
        MetaRequest { session, sequence: 1, acked_below: 1, owner, now, op, want, caller, user: None }
    }

    fn user(uid: u32, gid: u32) -> Option<Caller> {
        // What a client adds about the server's side of it counts for nothing.
        let anybody = Some(Box::new(KeyRule::none("mine")));
        Some(Caller { uid, gid, groups: vec![0, 1002], anybody })
    }

    #[test]
    fn whatever_is_said_becomes_somebody_of_the_key() {
        let set = SetAttr { uid: Some(0), gid: Some(1009), ..SetAttr::default() };
        let mut asks = request(MetaOp::SetAttr { inode: InodeId::ROOT, set }, user(1000, 1001));
        asks.user = Some(1002);
        take(Some(&lab()), &mut asks).unwrap();
        let caller = asks.caller.clone().unwrap();
        assert_eq!((caller.uid, caller.gid, &caller.groups[..], caller.anybody), (50_000, 50_001, &[50_002][..], None));
        assert_eq!(asks.owner, Owner { uid: 50_000, gid: 50_001 });
        let MetaOp::SetAttr { set, .. } = asks.op else { panic!() };
        assert_eq!((set.uid, set.gid), (Some(NOBODY), Some(50_009)));
        assert_eq!(asks.user, Some(50_002));

        let mut root = request(MetaOp::StatFs, user(0, 0));
        take(Some(&lab()), &mut root).unwrap();
        assert_eq!((root.caller.unwrap().uid, root.owner.uid), (NOBODY, NOBODY), "also what it says of the owner");
        let mut none = request(MetaOp::StatFs, None);
        take(Some(&lab()), &mut none).unwrap();
        assert_eq!(none.user, None);
        let anybody = none.caller.unwrap();
        assert!(anybody.anybody.is_some() && anybody.is_user(50_003) && !anybody.is_user(0) && !anybody.is_user(1000));
        let mut free = MetaRequest { user: Some(5), ..request(MetaOp::StatFs, user(5, 5)) };
        take(Some(&KeyRule { read_only: true, ..KeyRule::none("k") }), &mut free).unwrap();
        assert_eq!((free.caller, free.owner.uid, free.user), (None, 1000, Some(5)), "a rule that is not about ids");
    }

    #[test]
    fn what_is_done_again_is_held_to_the_same() {
        let inner = request(MetaOp::StatFs, user(0, 0));
        let change = Acknowledged { position: 1, request: codec::encode(&inner).into(), reply: Vec::new().into() };
        let replay = Replay { changes: vec![change], last: true, open: Vec::new(), run: None };
        let mut asks = request(MetaOp::Replay(replay), None);
        take(Some(&lab()), &mut asks).unwrap();
        let MetaOp::Replay(replay) = asks.op else { panic!() };
        let again: MetaRequest = codec::decode(&replay.changes[0].request).unwrap();
        assert_eq!(again.caller.unwrap().uid, NOBODY);
    }
}
