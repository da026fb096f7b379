// SPDX-License-Identifier: Apache-2.0

//! Files whose names come and go while others open them: an open finds the file or none, and what it found stays.

use super::Check;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const CHECKS: &[Check] =
    &[("open_while_removed", open_while_removed), ("lock_files_of_mail", lock_files_of_mail)];

const LASTS: Duration = Duration::from_secs(2);

/// Looks at an open file, which another one writes.
fn looked_at(mut file: File) -> std::io::Result<()> {
    file.metadata()?;
    file.read_to_end(&mut Vec::new())?;
    file.sync_all()
}

/// Uses an open file in all ways; nobody else writes it.
fn used(mut file: File, number: usize) -> std::io::Result<()> {
    let content = format!("content {number}");
    file.set_len(0)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    let meta = file.metadata()?;
    assert!(meta.len() == content.len() as u64, "{meta:?}");
    let mut read = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_string(&mut read)?;
    assert_eq!(read, content);
    Ok(())
}

fn open_while_removed(dir: &Path) {
    let (path, over) = (dir.join("f"), AtomicBool::new(false));
    let end = Instant::now() + LASTS;
    let opens = thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                drop(OpenOptions::new().write(true).create_new(true).open(&path).unwrap());
                fs::remove_file(&path).unwrap();
            }
        });
        let users: Vec<_> = [false, true]
            .map(|looks| {
                let path = &path;
                threads.spawn(move || {
                    let mut opens = 0;
                    while Instant::now() < end {
                        if looks && let Err(error) = fs::metadata(path) {
                            assert_eq!(error.kind(), ErrorKind::NotFound, "stat: {error}");
                        }
                        match OpenOptions::new().read(true).write(true).open(path) {
                            Ok(file) if looks => looked_at(file).expect("what is open stays"),
                            Ok(file) => used(file, opens).expect("what is open stays"),
                            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "open: {error}"),
                        }
                        opens += 1;
                    }
                    opens
                })
            })
            .into_iter()
            .map(|user| user.join())
            .collect();
        over.store(true, Ordering::Relaxed);
        users.into_iter().map(|opens| opens.expect("opening and using")).sum::<usize>()
    });
    assert!(opens > 20, "{opens} opens");
}

/// A lock file that is made by whoever finds none, locked, and removed by whoever had the lock.
fn lock_files_of_mail(dir: &Path) {
    let path = dir.join("lock");
    let end = Instant::now() + LASTS;
    let had: usize = thread::scope(|threads| {
        let users: Vec<_> = (0..3)
            .map(|_| {
                threads.spawn(|| {
                    let mut had = 0;
                    while Instant::now() < end {
                        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
                        let file = open.expect("open with O_CREAT");
                        file.lock().expect("lock what is open");
                        if let Err(error) = fs::remove_file(&path) {
                            assert_eq!(error.kind(), ErrorKind::NotFound, "unlink: {error}");
                        }
                        had += 1;
                    }
                    had
                })
            })
            .collect();
        users.into_iter().map(|user| user.join().expect("locking")).sum()
    });
    assert!(had > 10, "{had} locks");
}
