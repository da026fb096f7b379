// SPDX-License-Identifier: Apache-2.0

//! Whether what is known of a file is true, and which session what is unsent was accepted under. Pure.

use crate::rpc::bound::UNBOUND;
use nyala_wire::SessionId;

/// Whether size, layout and inline content are true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validity {
    /// As long as the delegation is held that they came with.
    Loaded,
    /// They are to be asked for before they are used.
    Stale,
}

pub(crate) struct Binding {
    validity: Validity,
    /// Whose delegation the file was loaded under. What is unsent was accepted under it: when the session ends it is dropped,
    /// and this is `UNBOUND` until the file is loaded under the next one.
    session: SessionId,
}

impl Default for Binding {
    fn default() -> Binding {
        Binding { validity: Validity::Stale, session: UNBOUND }
    }
}

impl Binding {
    pub(crate) fn is_loaded(&self) -> bool {
        self.validity == Validity::Loaded
    }

    pub(crate) fn session(&self) -> SessionId {
        self.session
    }

    /// What is known came with a delegation of this session.
    pub(crate) fn load(&mut self, session: SessionId) {
        (self.validity, self.session) = (Validity::Loaded, session);
    }

    /// What is known is to be asked for. What is unsent is still the session's.
    pub(crate) fn unload(&mut self) {
        self.validity = Validity::Stale;
    }

    /// The session has ended; its delegation is gone before.
    pub(crate) fn unbind(&mut self) {
        assert_eq!(self.validity, Validity::Stale, "a session has ended and its delegation is still counted on");
        self.session = UNBOUND;
    }
}
