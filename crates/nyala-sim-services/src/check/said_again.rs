// SPDX-License-Identifier: Apache-2.0

//! Whether what a power cut of metadata servers took back is there again: it is, as long as all clients live. Pure. Times are nanoseconds
//! of the simulation.

/// A change may be unsynced for so long.
const MAY_BE_UNSYNCED: u64 = 5_000_000_000;
/// A server that lost power has come back and heard of its clients after so long.
const IS_SAID_AGAIN: u64 = 60_000_000_000;

/// Losses of clients, and of the power of metadata servers.
#[derive(Default)]
pub struct SaidAgain {
    /// When a client was last gone, or told of a loss.
    gone: Option<u64>,
    /// When only metadata servers lost power, and all clients lived.
    cut: Option<u64>,
}

impl SaidAgain {
    /// Metadata servers have lost power: whether nothing is lost by that, as far as is known now.
    pub fn cut(&mut self, now: u64, all_well: bool) -> bool {
        let whole = all_well && self.gone.is_none_or(|at| now - at >= MAY_BE_UNSYNCED);
        if whole {
            self.cut = Some(now);
        }
        whole
    }

    /// A client may be gone: whether it takes with it what it has to say again.
    pub fn may_be_gone(&self, now: u64) -> bool {
        self.cut.is_some_and(|at| now - at < IS_SAID_AGAIN)
    }

    /// A client is gone: the same.
    pub fn is_gone(&mut self, now: u64) -> bool {
        self.gone = Some(now);
        self.may_be_gone(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_while_all_clients_live() {
        let mut said = SaidAgain::default();
        assert!(said.cut(10_000_000_000, true) && said.may_be_gone(69_000_000_000));
        assert!(!said.may_be_gone(70_000_000_000) && !said.is_gone(71_000_000_000));
        assert!(!said.cut(75_000_000_000, true), "the dead one may have done something just before");
        assert!(!said.cut(90_000_000_000, false) && said.cut(90_000_000_000, true));
    }
}
