// SPDX-License-Identifier: Apache-2.0

//! Files that are put aside, by this process or by another.

use super::*;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_large_file_is_put_aside_and_only_so_many_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.log");
    std::fs::write(&path, "before\n").unwrap();
    let mut log = LogFile::open(&path, Some(20), 2).unwrap();
    for number in 0..5 {
        log.write_all(format!("line {number} ......\n").as_bytes()).unwrap();
    }
    assert_eq!(read(&path), "line 4 ......\n");
    assert_eq!(read(&log.aside(1)), "line 3 ......\n");
    assert_eq!(read(&log.aside(2)), "line 2 ......\n");
    assert!(!log.aside(3).exists(), "no more than two");
    let mut none = LogFile::open(&dir.path().join("y.log"), None, 2).unwrap();
    none.write_all(&[b'x'; 4096]).unwrap();
    none.write_all(b"\n").unwrap();
    assert_eq!(read(&dir.path().join("y.log")).len(), 4097, "without a limit it grows");
}

#[test]
fn a_file_that_somebody_else_put_aside_is_opened_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (path, moved) = (dir.path().join("x.log"), dir.path().join("moved"));
    let mut log = LogFile::open(&path, None, 2).unwrap();
    log.write_all(b"one\n").unwrap();
    std::fs::rename(&path, &moved).unwrap();
    log.prepare(4, log.looked + LOOK_EVERY);
    log.write_all(b"two\n").unwrap();
    assert_eq!((read(&moved).as_str(), read(&path).as_str()), ("one\n", "two\n"));
    std::fs::remove_file(&path).unwrap();
    log.prepare(4, log.looked + LOOK_EVERY);
    log.write_all(b"three\n").unwrap();
    assert_eq!(read(&path), "three\n");
}

#[test]
fn what_cannot_be_put_aside_grows_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.log");
    let mut log = LogFile::open(&path, Some(10), 1).unwrap();
    // A directory in the way, which is not empty: the name cannot be taken.
    std::fs::create_dir_all(log.aside(1).join("in the way")).unwrap();
    for _ in 0..3 {
        log.write_all(b"12345678\n").unwrap();
    }
    assert_eq!(read(&path), "12345678\n".repeat(3));
}
