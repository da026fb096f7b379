// SPDX-License-Identifier: Apache-2.0

//! Finds the `nyala` binary, or builds it; installs the public test programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// The repository's root.
pub fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().and_then(Path::parent).expect("this crate lies two directories below the root")
}

/// Cargo's target directory: the one that the running test lies in.
pub fn target_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("a process can find its own program");
    let tagged = exe.ancestors().find(|dir| dir.join("CACHEDIR.TAG").exists());
    // Cargo tags only what it makes itself; whatever was there before, tests lie in `PROFILE/deps`.
    let of_tests = || exe.ancestors().find(|dir| dir.ends_with("deps"))?.parent()?.parent();
    tagged.or_else(of_tests).map_or_else(|| repository().join("target"), Path::to_path_buf)
}

/// The `nyala` binary that the tests run: `NYALA_BIN`, or the newest one built, or one built now.
pub fn nyala() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        if let Some(named) = std::env::var_os("NYALA_BIN") {
            let named = PathBuf::from(named);
            assert!(
                named.is_absolute() && named.is_file(),
                "NYALA_BIN={} is not an absolute path of a file",
                named.display()
            );
            return named;
        }
        let built = |profile: &str| target_dir().join(profile).join("nyala");
        let age = |path: &PathBuf| path.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let newest = [built("debug"), built("release")].into_iter().filter(|path| path.is_file()).max_by_key(age);
        newest.unwrap_or_else(|| {
            let mut cargo = Command::new("cargo");
            cargo.args(["build", "--release", "-p", "nyala"]).current_dir(repository());
            let status = cargo.status().expect("cargo runs");
            assert!(status.success(), "nyala does not build");
            built("release")
        })
    })
}

/// A test program from a crate of the same name, in the version given; installed once below the target directory.
pub fn tool(name: &str, version: &str) -> PathBuf {
    // Two installations at once take each other's files away.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let tools = target_dir().join("tools");
    let program = tools.join("bin").join(name);
    if !program.is_file() {
        let mut cargo = Command::new("cargo");
        cargo.args(["install", name, "--version", version, "--locked", "--root"]).arg(&tools);
        crate::run::run(&mut cargo, Duration::from_secs(900)).must();
    }
    program
}
