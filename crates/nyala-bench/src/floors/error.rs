// SPDX-License-Identifier: Apache-2.0

//! Why a floor has no figures.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a floor has no figures.
#[derive(Debug, Error)]
pub enum FloorError {
    /// The system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A block does not match the checksum that was sent with it.
    #[error("file {file}, byte {offset}: the block that arrived does not match its checksum")]
    DamagedOnTheWay {
        /// Number of the file among those of its connection.
        file: usize,
        /// Where the block starts.
        offset: u64,
    },
    /// A file does not hold what was written to it.
    #[error("{}: the block at byte {offset} is not what was written", path.display())]
    DamagedInFile {
        /// The file.
        path: PathBuf,
        /// Where the block starts.
        offset: u64,
    },
    /// What came back is sound, but it is not what belongs there.
    #[error("file {file}, byte {offset}: content of another place came back")]
    WrongContent {
        /// Number of the file among those of its connection.
        file: usize,
        /// The first byte that differs.
        offset: u64,
    },
    /// A request for what no file has, or an answer to what nobody asked.
    #[error("a message about file {file}, byte {offset}, which is none of the run's")]
    Unexpected {
        /// The file that it names.
        file: u32,
        /// The byte that it names.
        offset: u64,
    },
    /// The other end of the connection closed it before everything was answered.
    #[error("the connection was closed before everything was answered")]
    Closed,
    /// Somebody else's connection came in.
    #[error("another program connected to the port of the floor; run it again")]
    Stranger,
    /// Sizes that make no sense.
    #[error("{0}")]
    Sizes(String),
    /// A thread panicked.
    #[error("a thread of the floor has died")]
    Died,
}

impl FloorError {
    /// Names what an input or output error was about. Costs nothing where there is none.
    pub fn io(what: &'static str) -> impl FnOnce(io::Error) -> FloorError {
        move |source| FloorError::Io { what: what.to_owned(), source }
    }

    /// The same of a file.
    pub fn at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FloorError {
        move |source| FloorError::Io { what: format!("{what} {}", path.display()), source }
    }

    /// One that only says that the other end has failed.
    pub fn is_aftermath(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        match self {
            FloorError::Closed => true,
            FloorError::Io { source, .. } => matches!(source.kind(), BrokenPipe | ConnectionReset | UnexpectedEof),
            _ => false,
        }
    }
}
