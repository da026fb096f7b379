// SPDX-License-Identifier: Apache-2.0

//! Checks that several mounts of one cluster are one file system: `nyala-e2e-coherence TEST ARGUMENTS… DIR…`, each DIR the
//! same empty directory through another mount. Exit code 0: nothing was wrong; 1: what was is on standard output; 2: usage.

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    std::process::exit(nyala_e2e::coherence::main(&args));
}
