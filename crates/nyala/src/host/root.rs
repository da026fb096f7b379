// SPDX-License-Identifier: Apache-2.0

//! The kernel's files, below a root that is `/` except in tests and for images of hosts.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// With all files below this directory.
    pub fn at(dir: &Path) -> Root {
        Root(dir.to_owned())
    }

    /// Whether it is this host as it runs.
    pub fn is_this_host(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// A file in it; a leading slash makes no difference.
    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        let file = file.as_ref();
        self.0.join(file.strip_prefix("/").unwrap_or(file))
    }

    /// What a file says; none where it cannot be read.
    pub fn text(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.path(file)).ok()
    }

    /// The names in a directory, sorted; none where it cannot be read.
    pub fn names(&self, dir: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(dir)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Writes to a file that exists, as the kernel's files are written: in one piece.
    pub fn write(&self, file: &str, text: &str) -> std::io::Result<()> {
        let mut open = OpenOptions::new().write(true).truncate(true).open(self.path(file))?;
        open.write_all(text.as_bytes())
    }
}

/// Where the kernel's files are.
#[derive(Clone, Debug, clap::Args)]
pub struct RootArg {
    /// Directory below which /proc, /sys, /etc and /var are looked for
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

impl RootArg {
    /// The root.
    pub fn root(&self) -> Root {
        Root::at(&self.root)
    }
}
