// SPDX-License-Identifier: Apache-2.0

//! Keys of a drive's table (`docs/format-raid.md`). Numbers in keys are big-endian: keys are ordered by their bytes.

use crate::ids::{ObjectId, StripeId};

/// The superblock.
pub const SUPERBLOCK: &[u8] = b"S";
/// The number up to which intents are done.
pub const APPLIED: &[u8] = b"A";
/// Who the target on the set is.
pub const TARGET: &[u8] = b"T";
/// Who holds a drive that is lent out.
pub const HOLDER: &[u8] = b"H";
/// What an operator has set.
pub const OPTIONS: &[u8] = b"O";
/// Where the scrub is.
pub const SCRUB: &[u8] = b"C";

/// The row of a stripe.
pub fn row(stripe: StripeId) -> Vec<u8> {
    of_stripe(b"R", stripe)
}

/// A stripe that a member has missed.
pub fn dirty(member: usize, stripe: StripeId) -> Vec<u8> {
    of_stripe(&dirty_prefix(member), stripe)
}

/// What all keys of stripes that a member has missed begin with.
pub fn dirty_prefix(member: usize) -> [u8; 2] {
    // A set has at most 128 members.
    [b'D', member as u8]
}

/// An intent.
pub fn intent(number: u64) -> Vec<u8> {
    // Ordered by number.
    [b"I", number.to_be_bytes().as_slice()].concat()
}

/// The number of an intent.
pub fn intent_number(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.strip_prefix(b"I")?.try_into().ok()?))
}

/// The stripe of a row's key, or of a dirty record's behind `prefix`.
pub fn stripe_of(key: &[u8], prefix: &[u8]) -> Option<StripeId> {
    let (object, number) = key.strip_prefix(prefix)?.split_at_checked(16)?;
    let object = ObjectId(u128::from_be_bytes(object.try_into().ok()?));
    Some(StripeId { object, number: u64::from_be_bytes(number.try_into().ok()?) })
}

/// What follows all keys with a prefix of one byte or two, none of them 255.
pub fn behind(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// The first key behind another one.
pub fn next(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

fn of_stripe(prefix: &[u8], stripe: StripeId) -> Vec<u8> {
    let object = stripe.object.0.to_be_bytes();
    [prefix, &object, &stripe.number.to_be_bytes()].concat()
}
