// SPDX-License-Identifier: Apache-2.0

//! What the services left on disk, by kinds of structures, and flipping bits in it.

use crate::flips::cluster::Who;
use nyala_wire::SplitMix64;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const PAGE: usize = 4096;

/// A file without the zeros at its end, and how long it is.
struct Image {
    path: PathBuf,
    bytes: Vec<u8>,
    len: u64,
}

/// All directories of a cluster at one moment.
pub struct Snapshot {
    pub name: &'static str,
    files: Vec<Image>,
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

impl Snapshot {
    pub fn take(name: &'static str, dir: &Path) -> Snapshot {
        let image = |path: PathBuf| {
            let mut bytes = fs::read(&path).unwrap();
            let len = bytes.len() as u64;
            bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
            bytes.shrink_to_fit();
            Image { path: path.strip_prefix(dir).unwrap().to_owned(), bytes, len }
        };
        Snapshot { name, files: files(dir).into_iter().map(image).collect() }
    }

    /// Makes it once more.
    pub fn put(&self, dir: &Path) {
        for Image { path, bytes, len } in &self.files {
            let path = dir.join(path);
            nyala_store::private::make_dir(path.parent().unwrap()).unwrap();
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
            file.set_len(*len).unwrap();
            file.write_all_at(bytes, 0).unwrap();
        }
    }

    /// The structures of a service, by kind.
    fn areas(&self, who: Who) -> BTreeMap<&'static str, Vec<(&Image, Range<u64>)>> {
        let mut areas: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for image in self.files.iter().filter(|image| image.path.starts_with(who.dir())) {
            for (kind, range) in kinds(image) {
                if !range.is_empty() {
                    areas.entry(kind).or_default().push((image, range));
                }
            }
        }
        areas
    }
}

/// The kinds of what is in a file.
fn kinds(image: &Image) -> Vec<(&'static str, Range<u64>)> {
    let name = image.path.file_name().unwrap().to_str().unwrap();
    let (used, len) = (image.bytes.len() as u64, image.len);
    let ending = |ending: &str| name.ends_with(ending);
    match name {
        "LOCK" => vec![],
        "rest.token" | "view.token" => vec![("token", 0..len)],
        "reserve" => vec![("log reserve", 0..len)],
        "tree" => (0..len as usize / PAGE).map(|page| (page_kind(image, page), bytes_of(page))).collect(),
        _ if ending(".toml") => vec![("identity", 0..len)],
        _ if ending(".seg") => {
            let end = used.max(PAGE as u64);
            // The last record is a kind of its own: nothing behind it says that it was ever there.
            let last = end.saturating_sub(64).max(PAGE as u64);
            vec![
                ("log header", 0..64),
                ("log records", PAGE as u64..last),
                ("log, last record", last..end),
                ("log, unused", end..len.min(end + 8192)),
            ]
        }
        _ if image.path.components().any(|part| part.as_os_str() == "chunks") => vec![("chunk file", 0..len)],
        _ => panic!("{} is of no known kind", image.path.display()),
    }
}

fn bytes_of(page: usize) -> Range<u64> {
    (page * PAGE) as u64..((page + 1) * PAGE) as u64
}

/// By what pages look like; free ones look like what they were.
fn page_kind(image: &Image, page: usize) -> &'static str {
    let at = page * PAGE;
    let head = image.bytes.get(at..(at + 10).min(image.bytes.len())).unwrap_or_default();
    match head {
        _ if page < 4 => "tree header",
        [1, 0, low, high, 0, 0, 0, 0, ..] if [*low, *high] != [0, 0] => "tree leaf",
        [1, 1..=8, low, high, 0, 0, 0, 0, ..] if [*low, *high] != [0, 0] => "tree branch",
        [] | [0, 0, 0, 0, 0, 0, 0, 0, ..] => "tree, unused",
        _ => "tree, large value or list",
    }
}

/// Bits to flip, all in one structure.
#[derive(Clone, Debug)]
pub struct Flip {
    pub who: Who,
    pub kind: &'static str,
    pub path: PathBuf,
    /// Byte and bits.
    bits: Vec<(u64, u8)>,
}

impl Flip {
    /// Every kind of structure is as likely as every other one: there are few headers and many records.
    pub fn random(snapshot: &Snapshot, who: Who, random: &mut SplitMix64) -> Flip {
        let areas = snapshot.areas(who);
        let mut chosen = |count: usize| random.below(count as u64) as usize;
        let kind = *areas.keys().nth(chosen(areas.len())).unwrap();
        let (image, range) = &areas[kind][chosen(areas[kind].len())];
        let len = range.end - range.start;
        let at = range.start + random.below(len);
        let mut bits = vec![(at, 1 << random.below(8))];
        // Mostly one bit; else some near each other, as a disk's sector or a bad cell gives.
        if random.below(4) == 0 {
            for _ in 0..1 + random.below(8) {
                let near = (at + random.below(64)).min(range.end - 1);
                if bits.iter().all(|(other, _)| *other != near) {
                    bits.push((near, 1 << random.below(8)));
                }
            }
        }
        Flip { who, kind, path: image.path.clone(), bits }
    }

    pub fn apply(&self, dir: &Path) {
        // A service that runs may just have removed it.
        let Ok(file) = OpenOptions::new().read(true).write(true).open(dir.join(&self.path)) else { return };
        for (at, mask) in &self.bits {
            let mut byte = [0];
            if file.read_exact_at(&mut byte, *at).is_ok() {
                file.write_all_at(&[byte[0] ^ mask], *at).unwrap();
            }
        }
    }
}

/// Flips a bit in the only chunk file of an inode below a target's directory.
pub fn damage_chunk_file(target: &Path, inode: nyala_wire::InodeId) {
    let all = files(&target.join("chunks"));
    let path = all.iter().find(|path| path.file_name().unwrap().to_str().unwrap() == format!("{inode}.0")).unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[1000] ^= 4;
    fs::write(path, bytes).unwrap();
}

/// Bytes of the chunk files of an inode below a directory.
pub fn chunk_files(dir: &Path, inode: nyala_wire::InodeId) -> Vec<Vec<u8>> {
    let name = format!("{inode}.");
    let its = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&name);
    files(&dir.join("chunks")).iter().filter(|path| its(path)).map(|path| fs::read(path).unwrap()).collect()
}
