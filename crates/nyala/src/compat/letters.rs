// SPDX-License-Identifier: Apache-2.0

//! A command line of single letters. Pure.

use crate::exit::Failure;
use crate::units::Hosts;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Letters with a value.
const WITH_VALUE: &str = "pcsSmiPC";
/// Letters without.
const ALONE: &str = "frhux";

/// Letters and values.
#[derive(Debug, Default)]
pub struct Letters(pub BTreeMap<char, String>);

impl Letters {
    /// Reads them.
    pub fn of(args: &[String]) -> Result<Letters, Failure> {
        let mut letters = Letters::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let wrong = || Failure::usage(format!("Invalid argument: {arg}"));
            let mut chars = arg.strip_prefix('-').ok_or_else(wrong)?.chars();
            let letter = chars.next().filter(|letter| WITH_VALUE.contains(*letter) || ALONE.contains(*letter));
            let letter = letter.ok_or_else(wrong)?;
            let mut value = chars.as_str().to_owned();
            if WITH_VALUE.contains(letter) && value.is_empty() {
                let missing = || Failure::usage(format!("Missing value of -{letter}"));
                value = rest.next().ok_or_else(missing)?.clone();
            } else if ALONE.contains(letter) && !value.is_empty() {
                return Err(wrong());
            }
            letters.0.insert(letter, value);
        }
        Ok(letters)
    }

    /// A value that is a path.
    pub fn path(&self, letter: char) -> Option<PathBuf> {
        self.0.get(&letter).map(PathBuf::from)
    }

    /// The management hosts.
    pub fn hosts(&self) -> Result<Option<Hosts>, Failure> {
        let read = |text: &String| text.parse().map_err(|error| Failure::usage(format!("-m: {error}")));
        self.0.get(&'m').map(read).transpose()
    }

    /// A value that has to be there.
    pub fn need(&self, letter: char, what: &str) -> Result<&str, Failure> {
        let missing = || Failure::usage(format!("Missing argument: -{letter} <{what}>"));
        self.0.get(&letter).map(String::as_str).ok_or_else(missing)
    }
}

/// What each of them takes.
pub fn help(role: &str) -> String {
    let arguments = match role {
        "mgmtd" => "-p <path> [-c <config file>] [-S <string ID>]",
        "meta" => "-p <path> -m <management host> [-c <config file>] [-s <numeric ID>] [-S <string ID>]",
        "storage" => {
            "-p <path> -m <management host> [-i <target ID>] [-c <config file>] [-s <numeric ID>] [-S <string ID>]"
        }
        _ => "-m <management host> [-c <config file>]",
    };
    format!(
        "USAGE: beegfs-setup-{role} {arguments}\n\nSets up this host as `nyala setup {role}` does, without asking. A config file that exists \
         is translated; one in a directory NAME.d stands for the instance NAME.\n"
    )
}
