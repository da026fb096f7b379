// SPDX-License-Identifier: Apache-2.0

//! What each drive says of its set.

use crate::bytes::Reader;
use crate::geometry::{Geometry, StripeId};
use crate::key;
use crate::level::Level;
use nyala_wire::checksum::crc32c;

const MAGIC: &[u8; 8] = b"NYALARD\0";
/// Version of the encoding.
const FORMAT: u16 = 1;

/// A drive's identity, random, made once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriveId(pub u128);

/// A set's identity, random, made once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub u128);

/// A member's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It has everything.
    Good,
    /// It is not there, or it failed; the others remember what it misses.
    Missing,
    /// It is there, and gets what it has missed.
    CatchingUp,
    /// It is new: stripes behind this one are not there yet; `None` is the beginning.
    Rebuilding {
        /// The last stripe that it has.
        behind: Option<StripeId>,
    },
}

impl MemberState {
    /// What a member is when it is back, of which this was the last state that it heard of. One that was new has no more than it had: what it
    /// missed of that is remembered by the others.
    pub fn on_return(self) -> MemberState {
        match self {
            MemberState::Rebuilding { .. } => self,
            MemberState::Good | MemberState::Missing | MemberState::CatchingUp => MemberState::CatchingUp,
        }
    }
}

/// One member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The drive.
    pub drive: DriveId,
    /// Its state.
    pub state: MemberState,
}

/// The state of a set, in the table of every member. The largest generation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The set.
    pub set: SetId,
    /// Grows with every change.
    pub generation: u64,
    /// The geometry.
    pub geometry: Geometry,
    /// By number.
    pub members: Vec<Member>,
    /// The drive that this superblock lies on.
    pub drive: DriveId,
}

impl Superblock {
    /// As it lies in a table.
    pub fn encode(&self) -> Vec<u8> {
        let (level, with) = self.geometry.level().code();
        let mut out = MAGIC.to_vec();
        out.extend(FORMAT.to_le_bytes());
        // At most 128 members.
        out.extend([level, with, self.members.len() as u8, 0, 0, 0]);
        out.extend(self.set.0.to_le_bytes());
        out.extend(self.drive.0.to_le_bytes());
        out.extend(self.generation.to_le_bytes());
        // At most 1 MiB.
        out.extend((self.geometry.strip_bytes() as u32).to_le_bytes());
        for member in &self.members {
            out.extend(member.drive.0.to_le_bytes());
            let (state, behind) = match member.state {
                MemberState::Good => (0, None),
                MemberState::Missing => (1, None),
                MemberState::CatchingUp => (2, None),
                MemberState::Rebuilding { behind: None } => (3, None),
                MemberState::Rebuilding { behind } => (4, behind),
            };
            out.push(state);
            behind.iter().for_each(|stripe| out.extend(&key::row(*stripe)[1..]));
        }
        out.extend(crc32c(&out).to_le_bytes());
        out
    }

    /// From a table; `None` if it is damaged, or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Superblock> {
        let (covered, sum) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        if crc32c(covered).to_le_bytes() != sum {
            return None;
        }
        let mut reader = Reader(covered);
        if reader.take(8)? != MAGIC || reader.take(2)? != FORMAT.to_le_bytes() {
            return None;
        }
        let (level, with, count) = (reader.u8()?, reader.u8()?, usize::from(reader.u8()?));
        reader.take(3)?;
        let (set, drive) = (SetId(reader.u128()?), DriveId(reader.u128()?));
        let (generation, strip_bytes) = (reader.u64()?, reader.u32()? as usize);
        let geometry = Geometry::new(Level::of_code(level, with)?, count, strip_bytes).ok()?;
        let mut members = Vec::new();
        for _ in 0..count {
            let drive = DriveId(reader.u128()?);
            let state = match reader.u8()? {
                0 => MemberState::Good,
                1 => MemberState::Missing,
                2 => MemberState::CatchingUp,
                3 => MemberState::Rebuilding { behind: None },
                4 => MemberState::Rebuilding { behind: Some(key::stripe_of(reader.take(24)?, b"")?) },
                _ => return None,
            };
            members.push(Member { drive, state });
        }
        reader.end()?;
        Some(Superblock { set, generation, geometry, members, drive })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::ObjectId;

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
}
