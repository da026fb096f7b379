// SPDX-License-Identifier: Apache-2.0

//! Checks of what a directory of a POSIX file system does, operation by operation.
//!
//! They know nothing about Nyala: the same checks pass on the local file system, which is how we know that they are right.
//! Each works in an empty directory of its own.

mod acls;
mod attributes;
mod by_itself;
mod content;
mod listing;
mod model;
mod names;
mod removed;
mod renames;
mod rights;
mod space;
mod special;

use crate::run::run;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

type Check = (&'static str, fn(&Path));

/// All checks by name.
pub const ALL: &[&[Check]] = &[
    names::CHECKS,
    removed::CHECKS,
    renames::CHECKS,
    content::CHECKS,
    model::CHECKS,
    space::CHECKS,
    attributes::CHECKS,
    listing::CHECKS,
    acls::CHECKS,
    rights::CHECKS,
    by_itself::CHECKS,
    special::CHECKS,
];

/// Runs every check in its own directory below `dir`; names those that failed (what was wrong is on standard error).
pub fn run_all(dir: &Path) -> Vec<&'static str> {
    let mut failed = Vec::new();
    let only = std::env::var("NYALA_E2E_POSIX").unwrap_or_default();
    for (name, check) in ALL.iter().copied().flatten().filter(|(name, _)| name.contains(&only)) {
        let own = dir.join(name);
        std::fs::create_dir(&own).unwrap_or_else(|error| panic!("mkdir {}: {error}", own.display()));
        let began = std::time::Instant::now();
        if catch_unwind(AssertUnwindSafe(|| check(&own))).is_err() {
            eprintln!("^^^ {name}");
            failed.push(*name);
        }
        if began.elapsed().as_secs() >= 2 {
            eprintln!("{name} took {:.1} s", began.elapsed().as_secs_f64());
        }
    }
    failed
}

/// Runs a command as a user of one group, without rights; whether it went well.
fn as_user(uid: u32, gid: u32, script: &str) -> bool {
    let (uid, gid) = (format!("--reuid={uid}"), format!("--regid={gid}"));
    let mut command = Command::new("setpriv");
    command.args([&uid, &gid, "--clear-groups", "sh", "-ec", script]).current_dir("/");
    run(&mut command, Duration::from_secs(20)).ok()
}

/// Lets others pass to here: otherwise checks as other users mean nothing.
fn open_the_way(dir: &Path) {
    let closed = |above: &&Path| above.metadata().is_ok_and(|meta| meta.mode() & 0o001 == 0);
    for above in dir.ancestors().take_while(|above| *above == dir || closed(above)) {
        std::fs::set_permissions(above, PermissionsExt::from_mode(0o755))
            .unwrap_or_else(|error| panic!("chmod: {error}"));
    }
}

/// Asserts that an operation fails with one of these error numbers.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: io::Result<T>, want: &[i32]) {
    match result {
        Ok(value) => panic!(
            "succeeded ({value:?}) where one of {:?} is right",
            want.iter().map(|e| name(*e)).collect::<Vec<_>>()
        ),
        Err(error) => {
            let got = error.raw_os_error().unwrap_or(0);
            assert!(
                want.contains(&got),
                "{error} where one of {:?} is right",
                want.iter().map(|e| name(*e)).collect::<Vec<_>>()
            );
        }
    }
}

fn name(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

/// Bytes that tell where they are from: a different sequence for every seed.
pub fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Asserts that bytes are the same, and says where they first differ otherwise.
#[track_caller]
pub fn same(got: &[u8], want: &[u8]) {
    assert_eq!(got.len(), want.len(), "length");
    if let Some(at) = (0..got.len()).find(|at| got[*at] != want[*at]) {
        let end = (at + 16).min(got.len());
        panic!("byte {at} of {} differs: {:02x?}, not {:02x?}", got.len(), &got[at..end], &want[at..end]);
    }
}
