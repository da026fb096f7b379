// SPDX-License-Identifier: Apache-2.0

//! Waits until its standard input ends (the test process is gone) and takes away the cluster in the directory that it
//! was told, if that is still there.

use std::io::Read;
use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(std::env::args_os().nth(1).expect("usage: nyala-e2e-guard DIR"));
    // Ctrl-C reaches the whole process group; the guard is what must outlive it.
    // SAFETY: sets a disposition, touches no memory.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let mut nothing = [0_u8; 1];
    while std::io::stdin().read(&mut nothing).is_ok_and(|read| read > 0) {}
    if dir.exists() {
        for problem in nyala_e2e::cleanup::remove(&dir) {
            eprintln!("nyala-e2e-guard: {problem}");
        }
    }
}
