// SPDX-License-Identifier: Apache-2.0

//! Asks the mount about an entry, and tells it what a directory gives to new files: for users who may not read the
//! cluster's secret. The mount decides what they may ([`nyala_fuse::adapter::entry`]).
//!
//! **Failure model.** The mount waits for its cluster as it does for every program. It may be of a build that does not know
//! these questions: that is said, with why the cluster was not asked.

use crate::exit::{Exit, Failure};
use nyala_fuse::adapter::entry::{ENTRY, PATTERN, View};
use nyala_wire::{StripePattern, codec};
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::path::Path;

/// The kernel takes no longer value.
const MOST: usize = 65536;

/// Where an entry and its data are.
pub fn look(path: &Path, why: &Failure) -> Result<View, Failure> {
    let mut value = vec![0; MOST];
    let len = rustix::fs::lgetxattr(path, ENTRY, &mut value[..]).map_err(|error| refusal(error, why))?;
    Ok(codec::decode(&value[..len])?)
}

/// Sets what a directory gives to new files.
pub fn set_pattern(path: &Path, pattern: &StripePattern, why: &Failure) -> Result<(), Failure> {
    let value = codec::encode(pattern);
    rustix::fs::lsetxattr(path, PATTERN, &value, XattrFlags::empty()).map_err(|error| refusal(error, why))
}

fn refusal(error: Errno, why: &Failure) -> Failure {
    match error {
        Errno::PERM => Failure {
            exit: Exit::Refused,
            message: "only the owner of a directory, and root, may set what it gives to new files".into(),
        },
        Errno::ACCESS => Failure { exit: Exit::Refused, message: "no permission".into() },
        Errno::INVAL => Failure::failed("the cluster refuses this: there is no such storage pool"),
        // Not known to this mount, or longer than a value may be.
        Errno::NOTSUP | Errno::NODATA | Errno::TOOBIG => {
            why.clone().context("the mount does not answer such questions, and the cluster cannot be asked")
        }
        other => Failure::failed(std::io::Error::from(other).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_their_codes() {
        let why = Failure::config("no secret");
        assert_eq!(refusal(Errno::PERM, &why).exit, Exit::Refused);
        assert_eq!(refusal(Errno::ACCESS, &why).exit, Exit::Refused);
        assert_eq!(refusal(Errno::NOENT, &why).exit, Exit::Failed);
        let unknown = refusal(Errno::NOTSUP, &why);
        assert_eq!(unknown.exit, Exit::Config);
        assert!(unknown.message.ends_with("no secret"), "{unknown}");
    }

    #[test]
    fn another_file_system_does_not_answer() {
        let dir = tempfile::tempdir().unwrap();
        let why = Failure::config("no secret");
        assert_eq!(look(dir.path(), &why).unwrap_err().exit, Exit::Config);
        assert!(look(&dir.path().join("none"), &why).unwrap_err().message.contains("No such file"));
    }
}
