// SPDX-License-Identifier: Apache-2.0

//! Mirrors agree in the end: the members of a group have the same chunk files with the same bytes.

use nyala_store::testing::Machine as Disk;

/// What two members differ in. Files whose inode begins with `plain` are not mirrored: members may have any of them. A file that is
/// not there is as good as one of no bytes: the latter stays where a creation is taken back that the other member never saw.
pub fn judge(one: &Disk, other: &Disk, plain: &str) -> Option<String> {
    let names = |disk: &Disk| {
        let files = disk.files().into_iter().filter(|(name, _)| plain.is_empty() || !name.starts_with(plain));
        files.filter(|(_, bytes)| *bytes > 0).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let (ones, others) = (names(one), names(other));
    if ones != others {
        return Some(format!("one has {ones:?}, the other {others:?}"));
    }
    ones.into_iter().find_map(|name| {
        let (one, other) = (one.read(&name)?, other.read(&name)?);
        if one == other {
            return None;
        }
        let at = one.iter().zip(&other).position(|(one, other)| one != other);
        Some(format!("{name}: {} and {} bytes, which differ at {at:?}", one.len(), other.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(files: &[(&str, u8)]) -> Disk {
        let disk = Disk::new(1);
        for (name, byte) in files {
            disk.disk().create(name, 0).and_then(|file| file.write_at(0, &[*byte; 9])).unwrap();
        }
        disk
    }

    #[test]
    fn names_and_bytes_are_compared() {
        let one = disk(&[("0001-2.0", 1), ("0002-2.0", 2)]);
        assert_eq!(judge(&one, &disk(&[("0001-2.0", 1), ("0002-2.0", 2)]), ""), None);
        assert_eq!(judge(&one, &disk(&[("0001-2.0", 1)]), "0002"), None, "what is not mirrored is left out");
        assert!(judge(&one, &disk(&[("0001-2.0", 1)]), "").is_some());
        let empty = disk(&[("0001-2.0", 1), ("0002-2.0", 2)]);
        empty.disk().create("0003-2.0", 0).unwrap();
        assert_eq!(judge(&one, &empty, ""), None, "no file and no bytes are the same");
        assert!(judge(&one, &disk(&[("0001-2.0", 1), ("0002-2.0", 3)]), "").is_some());
    }
}
