// SPDX-License-Identifier: Apache-2.0

//! One thing that set-up does, and how it is done.

use crate::exit::{Failure, io};
use nyala_store::own_dir::{Kind, OwnDir};
use nyala_transport::Secret;
use nyala_wire::ClusterId;
use serde::Serialize;
use std::fmt;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum Step {
    /// A directory, with those above it.
    MakeDir {
        /// Which.
        path: PathBuf,
        /// Its permission bits, and those of what is made above it.
        mode: u32,
    },
    /// The cluster's secret.
    MakeSecret {
        /// The file.
        path: PathBuf,
    },
    /// A storage target of a service that is registered already, which makes none by itself.
    MakeTarget {
        /// Its directory.
        path: PathBuf,
    },
    /// A file; it appears whole or not at all.
    Write {
        /// Which.
        path: PathBuf,
        /// All of it.
        #[serde(skip)]
        text: String,
        /// Permission bits.
        mode: u32,
        /// The lines that say something new.
        shown: Vec<String>,
        /// Whether there is one.
        replaces: bool,
    },
    /// A symbolic link.
    Link {
        /// Where.
        path: PathBuf,
        /// To what.
        to: PathBuf,
    },
    /// A line in the table of file systems.
    Fstab {
        /// The table.
        path: PathBuf,
        /// The line.
        line: String,
    },
    /// A command.
    Run {
        /// The program and its arguments.
        command: Vec<String>,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::MakeDir { path, mode } => write!(f, "make the directory {} (mode {mode:04o})", path.display()),
            Step::MakeSecret { path } => write!(f, "make the cluster's secret {} (mode 0600)", path.display()),
            Step::MakeTarget { path } => write!(f, "make {} a new storage target", path.display()),
            Step::Write { path, shown, replaces, .. } => {
                write!(f, "{} {}", if *replaces { "change" } else { "write" }, path.display())?;
                shown.iter().try_for_each(|line| write!(f, "\n      {line}"))
            }
            Step::Link { path, to } => write!(f, "link {} to {}", path.display(), to.display()),
            Step::Fstab { path, line } => write!(f, "add to {}\n      {line}", path.display()),
            Step::Run { command } => write!(f, "run {}", command.join(" ")),
        }
    }
}

impl Step {
    /// A command.
    pub fn run(command: &[&str]) -> Step {
        Step::Run { command: command.iter().map(|word| (*word).to_owned()).collect() }
    }

    /// Does it.
    pub fn perform(&self) -> Result<(), Failure> {
        match self {
            Step::MakeDir { path, mode } => make_dir(path, *mode),
            Step::MakeSecret { path } => {
                make_dir(path.parent().unwrap_or(Path::new("/")), 0o755)?;
                Secret::generate(path).map(drop).map_err(|error| Failure::failed(error.to_string()))
            }
            Step::MakeTarget { path } => {
                let mut uuid = [0; 16];
                getrandom::fill(&mut uuid).map_err(|error| io("no random numbers")(std::io::Error::other(error)))?;
                let made = OwnDir::open(path, Kind::StorageTarget, ClusterId(uuid));
                made.map(drop).map_err(|error| Failure::failed(error.to_string()))
            }
            Step::Write { path, text, mode, .. } => {
                make_dir(path.parent().unwrap_or(Path::new("/")), 0o755)?;
                crate::up::write_whole(path, text)?;
                std::fs::set_permissions(path, PermissionsExt::from_mode(*mode)).map_err(io(path.display()))
            }
            Step::Link { path, to } => std::os::unix::fs::symlink(to, path).map_err(io(path.display())),
            Step::Fstab { path, line } => super::fstab::add(path, line),
            Step::Run { command } => run(command),
        }
    }
}

fn make_dir(path: &Path, mode: u32) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(mode).create(path).map_err(io(path.display()))
}

fn run(command: &[String]) -> Result<(), Failure> {
    let shown = command.join(" ");
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let status = Command::new(program).args(arguments).status().map_err(io(&shown))?;
    if status.success() { Ok(()) } else { Err(Failure::failed(format!("{shown}: {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_do_what_they_say() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mode = |name: &str| std::fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        Step::MakeDir { path: at("a/b"), mode: 0o700 }.perform().unwrap();
        assert_eq!((mode("a"), mode("a/b")), (0o700, 0o700));
        Step::MakeSecret { path: at("c/secret") }.perform().unwrap();
        assert_eq!(mode("c/secret"), 0o600);
        assert!(Step::MakeSecret { path: at("c/secret") }.perform().is_err(), "never replaced");
        let text = String::from("x\n");
        let write = Step::Write { path: at("d/f"), text, mode: 0o640, shown: vec!["x".into()], replaces: false };
        write.perform().unwrap();
        assert_eq!(
            (mode("d/f"), write.to_string().contains("write") && write.to_string().ends_with("\n      x")),
            (0o640, true)
        );
        assert_eq!(Step::run(&["true"]).perform(), Ok(()));
        assert!(Step::run(&["false"]).perform().unwrap_err().message.contains("false: exit status: 1"));
        assert!(Step::run(&["/nonexistent/x"]).perform().is_err());
        Step::MakeTarget { path: at("new") }.perform().unwrap();
        assert!(at("new/target.toml").exists());
    }
}
