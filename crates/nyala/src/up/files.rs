// SPDX-License-Identifier: Apache-2.0

//! Small files that appear whole or not at all, and the last lines of large ones.

use crate::exit::{Failure, io};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes that are looked at for the last lines of a log.
const TAIL_BYTES: u64 = 16 << 10;

/// Writes a file under another name, syncs and renames it.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let temporary = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    };
    write().map_err(io(format!("cannot write {}", path.display())))
}

/// The last lines of a log that were written after its first `from` bytes, indented; says where they are from.
pub fn tail(path: &Path, from: u64, lines: usize) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        let start = len.saturating_sub(TAIL_BYTES).max(from.min(len));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    match read() {
        Ok(text) if text.trim().is_empty() => format!("its log {} is empty", path.display()),
        Ok(text) => {
            let all: Vec<&str> = text.lines().collect();
            let last = all[all.len().saturating_sub(lines)..].iter().map(|line| format!("\n  {line}"));
            format!("the last lines of {}:{}", path.display(), last.collect::<String>())
        }
        Err(error) => format!("its log {} cannot be read: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_this_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        assert!(tail(&path, 0, 3).contains("cannot be read"));
        write_whole(&path, "old\n").unwrap();
        assert!(tail(&path, 4, 3).contains("is empty"));
        write_whole(&path, "old\na\nb\nc\n").unwrap();
        let text = tail(&path, 4, 2);
        assert!(text.ends_with("x.log:\n  b\n  c"), "{text}");
        write_whole(&path, &"line\n".repeat(100_000)).unwrap();
        assert_eq!(tail(&path, 0, 5).matches("line").count(), 6, "five, and the word in `lines of`");
    }
}
