// SPDX-License-Identifier: Apache-2.0

//! The kernel's table of mounts (`/proc/self/mountinfo`): who is mounted where, without asking the mount itself.
//!
//! **Failure model.** The table may change while it is read, and may be unreadable (no `/proc`): that is an error of the
//! caller's operation. Lines that are not understood are passed over.

use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Where the kernel shows it.
pub const PATH: &str = "/proc/self/mountinfo";

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// Device number, `major:minor`: the same for all copies of a mount, in whatever namespace. It names the backing device
    /// information too.
    pub device: String,
    /// Where it is mounted.
    pub mountpoint: PathBuf,
    /// Type; [`FS_TYPE`](super::FS_TYPE) for ours.
    pub fs_type: String,
    /// What the mount says it is, such as `host:/`.
    pub source: String,
    /// Neither read-only nor `noatime`, here or as a whole.
    pub renews_access_times: bool,
}

/// All mounts that this process sees, in the order in which they were made.
pub fn all() -> io::Result<Vec<MountEntry>> {
    Ok(parse(&std::fs::read(PATH)?).collect())
}

/// The same as another process sees them, which may be in another mount namespace. An error where it is gone, or where this
/// user may not look at it.
pub fn of_process(pid: i32) -> io::Result<Vec<MountEntry>> {
    Ok(parse(&std::fs::read(format!("/proc/{pid}/mountinfo"))?).collect())
}

/// The mount that is uppermost at exactly this path, if any.
pub fn top_at(mountpoint: &Path) -> io::Result<Option<MountEntry>> {
    Ok(all()?.into_iter().rfind(|entry| entry.mountpoint == mountpoint))
}

/// The oldest mount of a device number, if any.
pub(super) fn oldest(number: &str) -> io::Result<Option<MountEntry>> {
    Ok(all()?.into_iter().find(|entry| entry.device == number))
}

/// The entries of a table, in the order in which the mounts were made (proc_pid_mountinfo(5)).
pub fn parse(table: &[u8]) -> impl DoubleEndedIterator<Item = MountEntry> {
    table.split(|byte| *byte == b'\n').filter_map(parse_line)
}

fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|byte| *byte == b' ');
    let text = |field: &[u8]| String::from_utf8_lossy(&unescape(field)).into_owned();
    let device = text(fields.nth(2)?);
    let mountpoint = PathBuf::from(std::ffi::OsString::from_vec(unescape(fields.nth(1)?)));
    let own = fields.next()?;
    fields.find(|field| *field == b"-")?;
    let (fs_type, source) = (text(fields.next()?), text(fields.next()?));
    let whole = fields.next().unwrap_or_default();
    let mut flags = own.split(|byte| *byte == b',').chain(whole.split(|byte| *byte == b','));
    let renews_access_times = !flags.any(|flag| flag == b"ro" || flag == b"noatime");
    Some(MountEntry { device, mountpoint, fs_type, source, renews_access_times })
}

/// Takes back the octal escapes of blanks and the like.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_and_without_optional_fields_and_with_blanks() {
        let table = b"36 35 98:0 / /mnt\\040two rw,noatime shared:1 master:2 - fuse.nyala host:/ rw\n\
            37 35 0:44 / /mnt rw - ext4 /dev/x rw\nnonsense\n\n";
        let entries: Vec<MountEntry> = parse(table).collect();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].mountpoint, Path::new("/mnt two"));
        assert_eq!((&entries[0].device[..], &entries[0].fs_type[..]), ("98:0", "fuse.nyala"));
        assert_eq!((&entries[1].fs_type[..], &entries[1].source[..]), ("ext4", "/dev/x"));
        assert_eq!(entries.iter().map(|entry| entry.renews_access_times).collect::<Vec<_>>(), [false, true]);
        let read_only =
            b"38 35 0:44 / /mnt rw,relatime - ext4 /dev/x ro,errors=continue\n39 35 0:44 / /mnt ro - ext4 /dev/x rw";
        assert!(parse(read_only).all(|entry| !entry.renews_access_times));
        assert_eq!(unescape(b"a\\134\\9"), b"a\\\\9");
    }
}
