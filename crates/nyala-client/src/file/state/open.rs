// SPDX-License-Identifier: Apache-2.0

//! Who has a file open here, and whether its server knows. Pure.

use crate::file::logic::removals::Removals;

/// What the file's server knows of this session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Registration {
    /// It does not count this session among the file's holders.
    #[default]
    None,
    /// It does.
    Registered,
    /// It does until it has the close that is on its way.
    Closing,
}

/// What became of the last close.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LastClose {
    /// Nothing waits for it.
    #[default]
    Settled,
    /// Its content goes out in a moment (`writeback::deferred_close`).
    Deferred,
}

#[derive(Default)]
pub(crate) struct OpenState {
    handles: usize,
    registration: Registration,
    /// Which removals of the file's names may make it go.
    removals: Removals,
    last_close: LastClose,
}

impl OpenState {
    pub(crate) fn add_handle(&mut self) {
        self.handles += 1;
    }

    pub(crate) fn drop_handle(&mut self) {
        assert!(self.handles > 0, "a handle is dropped that was not added");
        self.handles -= 1;
    }

    pub(crate) fn handles(&self) -> usize {
        self.handles
    }

    /// The server counts this session among the file's holders, perhaps with a close on its way.
    pub(crate) fn is_registered(&self) -> bool {
        self.registration != Registration::None
    }

    /// The server knows that the file is open here. A close that is on its way still is.
    pub(crate) fn register(&mut self) {
        if self.registration == Registration::None {
            self.registration = Registration::Registered;
        }
    }

    /// The server knows that the file is not open here.
    pub(crate) fn unregister(&mut self) {
        self.registration = Registration::None;
    }

    /// The last handle is gone and the server does not know.
    pub(crate) fn needs_close(&self) -> bool {
        self.handles == 0 && self.is_registered()
    }

    /// Begins a close, if one is needed; returns whether it is.
    pub(crate) fn begin_close(&mut self) -> bool {
        let needed = self.needs_close();
        if needed {
            self.registration = Registration::Closing;
        }
        needed
    }

    /// The close is over; unless [`OpenState::unregister`] said that it worked, the server counts this session still.
    pub(crate) fn end_close(&mut self) {
        if self.registration == Registration::Closing {
            self.registration = Registration::Registered;
        }
    }

    /// Opened again while a close is on its way.
    pub(crate) fn is_reopened(&self) -> bool {
        self.registration == Registration::Closing && self.handles > 0
    }

    /// Open here without the server knowing, or going to know.
    pub(crate) fn is_implicit(&self) -> bool {
        self.handles > 0 && self.registration != Registration::Registered
    }

    pub(crate) fn removals(&self) -> &Removals {
        &self.removals
    }

    pub(crate) fn removals_mut(&mut self) -> &mut Removals {
        &mut self.removals
    }

    pub(crate) fn is_close_deferred(&self) -> bool {
        self.last_close == LastClose::Deferred
    }

    /// The content of a closed file goes out in a moment. Once at a time.
    pub(crate) fn defer_close(&mut self) {
        assert_eq!(self.last_close, LastClose::Settled, "a close is deferred twice");
        self.last_close = LastClose::Deferred;
    }

    /// The content of the closed file goes out now.
    pub(crate) fn settle_close(&mut self) {
        assert_eq!(self.last_close, LastClose::Deferred, "no close was deferred");
        self.last_close = LastClose::Settled;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_that_fails_leaves_the_file_registered() {
        let mut open = OpenState::default();
        open.add_handle();
        assert!(open.is_implicit() && !open.begin_close());
        open.register();
        assert!(!open.is_implicit() && !open.needs_close());
        open.drop_handle();
        assert!(open.begin_close());
        open.add_handle();
        open.register();
        assert!(open.is_reopened() && open.is_implicit(), "the close is still on its way");
        open.end_close();
        assert!(open.is_registered() && !open.is_implicit() && !open.is_reopened());
    }

    #[test]
    fn a_deferred_close_is_settled_once() {
        let mut open = OpenState::default();
        open.defer_close();
        assert!(open.is_close_deferred());
        open.settle_close();
        assert!(!open.is_close_deferred());
        let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| open.settle_close()));
        assert!(again.is_err());
    }

    #[test]
    fn a_file_opened_again_after_its_close_is_open_implicitly() {
        let mut open = OpenState::default();
        open.register();
        assert!(open.begin_close());
        open.add_handle();
        open.unregister();
        open.end_close();
        assert!(!open.is_registered() && open.is_implicit() && !open.is_reopened());
    }
}
