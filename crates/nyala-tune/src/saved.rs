// SPDX-License-Identifier: Apache-2.0

//! What files of the kernel said before they were changed (`tune.json`).
//!
//! Failure model: root writes the file, and might edit it: whatever is not understood, or of another version, is refused, and says why.

use serde::{Deserialize, Serialize};

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
pub struct Saved {
    version: u32,
    boot: String,
    /// In the order in which they were changed.
    #[serde(rename = "saved")]
    pub files: Vec<Before>,
}

impl Saved {
    /// Nothing yet, in a boot of the kernel.
    pub fn new(boot: &str) -> Saved {
        Saved { version: VERSION, boot: boot.to_owned(), files: Vec::new() }
    }

    /// The same, if its version is one that is known; or says that it is not.
    pub fn checked(self) -> Result<Saved, String> {
        match self.version {
            VERSION => Ok(self),
            other => Err(format!("its version is {other}, and this program knows {VERSION}")),
        }
    }

    /// Of which boot of the kernel it is.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Remembers what a file said; what it said before an earlier change stays.
    pub fn remember(&mut self, file: &str, before: &str, set: &str) {
        match self.files.iter_mut().find(|known| known.file == file) {
            Some(known) => set.clone_into(&mut known.set),
            None => self.files.push(Before { file: file.into(), before: before.into(), set: set.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_first_is_remembered() {
        let mut saved = Saved::new("b1");
        saved.remember("proc/a", "1", "2");
        saved.remember("proc/a", "2", "3");
        assert_eq!(saved.files, [Before { file: "proc/a".into(), before: "1".into(), set: "3".into() }]);
        assert_eq!(saved.clone().checked(), Ok(saved.clone()));
        saved.version = 9;
        assert!(saved.checked().unwrap_err().contains("version is 9"));
    }
}
