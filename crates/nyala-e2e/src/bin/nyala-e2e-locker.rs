// SPDX-License-Identifier: Apache-2.0

//! A process that has files open and locks and writes them as told: `nyala-e2e-locker FILE…`; see `nyala_e2e::locker`.

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = nyala_e2e::locker::serve(&files) {
        eprintln!("nyala-e2e-locker: {error}");
        std::process::exit(1);
    }
}
