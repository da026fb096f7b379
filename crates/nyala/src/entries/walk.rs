// SPDX-License-Identifier: Apache-2.0

//! Entries below a directory, depth first: a directory before what is in it. Failure model: see the parent module.

use super::filter::Filter;
use super::mounted::Named;
use super::tree::{Found, Names, Tree};
use crate::exit::{Exit, Failure};
use nyala_wire::{FileKind, Time};
use std::cell::Cell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// A directory on the way down.
struct Level {
    path: PathBuf,
    names: Names,
    page: VecDeque<(Named, Option<Result<Found, Failure>>)>,
}

/// A walk.
pub struct Walk<'a> {
    tree: &'a Tree,
    filter: &'a Filter,
    max_depth: usize,
    levels: Vec<Level>,
    passed: &'a Passed,
}

/// What walks have passed so far.
#[derive(Default)]
pub struct Passed {
    /// Entries that were looked at, meant or not.
    pub entries: Cell<u64>,
    /// How many could not be looked at.
    failed: Cell<u64>,
    /// The first of these, and why.
    first: Cell<Option<Failure>>,
}

/// An entry that is meant.
pub struct Walked {
    /// Its path, from where the walk began.
    pub path: PathBuf,
    /// What it is, and the map.
    pub found: Found,
}

impl<'a> Walk<'a> {
    /// From an entry down to `max_depth` directories below it.
    pub fn new(tree: &'a Tree, filter: &'a Filter, max_depth: usize, passed: &'a Passed) -> Walk<'a> {
        Walk { tree, filter, max_depth, levels: Vec::new(), passed }
    }

    /// Begins with this entry.
    pub async fn begin(&mut self, first: Named) {
        let page = self.look(vec![first]).await;
        self.levels = vec![Level { path: PathBuf::new(), names: Names::End, page }];
    }

    async fn look(&self, page: Vec<Named>) -> VecDeque<(Named, Option<Result<Found, Failure>>)> {
        let wanted = page.into_iter().map(|named| {
            let wanted = self.filter.takes(named.kind);
            (named, wanted)
        });
        self.tree.look(wanted.collect()).await.into()
    }

    /// The next entry that is meant at this time; none at the end.
    pub async fn next(&mut self, now: impl Fn() -> Time) -> Result<Option<Walked>, Failure> {
        while let Some(level) = self.levels.last_mut() {
            let Some((named, found)) = level.page.pop_front() else {
                self.turn_page().await?;
                continue;
            };
            self.passed.entries.set(self.passed.entries.get() + 1);
            if named.kind == FileKind::Directory && self.levels.len() <= self.max_depth {
                match self.tree.names(&named) {
                    Ok(names) => {
                        self.levels.push(Level { path: named.path.clone(), names, page: VecDeque::new() });
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => self.passed.note(&named.path, Failure::failed(error.to_string()))?,
                }
            }
            match found {
                Some(Ok(found)) if self.filter.matches(&found.0, &found.1, now()) => {
                    return Ok(Some(Walked { path: named.path, found }));
                }
                Some(Err(failure)) => self.passed.note(&named.path, failure)?,
                // Not meant, or gone.
                Some(Ok(_)) | None => {}
            }
        }
        Ok(None)
    }

    /// The next page of the directory that the walk is in; or the one above, if it has ended.
    async fn turn_page(&mut self) -> Result<(), Failure> {
        let Some(mut level) = self.levels.pop() else { return Ok(()) };
        if matches!(level.names, Names::End) {
            return Ok(());
        }
        match self.tree.page(&level.path, &mut level.names).await {
            Ok(page) => level.page = self.look(page).await,
            Err(failure) => return self.passed.note(&level.path, failure),
        }
        self.levels.push(level);
        Ok(())
    }
}

impl Passed {
    /// Counts what cannot be looked at; an error, if nothing can.
    fn note(&self, path: &Path, failure: Failure) -> Result<(), Failure> {
        let failure = failure.context(path.display());
        if failure.exit == Exit::Unreachable {
            return Err(failure);
        }
        self.failed.set(self.failed.get() + 1);
        let first = self.first.take();
        self.first.set(first.or(Some(failure)));
        Ok(())
    }

    /// What could not be looked at, as an error.
    pub fn end(self) -> Result<(), Failure> {
        match (self.failed.get(), self.first.take()) {
            (_, None) => Ok(()),
            (1, Some(first)) => Err(first.context("one entry could not be looked at")),
            (count, Some(first)) => Err(first.context(format!("{count} entries could not be looked at; the first"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_counted_and_a_lost_cluster_ends_the_walk() {
        let passed = Passed::default();
        assert!(passed.note(Path::new("/a"), Failure::failed("damaged")).is_ok());
        assert!(passed.note(Path::new("/b"), Failure::failed("damaged, too")).is_ok());
        assert_eq!(passed.note(Path::new("/c"), Failure::unreachable("gone")).unwrap_err().exit, Exit::Unreachable);
        let end = passed.end().unwrap_err();
        assert_eq!(end.message, "2 entries could not be looked at; the first: /a: damaged");
        assert!(Passed::default().end().is_ok());
    }
}
