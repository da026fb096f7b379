// SPDX-License-Identifier: Apache-2.0

//! Grants to use a file's chunks: the state machine says which rights the client's users have, and this adds the code that storage checks. Pure, but
//! for the keys of the moment ([`GrantMaker`]).
//!
//! **Failure model.** A client may ask for a grant of any file that it can name: it gets the rights that some user whom it may act as has, or EACCES
//! before anything comes here. A rule may have come or gone at this server and not yet at storage: the grant is then of another rule, storage
//! refuses it, and the client asks again.

use nyala_transport::{GrantHolder, GrantMaker, Secret};
use nyala_wire::meta::{ANSWER_HEAD_BYTES, Grants, MetaOp, MetaReply};
use nyala_wire::restriction::Restriction;
use nyala_wire::{ClusterId, ErrorCode, WireError, codec};

/// Who makes the grant that an operation asks for. `None`: it asks for none, or its client needs none, and gets one that nobody takes.
pub fn granter(op: &MetaOp, held: Option<&Restriction>, (secret, cluster): (&Secret, ClusterId)) -> Option<GrantMaker> {
    let asks = matches!(op, MetaOp::StorageGrant(_));
    let holder = held.filter(|_| asks).and_then(GrantHolder::of)?;
    Some(GrantMaker::new(secret, cluster, holder))
}

/// The body of a reply, with the code of the grant in it.
pub fn with_code(granter: Option<GrantMaker>, body: Vec<u8>) -> Result<Vec<u8>, WireError> {
    let Some(granter) = granter else { return Ok(body) };
    let (grants, reply) = Grants::split(&body)?;
    let MetaReply::StorageGrant(grant) = codec::decode(reply)? else { return Ok(body) };
    let made = granter.grant(grant.inode, grant.rights);
    let made = made.ok_or_else(|| ErrorCode::NOT_READY.with("this metadata service holds no key of servers"))?;
    let mut with_code = Vec::with_capacity(ANSWER_HEAD_BYTES + body.len());
    with_code.extend_from_slice(&grants.head_bytes());
    codec::encode_into(&MetaReply::StorageGrant(made), &mut with_code);
    Ok(with_code)
}
