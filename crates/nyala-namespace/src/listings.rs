// SPDX-License-Identifier: Apache-2.0

//! Listings that were begun: whether one that ends gave as many names as the directory counts.
//!
//! A listing takes as many requests as it needs, each from where the one before ended, and the tables are not read twice
//! for a check: what was given so far is noted until the next request comes. Nothing is said about a listing of which a
//! part is not known: a directory that changed meanwhile, a program that sought, a request that came twice, more than
//! [`MAX_UNDER_WAY`] at once. Where the numbers differ the directory is counted before anybody is told.

use crate::change::{Change, Step, stored};
use crate::damage::lost;
use crate::keys;
use crate::records::EntryRecord;
use nyala_wire::meta::Listing;
use nyala_wire::{InodeId, SessionId, Time};
use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;

/// Most listings that are noted; the oldest are forgotten first.
const MAX_UNDER_WAY: usize = 256;
/// Most directories that are remembered as damaged.
const MAX_DAMAGED: usize = 256;

/// A directory as far as a listing needs to know that it did not change.
type Version = (u64, Time);

struct Begun {
    session: SessionId,
    dir: InodeId,
    /// Of the last name given.
    cookie: u64,
    version: Version,
    given: u64,
}

/// Those under way, and directories that were found short.
#[derive(Default)]
pub struct Listings {
    under_way: VecDeque<Begun>,
    damaged: BTreeSet<InodeId>,
}

impl Listings {
    /// Looks at the answer to one request. Of a directory that is short all names are given, and then, in place of the end,
    /// an error. Errors: EIO.
    pub fn check(
        &mut self,
        change: &mut Change,
        session: SessionId,
        (dir, after): (InodeId, u64),
        listing: &mut Listing,
    ) -> Step<()> {
        let (record, part) = change.dir(dir)?;
        let (entries, version) = (part.entries, (part.entries, record.ctime));
        let before = match after < keys::COLLISIONS {
            true => Some(0),
            false => self.take(session, dir, after).filter(|begun| begun.version == version).map(|begun| begun.given),
        };
        let given = before.map(|before| before + listing.entries.len() as u64);
        if listing.end && (given.is_some_and(|given| given != entries) || self.damaged.contains(&dir)) {
            let there = count(change, dir)?;
            self.remember(dir, there != entries);
            if there != entries && listing.entries.is_empty() {
                return Err(lost(dir, &format!("it counts {entries} names and {there} are there")).into());
            }
            listing.end = there == entries;
        }
        if let (false, Some(given), Some(last)) = (listing.end, given, listing.entries.last()) {
            if self.under_way.len() == MAX_UNDER_WAY {
                self.under_way.pop_front();
            }
            self.under_way.push_back(Begun { session, dir, cookie: last.cookie, version, given });
        }
        Ok(())
    }

    fn take(&mut self, session: SessionId, dir: InodeId, cookie: u64) -> Option<Begun> {
        let key = (session, dir, cookie);
        let at = self.under_way.iter().rposition(|begun| (begun.session, begun.dir, begun.cookie) == key)?;
        self.under_way.remove(at)
    }

    fn remember(&mut self, dir: InodeId, damaged: bool) {
        match damaged {
            true if self.damaged.len() < MAX_DAMAGED => self.damaged.insert(dir),
            true => false,
            false => self.damaged.remove(&dir),
        };
    }
}

/// The names that are there.
pub fn count(change: &Change, dir: InodeId) -> Step<u64> {
    let prefix = keys::entries_prefix(dir);
    let (mut names, mut bad) = (0, None);
    change.view().scan(&prefix, &keys::prefix_end(&prefix), &mut |_, value| {
        match stored::<EntryRecord>(value) {
            Ok(entry) => names += u64::from(entry.is_taken()),
            Err(error) => bad = Some(error),
        }
        if bad.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match bad {
        Some(error) => Err(error.into()),
        None => Ok(names),
    }
}
