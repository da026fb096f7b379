// SPDX-License-Identifier: Apache-2.0

//! `nyala target add`: makes a directory of this host a new storage target. Services make none by themselves, since an empty
//! directory may be where a disk is not mounted.

use crate::exit::{Failure, Outcome, io};
use crate::output::{Output, show};
use nyala_store::own_dir::{Kind, OwnDir, peek};
use nyala_wire::ClusterId;
use std::path::PathBuf;

/// Flags of `nyala target add`.
#[derive(Clone, Debug, clap::Args)]
pub struct TargetAddArgs {
    /// An empty directory of this host, best the root of a file system of its own
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// Makes it.
pub fn run(args: TargetAddArgs, output: Output) -> Outcome {
    let dir = args.dir.display();
    if !args.dir.is_dir() {
        return Err(Failure::failed(format!("{dir} is not a directory; make it, or mount its disk, first")));
    }
    let refused = |error: nyala_store::own_dir::IdentityError| Failure::failed(error.to_string());
    if peek(&args.dir, Kind::StorageTarget).map_err(refused)?.is_some() {
        return Err(Failure::failed(format!("{dir} is a storage target already; nothing was changed")));
    }
    let mut uuid = [0; 16];
    getrandom::fill(&mut uuid).map_err(|error| io("no random numbers")(std::io::Error::other(error)))?;
    drop(OwnDir::open(&args.dir, Kind::StorageTarget, ClusterId(uuid)).map_err(refused)?);
    let text = format!(
        "{dir} is a new storage target. Name it in the settings of this host's storage service ([[targets]], or --target) \
         and start that again: it gets its id then.\n"
    );
    show(output, &serde_json::json!({ "dir": args.dir.to_string_lossy() }), |_| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn only_an_empty_directory_becomes_a_target() {
        let parent = tempfile::tempdir().unwrap();
        let add = |name: &str| run(TargetAddArgs { dir: parent.path().join(name) }, Output::Json);
        assert!(add("missing").unwrap_err().message.contains("mount its disk"));
        assert!(!parent.path().join("missing").exists());
        std::fs::create_dir(parent.path().join("t")).unwrap();
        assert_eq!(add("t"), Ok(Exit::Ok));
        assert!(parent.path().join("t/target.toml").exists());
        assert!(add("t").unwrap_err().message.contains("already"));
        std::fs::create_dir_all(parent.path().join("full/x")).unwrap();
        assert!(add("full").unwrap_err().message.contains("not empty"));
    }
}
