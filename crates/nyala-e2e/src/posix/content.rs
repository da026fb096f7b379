// SPDX-License-Identifier: Apache-2.0

//! Bytes of files: sizes around every border, append, truncate, holes, mappings.

use super::{Check, pattern, refused, same};
use crate::sys;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(super) const CHECKS: &[Check] = &[
    ("sizes_around_borders", sizes_around_borders),
    ("small_pieces", small_pieces),
    ("append", append),
    ("truncate", truncate),
    ("sparse", sparse),
    ("two_handles", two_handles),
    ("mapped_write", mapped_write),
    ("access_modes", access_modes),
    ("vectored_and_copied", vectored_and_copied),
];

fn read_write(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

fn sizes_around_borders(dir: &Path) {
    let borders = [0_usize, 1, 511, 4096, 8192, 65_536, 131_072, 524_288, 1 << 20, 2 << 20, 3 << 20];
    for border in borders {
        for len in [border, border + 1, border.saturating_sub(1)] {
            let want = pattern(len as u64, len);
            let path = dir.join(format!("f{len}"));
            fs::write(&path, &want).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().len(), len as u64);
            same(&fs::read(&path).unwrap(), &want);
            let file = File::open(&path).unwrap();
            assert_eq!(file.read_at(&mut [0; 10], len as u64).unwrap(), 0, "nothing after the end");
        }
    }
}

fn small_pieces(dir: &Path) {
    let want = pattern(7, 300_000);
    let mut file = File::create(dir.join("f")).unwrap();
    for piece in want.chunks(777) {
        file.write_all(piece).unwrap();
    }
    assert_eq!(file.metadata().unwrap().len(), 300_000, "before the close");
    let mut reader = File::open(dir.join("f")).unwrap();
    let mut got = Vec::new();
    let mut piece = [0_u8; 1234];
    loop {
        let len = reader.read(&mut piece).unwrap();
        if len == 0 {
            break;
        }
        got.extend_from_slice(&piece[..len]);
    }
    same(&got, &want);
}

fn append(dir: &Path) {
    let path = dir.join("f");
    let open = || OpenOptions::new().append(true).create(true).open(&path).unwrap();
    let (mut one, mut two) = (open(), open());
    let mut want = Vec::new();
    for number in 0..300 {
        let record = format!("record {number} {}\n", "x".repeat(number));
        if number % 2 == 0 { one.write_all(record.as_bytes()) } else { two.write_all(record.as_bytes()) }.unwrap();
        want.extend_from_slice(record.as_bytes());
    }
    same(&fs::read(&path).unwrap(), &want);
    one.seek(SeekFrom::Start(0)).unwrap();
    one.write_all(b"at the end").unwrap();
    want.extend_from_slice(b"at the end");
    same(&fs::read(&path).unwrap(), &want);
    one.set_len(10).unwrap();
    two.write_all(b"tail").unwrap();
    want.truncate(10);
    want.extend_from_slice(b"tail");
    same(&fs::read(&path).unwrap(), &want);
}

fn truncate(dir: &Path) {
    for start in [3000_usize, 100_000, 2_500_000] {
        let file = read_write(&dir.join(format!("f{start}")));
        let mut want = pattern(3, start);
        file.write_all_at(&want, 0).unwrap();
        for len in [start - 1, start / 2 + 1, start * 2, 4097, 4095, 1, 70_000, 0, 5000] {
            file.set_len(len as u64).unwrap();
            want.resize(len, 0);
            assert_eq!(file.metadata().unwrap().len(), len as u64);
            let mut got = vec![1; len];
            file.read_exact_at(&mut got, 0).unwrap();
            same(&got, &want);
        }
        file.write_all_at(b"behind", 9000).unwrap();
        want.resize(9000, 0);
        want.extend_from_slice(b"behind");
        same(&fs::read(dir.join(format!("f{start}"))).unwrap(), &want);
    }
    refused(OpenOptions::new().write(true).open(dir), &[libc::EISDIR]);
    let file = read_write(&dir.join("huge"));
    file.set_len(1 << 40).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 1 << 40);
    let mut end = [1; 4096];
    file.read_exact_at(&mut end, (1 << 40) - 4096).unwrap();
    assert_eq!(end, [0; 4096]);
}

fn sparse(dir: &Path) {
    let path = dir.join("f");
    let file = read_write(&path);
    let offsets = [0_u64, 10_000, 1 << 20, (1 << 20) + 5000, 10 << 20, (64 << 20) - 1];
    for (number, offset) in offsets.into_iter().enumerate() {
        file.write_all_at(&pattern(number as u64, 1000), offset).unwrap();
    }
    let size = (64 << 20) - 1 + 1000;
    assert_eq!(file.metadata().unwrap().len(), size);
    file.sync_all().unwrap();
    let mut want = vec![0; size as usize];
    for (number, offset) in offsets.into_iter().enumerate() {
        want[offset as usize..offset as usize + 1000].copy_from_slice(&pattern(number as u64, 1000));
    }
    same(&fs::read(&path).unwrap(), &want);
}

fn two_handles(dir: &Path) {
    let path = dir.join("f");
    let (writer, reader) = (read_write(&path), read_write(&path));
    let mut want = Vec::new();
    for number in 0..200_u64 {
        let piece = pattern(number, 1 + (number as usize * 97) % 3000);
        writer.write_all_at(&piece, want.len() as u64).unwrap();
        want.extend_from_slice(&piece);
        assert_eq!(reader.metadata().unwrap().len(), want.len() as u64, "a write shows in the size at once");
        let mut got = vec![0; want.len()];
        reader.read_exact_at(&mut got, 0).unwrap();
        same(&got, &want);
    }
    let copy = writer.try_clone().unwrap();
    drop(writer);
    copy.write_all_at(b"through a duplicate", 0).unwrap();
    let mut got = [0; 19];
    reader.read_exact_at(&mut got, 0).unwrap();
    assert_eq!(&got, b"through a duplicate");
}

fn mapped_write(dir: &Path) {
    for len in [3000_usize, 1_000_000] {
        let path = dir.join(format!("f{len}"));
        let file = read_write(&path);
        let mut want = pattern(5, len);
        file.write_all_at(&want, 0).unwrap();
        let mut mapping = sys::Mapping::new(&file, len).unwrap();
        same(mapping.bytes(), &want);
        for at in (0..len).step_by(1777) {
            mapping.bytes()[at] ^= 0xff;
            want[at] ^= 0xff;
        }
        mapping.sync().unwrap();
        same(&fs::read(&path).unwrap(), &want);
        mapping.bytes()[len - 1] = 0x42;
        want[len - 1] = 0x42;
        drop(mapping);
        file.sync_all().unwrap();
        drop(file);
        same(&fs::read(&path).unwrap(), &want);
    }
}

fn access_modes(dir: &Path) {
    let path = dir.join("f");
    fs::write(&path, b"content").unwrap();
    let mut read_only = File::open(&path).unwrap();
    refused(read_only.write(b"x"), &[libc::EBADF]);
    refused(read_only.set_len(0), &[libc::EINVAL, libc::EBADF]);
    let mut write_only = OpenOptions::new().write(true).open(&path).unwrap();
    refused(write_only.read(&mut [0; 1]), &[libc::EBADF]);
    write_only.write_all(b"C").unwrap();
    let mut all = String::new();
    read_only.read_to_string(&mut all).unwrap();
    assert_eq!(all, "Content");
    let file = read_write(&path);
    refused(file.write_at(b"x", i64::MAX as u64), &[libc::EFBIG, libc::EINVAL]);
    assert_eq!(fs::read(&path).unwrap(), b"Content");
}

fn vectored_and_copied(dir: &Path) {
    let pieces: Vec<Vec<u8>> = (0..20).map(|number| pattern(number, 5000)).collect();
    let slices: Vec<_> = pieces.iter().map(|piece| std::io::IoSlice::new(piece)).collect();
    let mut file = File::create(dir.join("f")).unwrap();
    assert_eq!(file.write_vectored(&slices).unwrap(), 100_000);
    drop(file);
    same(&fs::read(dir.join("f")).unwrap(), &pieces.concat());
    // std copies files with copy_file_range or sendfile where it can.
    assert_eq!(fs::copy(dir.join("f"), dir.join("g")).unwrap(), 100_000);
    same(&fs::read(dir.join("g")).unwrap(), &pieces.concat());
}
