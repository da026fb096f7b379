// SPDX-License-Identifier: Apache-2.0

//! Where programs work, and where their outputs lie.
//!
//! **Failure model.** Each workload of a run has a directory of its own, which is removed behind it whatever it left there; all lie in one
//! that this process alone uses, and that goes when the benchmark does. What cannot be removed is named. The file system may be too small:
//! that is said before anything runs. If this process is killed, both directories stay, with its number in their names.

use crate::error::{BenchError, io};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

/// Room besides the content of files: names, and what a file system rounds up.
const SPARE: u64 = 16 << 20;

/// A directory on the file system that is measured, and one for outputs.
pub struct Site {
    base: PathBuf,
    outputs: PathBuf,
    keeps: Cell<bool>,
}

impl Site {
    /// Makes both, if there is room for so many bytes.
    pub fn make(on: &Path, outputs: &Path, bytes: u64) -> Result<Site, BenchError> {
        let wanted = bytes.saturating_add(bytes / 8).saturating_add(SPARE);
        let free = free(on)?;
        if free < wanted {
            let mib = |bytes: u64| bytes.div_ceil(1 << 20);
            return Err(BenchError::failed(format!(
                "{} has {} MiB free, and {} MiB are needed; give a smaller --size or fewer --tasks",
                on.display(),
                free >> 20,
                mib(wanted)
            )));
        }
        let number = std::process::id();
        let base = on.join(format!(".nyala-bench-programs-{number}"));
        let outputs = outputs.join(format!("nyala-bench-programs-{number}.outputs"));
        for dir in [&base, &outputs] {
            fs::create_dir(dir).map_err(io(format!("cannot make {}", dir.display())))?;
        }
        Ok(Site { base, outputs, keeps: Cell::new(false) })
    }

    /// A new directory for a workload of a run.
    pub fn directory(&self, name: &str) -> Result<PathBuf, BenchError> {
        let dir = self.base.join(name);
        fs::create_dir(&dir).map_err(io(format!("cannot make {}", dir.display())))?;
        Ok(dir)
    }

    /// Removes it, with all that is in it.
    pub fn remove(&self, dir: &Path) -> Result<(), BenchError> {
        fs::remove_dir_all(dir).map_err(io(format!("cannot remove {}", dir.display())))
    }

    /// A name for the outputs of a start.
    pub fn output(&self, name: &str) -> PathBuf {
        self.outputs.join(name)
    }

    /// Outputs of a start that are not wanted any more.
    pub fn forget(&self, name: &str) {
        let listed = fs::read_dir(&self.outputs).into_iter().flatten().flatten();
        let own = |entry: &fs::DirEntry| {
            let file = entry.file_name();
            let rest = file.to_str().and_then(|file| file.strip_prefix(name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        for entry in listed.filter(own) {
            // why ignored: the whole directory goes in the end.
            let _ = fs::remove_file(entry.path());
        }
    }

    /// Outputs stay; where.
    pub fn keep(&self) -> &Path {
        self.keeps.set(true);
        &self.outputs
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let outputs = (!self.keeps.get()).then_some(&self.outputs);
        for dir in [Some(&self.base), outputs].into_iter().flatten() {
            if let Err(error) = fs::remove_dir_all(dir) {
                eprintln!("nyala bench: cannot remove {}: {error}", dir.display());
            }
        }
    }
}

/// Bytes that may still be written there.
fn free(on: &Path) -> Result<u64, BenchError> {
    let found = rustix::fs::statvfs(on).map_err(std::io::Error::from);
    let found = found.map_err(io(format!("cannot tell how much is free on {}", on.display())))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn nothing_stays_but_outputs_that_are_wanted() {
        let (on, outputs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let site = Site::make(on.path(), outputs.path(), 1 << 20).unwrap();
        let dir = site.directory("one").unwrap();
        fs::write(dir.join("file"), "x").unwrap();
        site.remove(&dir).unwrap();
        assert!(!dir.exists() && site.remove(&dir).is_err());
        fs::write(site.directory("two").unwrap().join("file"), "x").unwrap();
        for name in ["a", "a.out", "ab.out"] {
            fs::write(site.output(name), "x").unwrap();
        }
        site.forget("a");
        let kept = site.keep().to_owned();
        drop(site);
        assert_eq!((entries(on.path()), entries(&kept)), (0, 1));
        drop(Site::make(on.path(), on.path(), 0).unwrap());
        assert_eq!(entries(on.path()), 0);
    }

    #[test]
    fn a_full_file_system_is_said_before() {
        let on = tempfile::tempdir().unwrap();
        let error = Site::make(on.path(), on.path(), 1 << 60).err().unwrap().to_string();
        assert!(error.contains("MiB are needed") && entries(on.path()) == 0, "{error}");
    }
}
