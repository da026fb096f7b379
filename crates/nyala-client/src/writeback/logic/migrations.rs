// SPDX-License-Identifier: Apache-2.0

//! Moves of inline content that are under way, each under a claim that one run of a metadata server gave. Pure.
//!
//! **Failure model.** A server that was restarted has forgotten its claims, and gives others none before it has heard of all
//! clients which moves are still under way. So a move is either named to the new run or does not begin: from the moment on at
//! which a run counts as ended here ([`Migrations::end_run`]), no move begins under a claim of it. What a session that has ended
//! claimed is not named under the next: its server has given it to others, or waits until it is fenced.

use nyala_wire::{InodeId, SessionId, TargetId};
use std::collections::HashMap;

/// What a claim is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The inode's server.
    pub server: TargetId,
    /// Its run.
    pub boot: u64,
    /// Whose claim it is.
    pub session: SessionId,
}

/// The moves of one client.
#[derive(Debug, Default)]
pub struct Migrations {
    under_way: HashMap<InodeId, Run>,
    /// The last run of each server that has ended.
    ended: HashMap<TargetId, u64>,
}

impl Migrations {
    /// A move begins under a claim of this run, one at a time of an inode; `false`: the run has ended, so that it may not.
    pub fn begin(&mut self, inode: InodeId, run: Run) -> bool {
        let good = self.ended.get(&run.server) != Some(&run.boot);
        if good {
            self.under_way.insert(inode, run);
        }
        good
    }

    /// It is over, whatever came of it.
    pub fn end(&mut self, inode: InodeId) {
        self.under_way.remove(&inode);
    }

    /// A server's run has ended: nothing begins any more under what it gave.
    pub fn end_run(&mut self, server: TargetId, boot: u64) {
        self.ended.insert(server, boot);
    }

    /// What is still under way under claims that a server gave this session.
    pub fn of(&self, server: TargetId, session: SessionId) -> Vec<InodeId> {
        let here = |run: &Run| run.server == server && run.session == session;
        self.under_way.iter().filter(|(_, run)| here(run)).map(|(inode, _)| *inode).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: TargetId = TargetId(3);

    fn run(boot: u64, session: u64) -> Run {
        Run { server: SERVER, boot, session: SessionId(session) }
    }

    #[test]
    fn what_is_under_way_is_named_and_nothing_begins_under_an_ended_run() {
        let (mut migrations, a, b) = (Migrations::default(), InodeId(1), InodeId(2));
        assert!(migrations.begin(a, run(7, 1)));
        migrations.end_run(SERVER, 7);
        assert!(!migrations.begin(b, run(7, 1)));
        assert_eq!(migrations.of(SERVER, SessionId(1)), [a]);
        assert!(migrations.begin(b, run(8, 1)));
        migrations.end(a);
        assert_eq!(migrations.of(SERVER, SessionId(1)), [b]);
        assert!(migrations.of(TargetId(4), SessionId(1)).is_empty());
    }

    #[test]
    fn what_an_ended_session_claimed_is_not_named_under_the_next() {
        let mut migrations = Migrations::default();
        assert!(migrations.begin(InodeId(1), run(7, 1)));
        assert!(migrations.of(SERVER, SessionId(2)).is_empty());
    }

    #[test]
    fn the_end_of_one_servers_run_is_nothing_to_another() {
        let mut migrations = Migrations::default();
        migrations.end_run(TargetId(4), 7);
        assert!(migrations.begin(InodeId(1), run(7, 1)));
    }
}
