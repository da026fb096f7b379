// SPDX-License-Identifier: Apache-2.0

//! The table of file systems, `/etc/fstab`: lines of ours are found and added; everything else in it stays byte for byte.
//!
//! **Failure model.** The host boots by this file. It may be missing, unreadable, without an end of its last line, not UTF-8, or have
//! broken lines: those stay, and a table that cannot be read is an error, never an empty one. It is written beside itself, synced and
//! renamed, so a crash leaves the old or the new one; mode and owner stay, and a table that is a link stays one. Somebody else may
//! change it between the plan and the step: the step looks again, and refuses another line for the mount point.

use super::replace::replace_file;
use crate::exit::{Failure, io};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A field as the table has it: what separates fields and lines is written as octal numbers.
pub fn escape(text: &str) -> String {
    let written = |c: char| match c {
        ' ' | '\t' | '\n' | '\r' | '\\' => format!("\\{:03o}", u32::from(c)),
        c => c.to_string(),
    };
    // A line whose first field begins with # would be a comment.
    match text.strip_prefix('#') {
        Some(rest) => format!("\\043{}", escape(rest)),
        None => text.chars().map(written).collect(),
    }
}

/// A field as it is meant.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        let value = octal.map(|digits| digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0')));
        if let Some(byte) = value.and_then(|value| u8::try_from(value).ok()) {
            out.push(byte);
            rest = &after[3..];
        } else {
            out.push(first);
            rest = after;
        }
    }
    out
}

/// The fields of a line; none where it is a comment or empty.
fn fields(line: &[u8]) -> Vec<Vec<u8>> {
    let line = line.trim_ascii();
    if line.starts_with(b"#") {
        return Vec::new();
    }
    let parts = line.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty());
    let mut fields: Vec<Vec<u8>> = parts.map(unescaped).collect();
    // The last two may be left out, and are 0 then.
    if fields.len() >= 4 {
        fields.resize(6, b"0".to_vec());
    }
    fields
}

/// What a table says of a mount point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing.
    No,
    /// This very line.
    Same,
    /// Another line, as it stands there.
    Other(String),
}

/// What a table says of the mount point of a line.
pub fn known(table: &[u8], line: &str) -> Known {
    let wanted = fields(line.as_bytes());
    // Path, so that a trailing slash makes no difference.
    let point = |fields: &[Vec<u8>]| fields.get(1).map(|point| PathBuf::from(OsString::from_vec(point.clone())));
    let mut found = Known::No;
    for there in table.split(|byte| *byte == b'\n') {
        let own = fields(there);
        if own.len() < 2 || point(&own) != point(&wanted) {
            continue;
        }
        if own[..1] != wanted[..1] || own[2..] != wanted[2..] {
            return Known::Other(String::from_utf8_lossy(there.trim_ascii()).into_owned());
        }
        found = Known::Same;
    }
    found
}

/// A table; an absent one is empty.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(io(path.display())),
    }
}

/// Refuses another line for the mount point; says whether the line is to be added.
pub fn is_to_be_added(path: &Path, line: &str) -> Result<bool, Failure> {
    match known(&read(path)?, line) {
        Known::No => Ok(true),
        Known::Same => Ok(false),
        Known::Other(there) => Err(Failure::failed(format!(
            "{} has another line for this mount point: {there}; change or remove that one. The new one would be: {line}",
            path.display()
        ))),
    }
}

/// Adds a line at the end, unless it is there.
pub fn add(path: &Path, line: &str) -> Result<(), Failure> {
    if !is_to_be_added(path, line)? {
        return Ok(());
    }
    let mut text = read(path)?;
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(line.as_bytes());
    text.push(b'\n');
    replace_file(path, &text).map_err(io(format!("cannot write {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Gid, Uid};
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    const LINE: &str = "h:/ /mnt/a fuse.nyala _netdev 0 0";

    #[test]
    fn fields_are_escaped_and_read_back() {
        for (text, written) in [("/mnt/a b", "/mnt/a\\040b"), ("\t\\x", "\\011\\134x"), ("#h", "\\043h"), ("/ä", "/ä")]
        {
            assert_eq!(escape(text), written);
            assert_eq!(unescaped(written.as_bytes()), text.as_bytes());
        }
        assert_eq!(unescaped(b"\\04 \\999 \\777\\"), b"\\04 \\999 \\777\\", "no numbers of bytes");
    }

    #[test]
    fn lines_are_found_by_their_mount_point() {
        let other = |table: &str| matches!(known(table.as_bytes(), LINE), Known::Other(_));
        assert_eq!(known(b"", LINE), Known::No);
        assert_eq!(known(b"# h:/ /mnt/a fuse.nyala x 0 0\n/mnt/a\nUUID=1 / ext4 rw 0 1\n", LINE), Known::No);
        assert_eq!(known(b"UUID=1 / ext4 rw 0 1\n  h:/\t/mnt/a/  fuse.nyala _netdev 0 0", LINE), Known::Same);
        assert_eq!(known(b"h:/ /mnt/a fuse.nyala _netdev", LINE), Known::Same);
        assert!(other("k:/ /mnt/a fuse.nyala _netdev 0 0\n") && other("h:/ /mnt/a fuse.nyala ro 0 0\n"));
        assert!(other("UUID=1 /mnt/a\n"), "a broken line is one as well");
        assert!(other(&format!("{LINE}\nUUID=2 /mnt/a ext4 rw 0 1\n")), "a second one hides the first");
        let blank = "h:/ /mnt/a\\040b fuse.nyala x 0 0";
        assert_eq!(known(format!("\u{fffd}\n{blank}").as_bytes(), blank), Known::Same);
        assert_eq!(known(blank.as_bytes(), LINE), Known::No);
    }

    #[test]
    fn a_line_is_added_and_everything_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("fstab"));
        let before = b"# mine \xff\n\nbroken\nUUID=1 / ext4 rw 0 1".to_vec();
        std::fs::write(&real, &before).unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        rustix::fs::chown(&real, Some(Uid::from_raw(7)), Some(Gid::from_raw(8))).unwrap();
        let inode = std::fs::metadata(&real).unwrap().ino();
        add(&link, LINE).unwrap();
        let after = [before.as_slice(), b"\n", LINE.as_bytes(), b"\n"].concat();
        assert_eq!(std::fs::read(&real).unwrap(), after);
        let now = std::fs::metadata(&real).unwrap();
        assert_eq!((now.mode() & 0o7777, now.uid(), now.gid()), (0o640, 7, 8));
        assert_ne!(now.ino(), inode, "it is another file that was renamed");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        add(&link, LINE).unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), after, "not twice");
        let refused = add(&link, "k:/ /mnt/a fuse.nyala _netdev 0 0").unwrap_err().message;
        assert!(refused.contains(LINE) && refused.contains("change or remove"), "{refused}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside it");
        let new = dir.path().join("new");
        add(&new, LINE).unwrap();
        assert_eq!(std::fs::metadata(&new).unwrap().mode() & 0o7777, 0o644);
        assert!(read(dir.path()).is_err(), "what cannot be read is not empty");
    }
}
