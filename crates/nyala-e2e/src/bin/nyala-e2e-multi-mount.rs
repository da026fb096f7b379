// SPDX-License-Identifier: Apache-2.0

//! `nyala-e2e-multi-mount SEED OPERATIONS MAX-BYTES NAME DIR...`: the exerciser of [`nyala_e2e::multi_mount`] on directories that
//! are one and the same, through different mounts.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| args.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(seed), Some(operations), Some(max), Some(name)) = (number(0), number(1), number(2), args.get(3)) else {
        eprintln!("usage: nyala-e2e-multi-mount SEED OPERATIONS MAX-BYTES NAME DIR...");
        return ExitCode::from(2);
    };
    let dirs: Vec<PathBuf> = args[4..].iter().map(PathBuf::from).collect();
    let dirs: Vec<&std::path::Path> = dirs.iter().map(PathBuf::as_path).collect();
    match nyala_e2e::multi_mount::run(&dirs, name, seed, operations, max as usize) {
        Ok(counts) => {
            println!("{counts:?}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}
