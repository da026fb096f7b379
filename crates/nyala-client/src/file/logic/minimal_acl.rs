// SPDX-License-Identifier: Apache-2.0

//! Access control lists that say no more than a file's mode: `cp -a` sets one on every file that it copies. Pure.
//!
//! The format is that of the attribute's value in Linux (`linux/posix_acl_xattr.h`): a version, then for each entry whom it is for, what
//! they may do, and an id.

const NAME: &[u8] = b"system.posix_acl_access";
const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;
/// The owner, the group, and others, and by how many bits each is above the last of a mode.
const SHIFTS: [(u16, u32); 3] = [(0x01, 6), (0x04, 3), (0x20, 0)];

/// The permissions that setting this attribute gives to a file without a list, if it says no more.
pub(crate) fn mode(name: &[u8], value: &[u8]) -> Option<u16> {
    let (version, entries) = value.split_first_chunk::<4>().filter(|_| name == NAME)?;
    if u32::from_le_bytes(*version) != VERSION || entries.len() != SHIFTS.len() * ENTRY_BYTES {
        return None;
    }
    entries.chunks_exact(ENTRY_BYTES).zip(SHIFTS).try_fold(0, |mode, (entry, (whose, shift))| {
        let [tag, may] = [[entry[0], entry[1]], [entry[2], entry[3]]].map(u16::from_le_bytes);
        (tag == whose && may <= 7).then_some(mode | may << shift)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16)]) -> Vec<u8> {
        let each = entries.iter().flat_map(|(tag, may)| [tag.to_le_bytes(), may.to_le_bytes(), [255; 2], [255; 2]]);
        VERSION.to_le_bytes().into_iter().chain(each.flatten()).collect()
    }

    #[test]
    fn only_lists_that_are_modes() {
        let plain = list(&[(1, 6), (4, 5), (32, 0)]);
        assert_eq!(mode(NAME, &plain), Some(0o650));
        assert_eq!(mode(b"system.posix_acl_default", &plain), None);
        assert_eq!(mode(NAME, &list(&[(1, 6), (2, 7), (4, 5), (16, 7), (32, 0)])), None, "a user is named");
        assert_eq!(mode(NAME, &list(&[(1, 6), (4, 9), (32, 0)])), None);
        assert_eq!(mode(NAME, &list(&[(4, 6), (1, 5), (32, 0)])), None, "another order is for the server to judge");
        assert_eq!(mode(NAME, &plain[..27]), None);
        assert_eq!(mode(NAME, b""), None);
    }
}
