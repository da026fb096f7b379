// SPDX-License-Identifier: Apache-2.0

//! `nyala raid create`: on the storage host, before the target is named in the settings.

use crate::config::SetShape;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use nyala_storage::drive_set::{geometry, make};
use serde::Serialize;
use std::path::PathBuf;

/// Flags of `nyala raid create`.
#[derive(Clone, Debug, clap::Args)]
pub struct RaidCreateArgs {
    /// Empty directories of this host, each the root of a file system on a drive of its own
    #[arg(value_name = "DIR", required = true, num_args = 1..)]
    pub drives: Vec<PathBuf>,
    #[command(flatten)]
    pub shape: SetShape,
    /// Do it; otherwise it is only said what would be made
    #[arg(long)]
    pub yes: bool,
}

/// What is made.
#[derive(Debug, Serialize)]
struct Made {
    level: String,
    drives: Vec<PathBuf>,
    /// Drives of data and of parity in each group.
    groups: usize,
    data: usize,
    parity: usize,
    strip_bytes: usize,
    made: bool,
}

/// Makes it.
pub fn run(args: RaidCreateArgs, output: Output) -> Outcome {
    let spec = args.shape.spec(args.drives, vec![]).map_err(Failure::usage)?;
    let failed = |error: nyala_storage::StorageError| Failure::failed(error.to_string());
    let geometry = match spec.level {
        Some(_) => geometry(&spec).map_err(|error| Failure::usage(error.to_string()))?,
        None => return Err(Failure::usage("say which level, for example --level 6")),
    };
    if let Some(missing) = spec.drives.iter().find(|drive| !drive.is_dir()) {
        let missing = missing.display();
        return Err(Failure::failed(format!("{missing} is not a directory; make it, or mount its drive, first")));
    }
    if args.yes {
        make(&spec).map_err(failed)?;
    }
    let made = Made {
        level: geometry.level().to_string(),
        drives: spec.drives,
        groups: geometry.groups(),
        data: geometry.data(),
        parity: geometry.parity(),
        strip_bytes: geometry.strip_bytes(),
        made: args.yes,
    };
    show(output, &made, render)
}

fn render(made: &Made) -> String {
    let shape = format!(
        "RAID {}: {} drives in {} group(s) of {} for data and {} for parity, strips of {} bytes",
        made.level,
        made.drives.len(),
        made.groups,
        made.data,
        made.parity,
        made.strip_bytes
    );
    let drives: Vec<String> = made.drives.iter().map(|drive| format!("{drive:?}")).collect();
    match made.made {
        true => format!(
            "{shape}. It is a new storage target; name it in the settings of this host's storage service, and start that \
             again:\n\n[[targets]]\ndrives = [{}]\n",
            drives.join(", ")
        ),
        false => format!("{shape} would be made. Nothing was changed; add --yes to make it.\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_set_is_made_of_empty_directories_when_that_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let drives: Vec<PathBuf> = (0..4).map(|at| dir.path().join(format!("d{at}"))).collect();
        let shape = SetShape { level: Some("6".into()), ..SetShape::default() };
        let create = |yes| run(RaidCreateArgs { drives: drives.clone(), shape: shape.clone(), yes }, Output::Json);
        assert!(create(true).unwrap_err().message.contains("mount its drive"));
        drives.iter().for_each(|drive| std::fs::create_dir(drive).unwrap());
        assert_eq!(create(false), Ok(Exit::Ok));
        assert!(std::fs::read_dir(&drives[0]).unwrap().next().is_none(), "nothing was changed");
        assert_eq!(create(true), Ok(Exit::Ok));
        assert!(drives.iter().all(|drive| drive.join("target/target.toml").exists()));
        assert!(create(true).unwrap_err().message.contains("not empty"));
        let few = RaidCreateArgs { drives: drives[..3].to_vec(), shape, yes: true };
        assert_eq!(run(few, Output::Json).unwrap_err().exit, Exit::Usage);
    }
}
