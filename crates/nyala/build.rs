// SPDX-License-Identifier: Apache-2.0

//! Tells the program what it was built from. Without git, or outside a checkout, it says that it does not know.

use std::path::Path;
use std::process::Command;

fn main() {
    let commit = git(&["rev-parse", "--short=10", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let date = git(&["log", "-1", "--format=%cs"]).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=NYALA_COMMIT={commit}");
    println!("cargo::rustc-env=NYALA_COMMIT_DATE={date}");
    println!("cargo::rustc-env=NYALA_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    // A commit, and a change of branch, append a line here. Where there is none, the script itself is what is watched.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|path| Path::new(path).exists());
    println!("cargo::rerun-if-changed={}", log.as_deref().unwrap_or("build.rs"));
}

/// What git answers, if it answers.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
