// SPDX-License-Identifier: Apache-2.0

//! What metadata has not been told of a file: data that storage has, and how much space it takes. Pure.

/// Data that storage has and metadata does not know of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uncommitted {
    pub(crate) end: u64,
    since_ms: u64,
}

/// Whether metadata is being told something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Idle,
    /// Of data, or of how much the file takes.
    Committing,
}

/// What metadata knows of how much space the file takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Usage {
    /// It takes as much as its size says.
    #[default]
    Dense,
    /// It may have holes, or space behind its end, for good; metadata was told how much it takes.
    Told,
    /// The same, and it has changed since: its targets are to be asked.
    Due,
}

#[derive(Default)]
pub(crate) struct CommitState {
    uncommitted: Option<Uncommitted>,
    progress: Progress,
    usage: Usage,
}

impl CommitState {
    /// Storage has data up to `end`.
    pub(crate) fn add(&mut self, end: u64, now_ms: u64) {
        let uncommitted = self.uncommitted.get_or_insert(Uncommitted { end: 0, since_ms: now_ms });
        uncommitted.end = uncommitted.end.max(end);
    }

    /// Whether there is something to commit.
    pub(crate) fn is_pending(&self) -> bool {
        self.uncommitted.is_some()
    }

    /// Whether what is to be committed waits for that long.
    pub(crate) fn is_due(&self, now_ms: u64, after_ms: u64) -> bool {
        self.uncommitted.is_some_and(|uncommitted| now_ms.saturating_sub(uncommitted.since_ms) >= after_ms)
    }

    pub(crate) fn is_committing(&self) -> bool {
        self.progress == Progress::Committing
    }

    /// Nothing is to be committed, or being committed.
    pub(crate) fn is_clean(&self) -> bool {
        self.uncommitted.is_none() && self.progress == Progress::Idle
    }

    /// End of the data to be committed.
    pub(crate) fn end(&self) -> Option<u64> {
        self.uncommitted.map(|uncommitted| uncommitted.end)
    }

    /// Begins a commit of all that is to be committed. One at a time.
    pub(crate) fn begin(&mut self) -> Option<Uncommitted> {
        assert_eq!(self.progress, Progress::Idle, "two commits of one file at the same time");
        self.progress = Progress::Committing;
        self.uncommitted.take()
    }

    /// The same of what is before `upto`; the rest is said later.
    pub(crate) fn begin_upto(&mut self, upto: u64) -> Option<Uncommitted> {
        let all = self.begin()?;
        if all.end > upto {
            self.uncommitted = Some(all);
        }
        Some(Uncommitted { end: all.end.min(upto), ..all })
    }

    /// The commit is over.
    pub(crate) fn finish(&mut self) {
        assert_eq!(self.progress, Progress::Committing, "a commit is over that did not begin");
        self.progress = Progress::Idle;
    }

    /// A commit did not work: what it was to say is still to be said.
    pub(crate) fn put_back(&mut self, uncommitted: Uncommitted) {
        let newer = self.uncommitted.get_or_insert(uncommitted);
        newer.end = newer.end.max(uncommitted.end);
    }

    /// What is to be committed is dropped.
    pub(crate) fn discard(&mut self) {
        self.uncommitted = None;
    }

    /// The file was cut to `size`.
    pub(crate) fn cut(&mut self, size: u64) {
        if let Some(uncommitted) = &mut self.uncommitted {
            uncommitted.end = uncommitted.end.min(size);
        }
    }

    /// The file was changed, such that it may have holes or space behind its end if `sparse`.
    pub(crate) fn note_usage(&mut self, sparse: bool) {
        if sparse || self.usage != Usage::Dense {
            self.usage = Usage::Due;
        }
    }

    /// Whether metadata is to be told how much the file takes.
    pub(crate) fn is_usage_due(&self) -> bool {
        self.usage == Usage::Due
    }

    /// The same, and the caller tells it.
    pub(crate) fn take_usage_due(&mut self) -> bool {
        let due = self.is_usage_due();
        if due {
            self.usage = Usage::Told;
        }
        due
    }

    /// It could not be told: next time.
    pub(crate) fn usage_not_told(&mut self) {
        assert_ne!(self.usage, Usage::Dense, "how much a dense file takes is not told");
        self.usage = Usage::Due;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_commit_was_to_say_is_said_by_the_next() {
        let mut commit = CommitState::default();
        commit.add(10, 5);
        commit.add(7, 8);
        assert!(commit.is_due(15, 10) && !commit.is_due(14, 10));
        let said = commit.begin().unwrap();
        assert!(said.end == 10 && !commit.is_pending() && !commit.is_clean());
        commit.add(4, 20);
        commit.finish();
        commit.put_back(said);
        assert_eq!(commit.end(), Some(10));
        commit.cut(3);
        assert_eq!(commit.end(), Some(3));
        commit.discard();
        assert!(commit.is_clean());
    }

    #[test]
    fn what_is_not_on_disk_yet_is_said_later() {
        let mut commit = CommitState::default();
        assert!(commit.begin_upto(10).is_none());
        commit.finish();
        commit.add(30, 5);
        assert_eq!(commit.begin_upto(20).map(|said| said.end), Some(20));
        assert_eq!((commit.end(), commit.is_due(15, 10)), (Some(30), true), "as old as it was");
        commit.finish();
        assert_eq!(commit.begin_upto(40).map(|said| said.end), Some(30));
        assert_eq!(commit.end(), None);
    }

    #[test]
    fn usage_is_told_only_of_files_that_may_be_sparse_and_once_for_each_change() {
        let mut commit = CommitState::default();
        commit.note_usage(false);
        assert!(!commit.take_usage_due());
        commit.note_usage(true);
        assert!(commit.take_usage_due() && !commit.is_usage_due());
        commit.note_usage(false);
        assert!(commit.is_usage_due(), "it is sparse for good");
        assert!(commit.take_usage_due());
        commit.usage_not_told();
        assert!(commit.take_usage_due());
    }
}
