// SPDX-License-Identifier: Apache-2.0

//! `nyala-e2e-power DIR ELSEWHERE SEED COUNT` makes files and changes them ([`nyala_e2e::power::maker`]).

use std::path::Path;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, elsewhere, seed, count] = &args[..] else { panic!("usage: nyala-e2e-power DIR ELSEWHERE SEED COUNT") };
    let number = |text: &String| text.parse::<u64>().expect("a number");
    nyala_e2e::power::maker::serve(Path::new(dir), Path::new(elsewhere), number(seed), number(count) as usize)
}
