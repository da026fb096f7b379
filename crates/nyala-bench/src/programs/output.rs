// SPDX-License-Identifier: Apache-2.0

//! The figures of a program's output.
//!
//! **Failure model.** The output may be missing, huge, or not what the program writes in the versions that are known: each is an error that names it.

use super::figure::{ParseError, Parsed, Wanted};
use super::kind::Program;
use super::plan;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Most of an output that is read, bytes.
const LONGEST: u64 = 16 << 20;
/// Lines that are told of what a program said when it failed.
const TOLD_LINES: usize = 4;

/// Why an output has no figures.
#[derive(Debug, Error)]
pub enum OutputError {
    /// It is not understood.
    #[error("{error}; its output is {}", file.display())]
    Parse {
        /// What is wrong with it.
        error: ParseError,
        /// Where it is.
        file: PathBuf,
    },
    /// It cannot be read.
    #[error("its output {} cannot be read: {error}", file.display())]
    Read {
        /// Why.
        error: io::Error,
        /// Where it should be.
        file: PathBuf,
    },
    /// It is longer than any that is known.
    #[error("its output {} has more than {} bytes", file.display(), LONGEST)]
    Long {
        /// Where it is.
        file: PathBuf,
    },
}

/// Reads an output.
pub fn figures(program: Program, file: &Path, wanted: &Wanted) -> Result<Parsed, OutputError> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|open| open.take(LONGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| OutputError::Read { error, file: file.to_owned() })?;
    if bytes.len() as u64 > LONGEST {
        return Err(OutputError::Long { file: file.to_owned() });
    }
    // Names of files in it may be of any bytes; figures are not.
    let parsed = plan::parse(program, &String::from_utf8_lossy(&bytes), wanted);
    parsed.map_err(|error| OutputError::Parse { error, file: file.to_owned() })
}

/// The last lines of a text that say something, in one.
pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(TOLD_LINES)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::figure::Metric;
    use super::*;

    #[test]
    fn outputs_that_are_missing_or_huge_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("output");
        let wanted = Wanted { operations: &["write"], metric: Metric::Bandwidth };
        let error = || figures(Program::Ior, &file, &wanted).unwrap_err().to_string();
        assert!(error().ends_with("output cannot be read: No such file or directory (os error 2)"), "{}", error());
        File::create(&file).unwrap().set_len(LONGEST + 1).unwrap();
        assert!(error().ends_with("has more than 16777216 bytes"), "{}", error());
    }

    #[test]
    fn the_last_lines_are_one() {
        assert_eq!(last_lines("a\n\n b \nc\nd\n\ne\n"), "b; c; d; e");
        assert_eq!(last_lines("\n \n"), "");
    }
}
