// SPDX-License-Identifier: Apache-2.0

//! Writes a backup: beside its name, synced, and then under it. Failure model: see the parent module.

use super::manifest::{FILES, HEAD, Manifest, SUMS, Sum};
use super::source;
use crate::exit::{Failure, io};
use crate::progress::{Counted, Pace, Part, Shown};
use flate2::Compression;
use flate2::write::GzEncoder;
use nyala_wire::checksum::{crc32c, crc32c_combine};
use std::fs::File;
use std::io::{Error, Read, Write};
use std::path::{Path, PathBuf};

/// What processes leave behind and make anew.
const NOT_TAKEN: [&str; 1] = ["LOCK"];

/// Makes a backup of the directory of a stopped service in a new file. Blocks on the disk.
pub fn create(dir: &Path, file: &Path) -> Result<(Manifest, u64), Failure> {
    let shown = file.display().to_string();
    if file.exists() {
        return Err(Failure::failed(format!("{shown} exists; give each backup a name of its own")));
    }
    let source = source::open(dir)?;
    let temporary = file.with_file_name(format!("{}.new", file.file_name().unwrap_or_default().to_string_lossy()));
    let cannot = || io(format!("cannot write {shown}"));
    let written = write(&source, &temporary);
    if written.is_err() {
        // why ignored: what counts is why it was not written; the next attempt overwrites it.
        let _ = std::fs::remove_file(&temporary);
    }
    let bytes = written.map_err(cannot())?;
    std::fs::rename(&temporary, file).map_err(cannot())?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(cannot())?;
    Ok((source.manifest, bytes))
}

fn write(source: &source::Source, file: &Path) -> Result<u64, Error> {
    let out = nyala_store::private::new_file().truncate(true).open(file)?;
    let mut tar = tar::Builder::new(GzEncoder::new(out, Compression::fast()));
    append(&mut tar, HEAD, &serde_json::to_vec_pretty(&source.manifest)?)?;
    let mut found = Vec::new();
    list(&source.dir, Path::new(""), &mut found)?;
    found.sort();
    let total = found.iter().map(|(_, bytes)| bytes).sum();
    let (mut sums, mut done) = (Vec::new(), 0);
    let (mut shown, mut pace) = (Shown::default(), Pace::default());
    for (path, _) in &found {
        let name = path.to_string_lossy().into_owned();
        if name == source.manifest.kind.identity() {
            append(&mut tar, &format!("{FILES}/{name}"), &source.identity)?;
            sums.push(Sum { name, bytes: source.identity.len() as u64, crc32c: crc32c(&source.identity) });
            continue;
        }
        let opened = File::open(source.dir.join(path))?;
        let bytes = opened.metadata()?.len();
        let mut summed = Summed { inner: opened.take(bytes), crc32c: crc32c(&[]), bytes: 0 };
        let mut header = header(bytes);
        tar.append_data(&mut header, format!("{FILES}/{name}"), &mut summed)?;
        if summed.bytes != bytes {
            return Err(Error::other(format!("{name} became shorter while it was read")));
        }
        done += bytes;
        sums.push(Sum { name, bytes, crc32c: summed.crc32c });
        pace.note(shown.began().elapsed(), done);
        let part = Part::of(&pace, ("backup", Counted::Bytes), done, total);
        shown.tell(|| pace.line("backup", Counted::Bytes, Some(total)), Some(part));
    }
    append(&mut tar, SUMS, &serde_json::to_vec(&sums)?)?;
    let mut out = tar.into_inner()?.finish()?;
    out.flush()?;
    out.sync_all()?;
    Ok(out.metadata()?.len())
}

fn header(bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header
}

fn append<W: Write>(tar: &mut tar::Builder<W>, name: &str, bytes: &[u8]) -> Result<(), Error> {
    tar.append_data(&mut header(bytes.len() as u64), name, bytes)
}

/// Files below a directory, with their lengths. Links and sockets are none of ours.
fn list(top: &Path, below: &Path, found: &mut Vec<(PathBuf, u64)>) -> Result<(), Error> {
    for entry in std::fs::read_dir(top.join(below))? {
        let entry = entry?;
        let (path, meta) = (below.join(entry.file_name()), entry.metadata()?);
        if meta.is_dir() {
            list(top, &path, found)?;
        } else if meta.is_file() && !NOT_TAKEN.iter().any(|name| entry.file_name() == *name) {
            found.push((path, meta.len()));
        }
    }
    Ok(())
}

/// Bytes with a checksum of what was read of them.
pub(super) struct Summed<R> {
    pub inner: R,
    pub crc32c: u32,
    pub bytes: u64,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        let read = self.inner.read(out)?;
        self.crc32c = crc32c_combine(self.crc32c, crc32c(&out[..read]), read as u64);
        self.bytes += read as u64;
        Ok(read)
    }
}
