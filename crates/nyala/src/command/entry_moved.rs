// SPDX-License-Identifier: Apache-2.0

//! What commands that move files' data one by one have done so far, and how they end. Pure.

use crate::exit::{Exit, Failure, Outcome};
use nyala_client::Error;
use nyala_wire::ErrorCode;
use std::cell::Cell;
use std::path::Path;

/// What was done so far.
#[derive(Default)]
pub(super) struct Counts {
    pub files: Cell<u64>,
    /// Of these files.
    bytes: Cell<u64>,
    /// Of the file that is being moved.
    pub copied: Cell<u64>,
    left: Cell<u64>,
    first: Cell<Option<Failure>>,
}

impl Counts {
    /// Bytes of files that are done.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Bytes that were copied, of the file under way too.
    pub fn so_far(&self) -> u64 {
        self.bytes.get() + self.copied.get()
    }

    /// A file is done, or would be.
    pub fn done(&self, bytes: u64) {
        self.copied.set(0);
        self.files.set(self.files.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
    }

    /// A file stays as it is, unless it is gone; an error, if all the others would stay too.
    pub fn failed(&self, path: &Path, error: Error) -> Result<(), Failure> {
        self.copied.set(0);
        if error.is(ErrorCode::NOT_FOUND) || error.is(ErrorCode::STALE) {
            return Ok(());
        }
        let in_use = error.is(ErrorCode::AGAIN) || error.is(ErrorCode::BUSY);
        let why = if in_use { Failure::failed("it is in use; try again later") } else { error.into() };
        let why = why.context(path.display());
        if why.exit == Exit::Unreachable {
            return Err(why);
        }
        self.left.set(self.left.get() + 1);
        let first = self.first.take();
        self.first.set(first.or(Some(why)));
        Ok(())
    }

    /// How the command ends; `what` was not done with files that stay as they are.
    pub fn end(&self, what: &str) -> Outcome {
        match (self.left.get(), self.first.take()) {
            (_, None) => Ok(Exit::Ok),
            (1, Some(first)) => Err(first.context(format!("one file was not {what}"))),
            (left, Some(first)) => Err(first.context(format!("{left} files were not {what}; the first"))),
        }
    }
}
