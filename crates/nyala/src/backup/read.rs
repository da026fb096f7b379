// SPDX-License-Identifier: Apache-2.0

//! Reads a backup, to show what it is or to put it back. Failure model: see the parent module.

use super::manifest::{FILES, HEAD, Kind, MAX_TEXT, Manifest, SUMS, Sum};
use super::write::Summed;
use crate::exit::{Failure, io};
use flate2::read::GzDecoder;
use nyala_wire::checksum::crc32c;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Where files are until all of them are known to be whole, below the directory.
const STAGED: &str = "restoring";

/// What a backup is, once everything in it has been read and compared. Blocks on the disk.
pub fn show(file: &Path) -> Result<Manifest, Failure> {
    unpack(file, None).map_err(|error| error.context(file.display()))
}

/// Puts a backup back into a missing or empty directory; `staged` is called before anything has its place, with where it is, and may refuse.
/// Blocks on the disk.
pub fn restore(
    file: &Path,
    dir: &Path,
    staged: impl FnOnce(&Manifest, &Path) -> Result<(), Failure>,
) -> Result<Manifest, Failure> {
    let cannot = |what: &str| io(format!("cannot {what} {}", dir.display()));
    nyala_store::private::make_dir(dir).map_err(cannot("make"))?;
    let stage = dir.join(STAGED);
    for entry in std::fs::read_dir(dir).map_err(cannot("read"))? {
        let name = entry.map_err(cannot("read"))?.file_name();
        if name != STAGED && name != "lost+found" {
            let why =
                format!("{} is not empty ({}); a backup goes into an empty directory", dir.display(), name.display());
            return Err(Failure::failed(why));
        }
    }
    if stage.exists() {
        std::fs::remove_dir_all(&stage).map_err(cannot("clean"))?;
    }
    let unpacked = unpack(file, Some(&stage)).map_err(|error| error.context(file.display()));
    let manifest = match unpacked.and_then(|manifest| staged(&manifest, &stage).map(|()| manifest)) {
        Ok(manifest) => manifest,
        Err(error) => {
            // why ignored: what counts is why it was refused; the next attempt removes it.
            let _ = std::fs::remove_dir_all(&stage);
            return Err(error);
        }
    };
    settle(&stage, dir, manifest.kind).map_err(cannot("fill"))?;
    Ok(manifest)
}

/// Everything gets its place, the identity last.
fn settle(stage: &Path, dir: &Path, kind: Kind) -> Result<(), std::io::Error> {
    let sync = |dir: &Path| File::open(dir).and_then(|dir| dir.sync_all());
    for entry in std::fs::read_dir(stage)? {
        let name = entry?.file_name();
        if name != kind.identity() {
            std::fs::rename(stage.join(&name), dir.join(&name))?;
        }
    }
    sync(dir)?;
    std::fs::rename(stage.join(kind.identity()), dir.join(kind.identity()))?;
    std::fs::remove_dir(stage)?;
    sync(dir)
}

/// Reads all of it, and compares it with what it should be; writes it, if there is a place for it.
fn unpack(file: &Path, to: Option<&Path>) -> Result<Manifest, Failure> {
    let opened = File::open(file).map_err(io("cannot open"))?;
    let mut tar = tar::Archive::new(GzDecoder::new(opened));
    let broken = || io("it is no backup of nyala, or is damaged");
    let (mut manifest, mut sums, mut found) = (None, None, Vec::new());
    for entry in tar.entries().map_err(broken())? {
        let entry = entry.map_err(broken())?;
        let name = entry.path().map_err(broken())?.into_owned();
        if manifest.is_none() {
            // Of what is something else, nothing more is read.
            let head = if name == Path::new(HEAD) { text(entry)? } else { Vec::new() };
            manifest = Some(Manifest::read(&head)?);
        } else if name == Path::new(SUMS) {
            let read: Vec<Sum> =
                serde_json::from_slice(&text(entry)?).map_err(|error| io("its list is damaged")(error.into()))?;
            sums = Some(read);
        } else {
            found.push(one_file(entry, &name, to)?);
        }
    }
    // Its checksum comes after everything that is of interest.
    std::io::copy(&mut tar.into_inner(), &mut std::io::sink()).map_err(broken())?;
    let manifest = manifest.ok_or_else(|| Failure::failed("it is empty"))?;
    let sums = sums.ok_or_else(|| Failure::failed("it is cut off: its end is missing"))?;
    if let Some(wrong) = sums.iter().find(|sum| !found.contains(sum)) {
        return Err(Failure::failed(format!("it is damaged: {} is missing or is not what it was", wrong.name)));
    }
    let whole = found.len() == sums.len() && sums.iter().any(|sum| sum.name == manifest.kind.identity());
    if whole { Ok(manifest) } else { Err(Failure::failed("it is damaged: it has other files than its list says")) }
}

fn text(entry: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    entry.take(MAX_TEXT).read_to_end(&mut bytes).map_err(io("it is no backup of nyala, or is damaged"))?;
    Ok(bytes)
}

/// A file of the directory: read, and written if there is a place for it.
fn one_file(entry: impl Read, name: &Path, to: Option<&Path>) -> Result<Sum, Failure> {
    let name =
        below(name).ok_or_else(|| Failure::failed(format!("it has a file where none can be: {}", name.display())))?;
    let mut summed = Summed { inner: entry, crc32c: crc32c(&[]), bytes: 0 };
    match to {
        None => std::io::copy(&mut summed, &mut std::io::sink()).map(drop),
        Some(to) => write(&mut summed, &to.join(&name)),
    }
    .map_err(io(name.display()))?;
    Ok(Sum { name: name.to_string_lossy().into_owned(), bytes: summed.bytes, crc32c: summed.crc32c })
}

fn write(from: &mut impl Read, path: &Path) -> Result<(), std::io::Error> {
    let parent = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    nyala_store::private::make_dir(parent)?;
    let mut out = nyala_store::private::new_file().create_new(true).open(path)?;
    std::io::copy(from, &mut out)?;
    out.sync_all()?;
    File::open(parent)?.sync_all()
}

/// The path of a file in the directory, if it is one that cannot lead out of it.
fn below(name: &Path) -> Option<PathBuf> {
    let path = name.strip_prefix(FILES).ok()?;
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && path.file_name().is_some()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests;
