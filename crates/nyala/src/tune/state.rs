// SPDX-License-Identifier: Apache-2.0

//! What files of the kernel said before they were changed.

use crate::exit::{Failure, io};
use crate::host::Root;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Where it is kept, and the directory that is locked while it is used.
const FILE: &str = "var/lib/nyala/tune.json";
/// What tells one boot of the kernel from another.
const BOOT: &str = "proc/sys/kernel/random/boot_id";
/// Version of the format.
const VERSION: u32 = 1;

/// A file, and what it said before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The file, from the root.
    pub file: String,
    /// What it said before it was changed for the first time.
    pub before: String,
    /// What was written to it.
    pub set: String,
}

/// All of them, of one boot of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    boot: String,
    /// In the order in which they were changed.
    pub saved: Vec<Before>,
}

/// The right to change files and state; another program waits for it.
pub struct Locked(#[expect(dead_code, reason = "the lock is held as long as the directory is open")] File);

impl State {
    /// The state of this boot; empty where there is none, or one of an earlier boot.
    pub fn load(root: &Root) -> Result<State, Failure> {
        let boot = root.text(BOOT).unwrap_or_default().trim().to_owned();
        let fresh = State { version: VERSION, boot, saved: Vec::new() };
        let path = root.path(FILE);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(fresh),
            text => text.map_err(io(path.display()))?,
        };
        let refused = |why: String| {
            Failure::failed(format!(
                "{}: {why}; look at it, and remove it if it says nothing that is wanted",
                path.display()
            ))
        };
        let state: State = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
        if state.version != VERSION {
            return Err(refused(format!("its version is {}, and this program knows {VERSION}", state.version)));
        }
        Ok(if state.boot == fresh.boot { state } else { fresh })
    }

    /// Remembers what a file said; what it said before an earlier change stays.
    pub fn remember(&mut self, file: &str, before: &str, set: &str) {
        match self.saved.iter_mut().find(|known| known.file == file) {
            Some(known) => set.clone_into(&mut known.set),
            None => self.saved.push(Before { file: file.into(), before: before.into(), set: set.into() }),
        }
    }

    /// Keeps it; an empty one is no file.
    pub fn store(&self, root: &Root) -> Result<(), Failure> {
        let path = root.path(FILE);
        if !self.saved.is_empty() {
            return crate::up::write_whole(&path, &crate::output::json(self)?);
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path.display())(error)),
            _ => Ok(()),
        }
    }

    /// Waits until no other program changes anything.
    pub fn lock(root: &Root) -> Result<Locked, Failure> {
        let path = root.path(FILE);
        let dir = path.parent().map(PathBuf::from).unwrap_or_default();
        let open = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
            let open = File::open(&dir)?;
            rustix::fs::flock(&open, FlockOperation::LockExclusive)?;
            Ok(open)
        };
        open().map(Locked).map_err(io(dir.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Pretended;

    #[test]
    fn state_is_kept_for_one_boot() {
        let host = Pretended::new();
        let mut state = State::load(&host.root).unwrap();
        assert!(state.saved.is_empty());
        state.remember("proc/a", "1", "2");
        state.remember("proc/a", "2", "3");
        assert_eq!(state.saved, [Before { file: "proc/a".into(), before: "1".into(), set: "3".into() }]);
        drop(State::lock(&host.root).unwrap());
        state.store(&host.root).unwrap();
        assert_eq!(State::load(&host.root).unwrap(), state);
        host.write("proc/sys/kernel/random/boot_id", "b2\n");
        assert!(State::load(&host.root).unwrap().saved.is_empty(), "the kernel has its own values again");
        State { saved: Vec::new(), ..state }.store(&host.root).unwrap();
        assert!(!host.at(FILE).exists());
        host.write(FILE, "{\"version\": 9, \"boot\": \"b2\", \"saved\": []}");
        assert!(State::load(&host.root).unwrap_err().message.contains("version is 9"));
        host.write(FILE, "{");
        assert!(State::load(&host.root).unwrap_err().message.contains("look at it"));
    }
}
