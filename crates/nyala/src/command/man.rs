// SPDX-License-Identifier: Apache-2.0

//! `nyala man DIR`: the manual pages of all commands, for section 1.

use crate::cli::Cli;
use crate::exit::{Failure, Outcome, io};
use crate::output::{Output, show};
use clap::CommandFactory;
use std::path::{Path, PathBuf};

/// Flags of `nyala man`.
#[derive(Clone, Debug, clap::Args)]
pub struct ManArgs {
    /// Where to: a directory, which is made; as /usr/local/share/man/man1
    pub dir: PathBuf,
}

/// Writes the pages.
pub fn run(args: ManArgs, output: Output) -> Outcome {
    std::fs::create_dir_all(&args.dir).map_err(io(args.dir.display()))?;
    let mut command = Cli::command();
    command.build();
    let pages = write(&args.dir, &command, "nyala")?;
    let written = serde_json::json!({ "dir": args.dir.to_string_lossy(), "pages": pages });
    show(output, &written, |_| format!("{pages} manual pages are in {}\n", args.dir.display()))
}

/// A page for a command and for each below it; how many.
fn write(dir: &Path, command: &clap::Command, name: &str) -> Result<usize, Failure> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).source("Nyala").manual("Nyala");
    man.render(&mut page).map_err(io(name))?;
    let file = dir.join(format!("{name}.1"));
    std::fs::write(&file, page).map_err(io(file.display()))?;
    let mut pages = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        pages += write(dir, below, &format!("{name}-{}", below.get_name()))?;
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let dir = tempfile::tempdir().unwrap();
        run(ManArgs { dir: dir.path().join("man1") }, Output::Json).unwrap();
        for (page, words) in [
            ("nyala", "parallel file system"),
            ("nyala-setup-storage", "\\-\\-target"),
            ("nyala-mirror-resync-stats", "resync"),
        ] {
            let text = std::fs::read_to_string(dir.path().join(format!("man1/{page}.1"))).unwrap();
            assert!(text.contains(".TH") && text.contains(words), "{text}");
        }
        assert!(!dir.path().join("man1/nyala-help.1").exists());
    }
}
