// SPDX-License-Identifier: Apache-2.0

//! What each drive says of its set.

use crate::geometry::Geometry;
use crate::reader::Reader;

use crate::key;
use crate::level::Level;
use crate::member::{DriveId, Member, MemberState, SetId};
use nyala_wire::checksum::crc32c;

const MAGIC: &[u8; 8] = b"NYALARD\0";
/// Version of the encoding.
const FORMAT: u16 = 1;

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
        let (level, with) = level_code(self.geometry.level());
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
        let geometry = Geometry::new(level_of(level, with)?, count, strip_bytes).ok()?;
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

/// A level's number, and what goes with it (groups, or parity strips; otherwise 0).
fn level_code(level: Level) -> (u8, u8) {
    match level {
        Level::Raid0 => (0, 0),
        Level::Raid1 => (1, 0),
        Level::Raid10 => (10, 0),
        Level::Raid5 => (5, 0),
        Level::Raid6 => (6, 0),
        Level::Raid73 => (7, 0),
        Level::NPlusM { parity } => (100, parity),
        Level::Raid50 { groups } => (50, groups),
        Level::Raid60 { groups } => (60, groups),
        Level::Raid70 { groups } => (70, groups),
    }
}

fn level_of(code: u8, with: u8) -> Option<Level> {
    Some(match (code, with) {
        (0, 0) => Level::Raid0,
        (1, 0) => Level::Raid1,
        (10, 0) => Level::Raid10,
        (5, 0) => Level::Raid5,
        (6, 0) => Level::Raid6,
        (7, 0) => Level::Raid73,
        (100, parity) => Level::NPlusM { parity },
        (50, groups) => Level::Raid50 { groups },
        (60, groups) => Level::Raid60 { groups },
        (70, groups) => Level::Raid70 { groups },
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
