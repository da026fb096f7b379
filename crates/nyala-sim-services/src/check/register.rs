// SPDX-License-Identifier: Apache-2.0

//! Nothing stale is read, what was acknowledged and synced is there, and a fence holds: each cell of a file (and each name whose
//! file is replaced as a whole) is a register. Pure.
//!
//! A read may give a value only if no other was written after it had been acknowledged, and was acknowledged itself before the
//! read began. Writes that may be lost (their client died or was told so, or power failed, before a sync) push nothing
//! aside. What a client was told is lost must not come afterwards.

use super::{ClientId, Moment};

/// Why a write pushes nothing aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    No,
    /// A sync that says "done" takes it back.
    Possible,
    /// Its client is gone or knows.
    Known,
}

#[derive(Clone, Debug)]
struct Write {
    /// 0: zeros.
    value: u64,
    client: ClientId,
    issued: Moment,
    acked: Option<Moment>,
    /// Its client was told that it is lost.
    over: Option<Moment>,
    synced: bool,
    loss: Loss,
    /// Its client's session has ended, or may have, before this was committed: what reached storage may lie behind the end.
    left: bool,
}

/// All writes to one register.
#[derive(Clone, Debug, Default)]
pub struct Register(Vec<Write>);

impl Register {
    /// A write begins. Values are unique, except that of zeros.
    pub fn begin(&mut self, client: ClientId, value: u64, now: Moment) {
        let (acked, over) = (None, None);
        self.0.push(Write { value, client, issued: now, acked, over, synced: false, loss: Loss::No, left: false });
    }

    /// The last write of a client is done.
    pub fn done(&mut self, client: ClientId, now: Moment) {
        let last = self.0.iter_mut().rev().find(|write| write.client == client);
        last.into_iter().for_each(|write| write.acked = Some(now));
    }

    /// A sync by a client is done that began at `from`: it reaches what was written before, by whatever client. But what a power cut
    /// took of others' writes only their own sync tells.
    pub fn synced(&mut self, client: ClientId, from: Moment) {
        for write in &mut self.0 {
            let reached = write.loss == Loss::No || (write.loss == Loss::Possible && write.client == client);
            if reached && write.acked.is_some_and(|acked| acked < from) {
                (write.synced, write.loss, write.left) = (true, Loss::No, false);
            }
        }
    }

    /// See [`super::Ledger::lost`].
    pub fn lost(&mut self, client: ClientId, now: Moment) {
        for write in self.0.iter_mut().filter(|write| write.client == client && !write.synced) {
            (write.loss, write.left) = (Loss::Known, true);
            write.over = write.over.or(Some(now));
        }
    }

    /// A client may lose its session, and not know it.
    pub fn may_be_fenced(&mut self, client: ClientId) {
        self.may_be_lost(Some(client));
        self.0.iter_mut().filter(|write| write.client == client && !write.synced).for_each(|write| write.left = true);
    }

    /// What a client (or any) has not synced may be lost without its knowing: power failed, or it is cut off.
    pub fn may_be_lost(&mut self, client: Option<ClientId>) {
        let of = self.0.iter_mut().filter(|write| client.is_none_or(|client| write.client == client));
        of.filter(|write| !write.synced && write.loss == Loss::No).for_each(|write| write.loss = Loss::Possible);
    }

    /// Why a read that began at `from` may not give `value`.
    pub fn judge(&self, value: u64, from: Moment) -> Option<String> {
        let newest = self.0.iter().filter(|write| write.loss == Loss::No && write.acked.is_some_and(|at| at < from));
        let newest = newest.max_by_key(|write| write.issued);
        let Some(newest) = newest else {
            let known = value == 0 || self.0.iter().any(|write| write.value == value);
            return (!known).then(|| format!("{value} was never written"));
        };
        // What a client whose session ended left at storage behind the end may show in a gap (SEMANTICS, "a client dies while it
        // moves inline content"), also while the client stands still and does not know it.
        let left_over = |write: &Write| write.value == value && write.left;
        if newest.value == 0 && self.0.iter().any(left_over) {
            return None;
        }
        let same = self.0.iter().filter(|write| write.value == value);
        // What was never acknowledged may come at any time, except if its client knows that it does not.
        let end = |write: &Write| write.acked.or(write.over).unwrap_or(Moment::MAX);
        match same.map(end).chain((value == 0).then_some(0)).max() {
            None => Some(format!("{value} was never written")),
            Some(end) if end >= newest.issued => None,
            Some(_) => Some(format!("{value} is read from {from} on, after {newest:?}; of it: {:?}", self.of(value))),
        }
    }

    fn of(&self, value: u64) -> Vec<&Write> {
        self.0.iter().filter(|write| write.value == value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Register {
        let mut register = Register::default();
        register.begin(1, 10, 1);
        register.done(1, 2);
        register.begin(2, 20, 3);
        register.done(2, 4);
        register
    }

    #[test]
    fn the_newest_is_read_and_nothing_else() {
        let register = written();
        assert!(register.judge(20, 5).is_none());
        for stale in [0, 10, 30] {
            assert!(register.judge(stale, 5).is_some(), "{stale}");
        }
        assert!(register.judge(10, 4).is_none(), "the later write was under way when the read began");
    }

    #[test]
    fn what_is_lost_pushes_nothing_aside_and_comes_back_never() {
        let mut register = written();
        register.lost(2, 5);
        assert!(register.judge(10, 6).is_none() && register.judge(20, 6).is_none());
        register.begin(1, 11, 7);
        register.done(1, 8);
        assert!(register.judge(20, 9).is_some(), "what was lost came after the fence");
        assert!(register.judge(11, 9).is_none());
    }

    #[test]
    fn what_a_dead_client_left_may_show_in_a_gap_and_what_others_wrote_not() {
        let mut register = written();
        register.lost(2, 5);
        register.begin(1, 0, 6);
        register.done(1, 7);
        assert!(register.judge(0, 8).is_none() && register.judge(20, 8).is_none());
        assert!(register.judge(10, 8).is_some(), "what was cut off comes back");
    }

    #[test]
    fn so_may_what_a_client_left_that_stands_still_but_not_what_a_power_cut_took() {
        for (fenced, shows) in [(true, true), (false, false)] {
            let mut register = written();
            match fenced {
                true => register.may_be_fenced(2),
                false => register.may_be_lost(None),
            }
            register.begin(1, 0, 6);
            register.done(1, 7);
            register.synced(1, 8);
            assert_eq!(register.judge(20, 9).is_none(), shows);
            assert!(register.judge(10, 9).is_some(), "what was cut off comes back");
            register.begin(1, 30, 10);
            register.done(1, 11);
            assert!(register.judge(20, 12).is_some(), "not where somebody has written since");
        }
        let mut register = written();
        register.may_be_fenced(2);
        register.synced(2, 5);
        register.begin(1, 0, 6);
        register.done(1, 7);
        assert!(register.judge(20, 8).is_some(), "what was synced was committed");
    }

    #[test]
    fn a_sync_keeps() {
        let mut register = written();
        register.may_be_lost(None);
        assert!(register.judge(10, 5).is_none(), "not synced");
        register.synced(2, 5);
        register.may_be_lost(None);
        register.lost(2, 6);
        assert!(register.judge(10, 7).is_some() && register.judge(0, 7).is_some());
    }

    #[test]
    fn what_was_never_acknowledged_may_come_at_any_time() {
        let mut register = written();
        register.begin(3, 30, 5);
        assert!(register.judge(30, 9).is_none() && register.judge(20, 9).is_none());
    }
}
