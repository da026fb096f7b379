// SPDX-License-Identifier: Apache-2.0

//! The bytes of a superblock.

use super::*;
use crate::ids::{ObjectId, StripeId};

fn superblock() -> Superblock {
    let geometry = Geometry::new(Level::NPlusM { parity: 2 }, 5, 0x10000).expect("it can be");
    let behind = Some(StripeId { object: ObjectId(0xa), number: 0xb });
    let states = [
        MemberState::Good,
        MemberState::Missing,
        MemberState::CatchingUp,
        MemberState::Rebuilding { behind: None },
        MemberState::Rebuilding { behind },
    ];
    let member = |(at, state)| Member { drive: DriveId(at as u128 + 1), state };
    let members = states.into_iter().enumerate().map(member).collect();
    Superblock { set: SetId(7), generation: 0x0102, geometry, members, drive: DriveId(3) }
}

#[test]
fn bytes_are_as_documented() {
    let id = |id: u8| [&[id][..], &[0; 15]].concat();
    let head: &[u8] = b"NYALARD\0\x01\0\x64\x02\x05\0\0\0";
    let rest: &[u8] = &[2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    let mut right = [head, &id(7), &id(3), rest].concat();
    (0..5).for_each(|at| right.extend([id(at + 1), vec![at]].concat()));
    right.extend([[0; 15].as_slice(), &[10], &[0; 7], &[11]].concat());
    right.extend(crc32c(&right).to_le_bytes());
    assert_eq!(superblock().encode(), right);
    assert_eq!(Superblock::decode(&right), Some(superblock()));
}

#[test]
fn damage_is_refused() {
    let bytes = superblock().encode();
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 0x10;
        assert_eq!(Superblock::decode(&other), None, "byte {at}");
        assert_eq!(Superblock::decode(&bytes[..at]), None, "{at} bytes");
    }
}
