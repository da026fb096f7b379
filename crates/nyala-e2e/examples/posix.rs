// SPDX-License-Identifier: Apache-2.0

//! Runs the POSIX checks in a new directory below the one given: `cargo run -p nyala-e2e --example posix -- /mnt/x`.
//! `NYALA_E2E_POSIX=rename` runs only checks with that in their names.

use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(std::env::args_os().nth(1).expect("usage: posix DIR"));
    let own = dir.join(format!("posix-{}", std::process::id()));
    std::fs::create_dir(&own).unwrap_or_else(|error| panic!("mkdir {}: {error}", own.display()));
    let failed = nyala_e2e::posix::run_all(&own);
    println!("failed: {failed:?}");
    if failed.is_empty() {
        std::fs::remove_dir_all(&own).unwrap_or_else(|error| panic!("rm -r {}: {error}", own.display()));
    }
    std::process::exit(i32::from(!failed.is_empty()));
}
