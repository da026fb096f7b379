// SPDX-License-Identifier: Apache-2.0

//! The checked load as a process: `nyala-e2e-load DIR JOURNALS STOP` works in DIR until the file STOP appears.
//! Exit code 0: every step was acknowledged; 1: the first error is on standard error.

use std::path::PathBuf;

fn main() {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [dir, journals, stop] = args.as_slice() else { panic!("usage: nyala-e2e-load DIR JOURNALS STOP") };
    if let Err(error) = nyala_e2e::load::run(dir, journals, stop) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
