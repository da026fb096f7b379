// SPDX-License-Identifier: Apache-2.0

//! The lines of the table of file systems, `/etc/fstab`.
//!
//! Failure model: a person writes the table, and so do other programs: it may have broken lines, bytes that are no UTF-8, and no end of its last
//! line. All of it is looked at as bytes; what is broken is nobody's line unless it names the mount point.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

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
    // Nothing else separates fields, for those who mount by the table.
    let parts = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|part| !part.is_empty());
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let odd = "h:/ /mnt/a\u{c}b fuse.nyala x 0 0";
        assert_eq!(known(format!("{odd}\n").as_bytes(), odd), Known::Same);
        assert_eq!(known(odd.as_bytes(), LINE), Known::No, "a form feed is part of the name");
    }
}
