// SPDX-License-Identifier: Apache-2.0

//! Measures how long operations take: `nyala-e2e-latency-probe DIR OUT STOP` works in DIR until the file STOP appears.

use std::path::PathBuf;

fn main() {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [dir, out, stop] = args.as_slice() else { panic!("usage: nyala-e2e-latency-probe DIR OUT STOP") };
    if let Err(error) = nyala_e2e::latency_probe::run(dir, out, stop) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
