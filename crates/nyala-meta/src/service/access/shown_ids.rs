// SPDX-License-Identifier: Apache-2.0

//! Ids in replies to clients whose key maps them. Pure.

use super::ids::is_list;
use nyala_namespace::acl::Acl;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::meta::{ANSWER_HEAD_BYTES, Grants, MetaOp, MetaReply, PutOutcome, add_dirs};
use nyala_wire::{Attr, WireError, codec};

/// Whether the reply to an operation is an access control list.
pub fn asks_for_list(op: &MetaOp) -> bool {
    matches!(op, MetaOp::GetXattr { name, .. } if is_list(name))
}

/// The body of a reply with the ids that the client knows. `list`: it is an access control list.
pub fn shown(rule: &KeyRule, list: bool, body: Vec<u8>) -> Result<Vec<u8>, WireError> {
    if !rule.maps_ids() {
        return Ok(body);
    }
    let (grants, reply, dirs) = Grants::split_all(&body)?;
    let mut reply: MetaReply = codec::decode(reply)?;
    match &mut reply {
        MetaReply::Bytes(value) if list => {
            if let Ok(Some(acl)) = Acl::parse(value) {
                let id = |group, id| if group { rule.group_to_client(id) } else { rule.user_to_client(id) };
                *value = acl.with_ids(id).to_bytes().into();
            }
        }
        reply => each_attr(reply, |attr| show(rule, attr)),
    }
    let mut shown = Vec::with_capacity(ANSWER_HEAD_BYTES + body.len());
    shown.extend_from_slice(&grants.head_bytes());
    codec::encode_into(&reply, &mut shown);
    if !dirs.is_empty() {
        let mut dirs: Vec<Attr> = codec::decode(dirs)?;
        dirs.iter_mut().for_each(|attr| show(rule, attr));
        add_dirs(&mut shown, &dirs);
    }
    Ok(shown)
}

fn show(rule: &KeyRule, attr: &mut Attr) {
    attr.uid = rule.user_to_client(attr.uid);
    attr.gid = rule.group_to_client(attr.gid);
}

/// Every reply is named, so that a new one with attributes cannot be forgotten.
fn each_attr(reply: &mut MetaReply, mut show: impl FnMut(&mut Attr)) {
    match reply {
        MetaReply::Entry(entry) => entry.attr.iter_mut().for_each(show),
        MetaReply::Attr(attr) | MetaReply::Inline { attr, .. } => show(attr),
        MetaReply::Attrs(attrs) => attrs.iter_mut().for_each(show),
        MetaReply::Listing(listing) => {
            listing.entries.iter_mut().flat_map(|entry| entry.attr.iter_mut()).for_each(show)
        }
        MetaReply::EntryInfo(info) => show(&mut info.attr),
        MetaReply::Opened(file) => show(&mut file.attr),
        MetaReply::Created { file, .. } => file.iter_mut().for_each(|file| show(&mut file.attr)),
        MetaReply::Inlines(outcomes) => outcomes.iter_mut().for_each(|outcome| {
            if let PutOutcome::Taken { attr, .. } = outcome {
                show(attr);
            }
        }),
        MetaReply::Done
        | MetaReply::Session(_)
        | MetaReply::Bytes(_)
        | MetaReply::Names(_)
        | MetaReply::StatFs { .. }
        | MetaReply::Inode(_)
        | MetaReply::Revocations { .. }
        | MetaReply::NoEntry
        | MetaReply::Lock(_)
        | MetaReply::Position(_)
        | MetaReply::Replayed { .. }
        | MetaReply::Fragments(_)
        | MetaReply::Layout(_)
        | MetaReply::StorageGrant(_) => {}
    }
}
