// SPDX-License-Identifier: Apache-2.0

//! The house style as tests.
//!
//! Each rule is one file under `rules/`, a function from the repository's texts to findings, with unit tests that prove
//! that it can fail. `tests/house_style.rs` applies all of them to this repository. Rules look at text, not at types:
//! [`lexer`] blanks comments, strings and characters first, so that a rule about code does not trip over prose.
//!
//! **Failure model.** The only input is the working tree. A file that cannot be read or is not UTF-8 is a finding, not a
//! skipped file. A rule that finds nothing to look at (no crates, no rows) is a finding too: it would hold for ever.

pub mod imports;
pub mod items;
pub mod lexer;
pub mod manifest;
pub mod ratchet;
pub mod repo;
pub mod rules;
pub mod source;
pub mod use_paths;

use std::fmt;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, from 1; 0 when the finding is about the whole file.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Finding {
    /// A finding at a line.
    pub fn at(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }

    /// A finding about a whole file.
    pub fn file(path: &str, message: impl Into<String>) -> Finding {
        Finding::at(path, 0, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}
