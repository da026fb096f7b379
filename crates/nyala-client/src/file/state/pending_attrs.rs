// SPDX-License-Identifier: Apache-2.0

//! Attributes that this client has set on a file whose content is not sent yet: they go with it, in one request. Pure.
//!
//! A program that unpacks or copies a file sets its mode, owner and times once it is written; each would be a request, and a wait, of its
//! own. Nobody else sees the file before its content is sent, so nobody can tell the difference; if the client ends before, the
//! content is lost, and these with it.

use nyala_wire::meta::{SetAttr, SetTime};
use nyala_wire::{Attr, Time};

/// Setuid and setgid: what a new owner or a write does to them is for the server to say.
const SETID: u16 = 0o6000;

#[derive(Default)]
pub(crate) struct PendingAttrs {
    /// To go with what is dirty.
    waiting: Option<SetAttr>,
    /// On their way, with the content.
    going: Option<SetAttr>,
}

/// Whether these can be set without asking the server, on a file with these attributes. A `chown` has setuid bits and capabilities taken away:
/// where there are none, that is nothing.
pub(crate) fn can_wait(set: &SetAttr, attr: &Attr) -> bool {
    let changes =
        set.perm.is_some() || set.uid.is_some() || set.gid.is_some() || set.atime.is_some() || set.mtime.is_some();
    set.size.is_none() && changes && attr.no_xattrs && (attr.perm | set.perm.unwrap_or(0)) & SETID == 0
}

impl PendingAttrs {
    /// Whether the server knows all that was set.
    pub(crate) fn is_settled(&self) -> bool {
        self.waiting.is_none() && self.going.is_none()
    }

    /// These are set now, after what was set before.
    pub(crate) fn add(&mut self, set: &SetAttr, now: Time) {
        let at = |to: SetTime| if to == SetTime::Now { SetTime::At(now) } else { to };
        let (atime, mtime) = (set.atime.map(at), set.mtime.map(at));
        let (kill_suidgid, outside_group) = (false, None);
        let set = SetAttr { atime, mtime, ctime: Some(now), kill_suidgid, outside_group, ..set.clone() };
        self.waiting = Some(over(self.waiting.take(), set));
    }

    /// The content is sent: what goes with it.
    pub(crate) fn depart(&mut self) -> Option<SetAttr> {
        assert!(self.going.is_none(), "content is sent twice at a time");
        self.going = self.waiting.take();
        self.going.clone()
    }

    /// The server has the content, or it is given up.
    pub(crate) fn arrived(&mut self) {
        self.going = None;
    }

    /// The content was not sent after all.
    pub(crate) fn take_back(&mut self) {
        if let Some(going) = self.going.take() {
            self.waiting = Some(match self.waiting.take() {
                Some(newer) => over(Some(going), newer),
                None => going,
            });
        }
    }

    /// The content is given up.
    pub(crate) fn discard(&mut self) {
        *self = PendingAttrs::default();
    }

    /// Lays them over attributes that the server gave.
    pub(crate) fn overlay(&self, attr: &mut Attr) {
        for set in [&self.going, &self.waiting].into_iter().flatten() {
            let time = |to: Option<SetTime>, is| if let Some(SetTime::At(time)) = to { time } else { is };
            attr.perm = set.perm.unwrap_or(attr.perm);
            attr.uid = set.uid.unwrap_or(attr.uid);
            attr.gid = set.gid.unwrap_or(attr.gid);
            attr.atime = time(set.atime, attr.atime);
            attr.mtime = time(set.mtime, attr.mtime);
            attr.ctime = attr.ctime.max(set.ctime.unwrap_or(attr.ctime));
        }
    }
}

fn over(older: Option<SetAttr>, newer: SetAttr) -> SetAttr {
    let Some(older) = older else { return newer };
    SetAttr {
        perm: newer.perm.or(older.perm),
        uid: newer.uid.or(older.uid),
        gid: newer.gid.or(older.gid),
        atime: newer.atime.or(older.atime),
        mtime: newer.mtime.or(older.mtime),
        ..newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{FileKind, InodeId};

    fn attr() -> Attr {
        let time = Time { seconds: 10, nanos: 0 };
        Attr {
            inode: InodeId(7),
            kind: FileKind::File,
            perm: 0o644,
            nlink: 1,
            uid: 1,
            gid: 1,
            rdev: 0,
            size: 5,
            atime: time,
            mtime: time,
            ctime: time,
            btime: time,
            allocated: None,
            no_xattrs: true,
            split: None,
        }
    }

    fn at(seconds: i64) -> Time {
        Time { seconds, nanos: 0 }
    }

    fn mode(perm: u16) -> SetAttr {
        SetAttr { perm: Some(perm), ..SetAttr::default() }
    }

    #[test]
    fn what_servers_decide_does_not_wait() {
        assert!(can_wait(&mode(0o600), &attr()));
        assert!(!can_wait(&SetAttr::default(), &attr()) && !can_wait(&mode(0o4755), &attr()));
        assert!(!can_wait(&mode(0o600), &Attr { perm: 0o2755, ..attr() }));
        assert!(!can_wait(&mode(0o600), &Attr { no_xattrs: false, ..attr() }), "it may have an access control list");
        assert!(!can_wait(&SetAttr { size: Some(1), ..mode(0o600) }, &attr()));
        let chown = SetAttr { uid: Some(7), kill_suidgid: true, ..SetAttr::default() };
        assert!(can_wait(&chown, &attr()) && !can_wait(&chown, &Attr { perm: 0o4755, ..attr() }));
        assert!(!can_wait(&SetAttr { kill_suidgid: true, ..SetAttr::default() }, &attr()));
    }

    #[test]
    fn the_newest_counts_and_what_was_not_sent_comes_back_beneath_it() {
        let mut pending = PendingAttrs::default();
        pending.add(&mode(0o600), at(20));
        pending.add(&SetAttr { uid: Some(5), mtime: Some(SetTime::Now), ..SetAttr::default() }, at(21));
        let shown = |pending: &PendingAttrs| {
            let mut attr = attr();
            pending.overlay(&mut attr);
            (attr.perm, attr.uid, attr.mtime.seconds, attr.ctime.seconds)
        };
        assert_eq!(shown(&pending), (0o600, 5, 21, 21));
        let sent = pending.depart().unwrap();
        assert_eq!((sent.perm, sent.uid, sent.mtime), (Some(0o600), Some(5), Some(SetTime::At(at(21)))));
        assert_eq!((shown(&pending), pending.is_settled()), ((0o600, 5, 21, 21), false));
        pending.add(&mode(0o640), at(22));
        pending.take_back();
        assert_eq!(shown(&pending), (0o640, 5, 21, 22));
        pending.depart();
        pending.arrived();
        assert!(pending.is_settled() && pending.depart().is_none());
    }
}
