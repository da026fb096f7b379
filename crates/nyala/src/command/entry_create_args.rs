// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala entry create file` and `directory`.

use super::entry_pattern::PatternArgs;
use crate::cluster::ClusterArgs;
use std::path::PathBuf;

/// `nyala entry create …`
#[derive(Debug, clap::Subcommand)]
pub enum CreateCommand {
    /// Make empty files
    File(EntryCreateArgs),
    /// Make directories, which give this pattern to files made in them
    #[command(visible_alias = "dir")]
    Directory(EntryCreateArgs),
}

/// Flags of `nyala entry create file` and `directory`.
#[derive(Clone, Debug, clap::Args)]
pub struct EntryCreateArgs {
    /// What to make, on a mount (or, with a cluster named by flags and nothing mounted, from the root of the file system)
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What is not named is that of the directory above.
    #[command(flatten)]
    pub stripe: PatternArgs,
    /// Permission bits, octal [default: 644 for files, 755 for directories]
    #[arg(long, value_name = "BITS", value_parser = mode)]
    pub mode: Option<u16>,
    /// Owner: a number, or a name of this host [default: who runs this]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Group: a number, or a name of this host [default: that of who runs this]
    #[arg(long, value_name = "GROUPNAME")]
    pub group: Option<String>,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

fn mode(text: &str) -> Result<u16, String> {
    let bits = u16::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o7777);
    bits.ok_or_else(|| format!("{text:?} is not a set of permission bits; write octal digits, as in 644 or 0750"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_octal() {
        assert_eq!((mode("644"), mode("0750"), mode("7777")), (Ok(0o644), Ok(0o750), Ok(0o7777)));
        for bad in ["", "8", "rw-r--r--", "10000", "-1"] {
            assert!(mode(bad).unwrap_err().contains("octal"), "{bad}");
        }
    }
}
