// SPDX-License-Identifier: Apache-2.0

//! Which session data belongs to: the one under which a program handed it over.
//!
//! **Failure model.** A session ends while data is buffered, waits its turn, is on its way or is about to be sent again.
//! From then on others may have been let at the file, so that the data would undo what they wrote: it is lost, whoever
//! wrote it hears of that, and it is never sent under the session that comes next. So every change carries the session it
//! was accepted under, from the file's state to the request: a client that has noticed does not send it, and servers
//! refuse what was sent before it noticed. Names are another matter: `rpc::meta` sends their changes again.

use crate::error::Error;
use nyala_wire::{InodeId, SessionId};

/// What a change of a file is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) inode: InodeId,
    /// Under which it was accepted.
    pub(crate) session: SessionId,
    /// The program still waits and no server took it: as long as all that was answered is that the session had ended, it
    /// counts as accepted under the next one.
    pub(crate) fresh: bool,
}

/// Of a client without delegations: what it writes is sent under the session of the moment, whatever ended before.
pub(crate) const UNBOUND: SessionId = SessionId(0);

impl Bound {
    pub(crate) fn new(inode: InodeId, session: SessionId) -> Bound {
        Bound { inode, session, fresh: false }
    }

    /// No server took it, and its session has not ended: as if it came from the program now.
    pub(crate) fn untaken(self) -> Bound {
        Bound { fresh: true, ..self }
    }

    pub(crate) fn is_free(&self) -> bool {
        self.session == UNBOUND
    }

    pub(crate) fn lost(&self) -> Error {
        Error::DelegationLost { inode: self.inode }
    }
}
