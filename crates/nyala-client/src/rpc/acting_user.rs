// SPDX-License-Identifier: Apache-2.0

//! On behalf of which user of this host a call is made. Servers are told the number, to count by; all that decides what the user may do
//! ([`Caller`]) they are told where this client's key has a rule about users, and nowhere else.
//!
//! **Failure model.** What runs in the background, and what a task of its own does for a call, is on nobody's behalf: servers then allow what some user
//! of this host may, and count it as nobody's. Whether there is a rule is known from the map, which may be old: servers decide by theirs.

use crate::rpc::cluster::Cluster;
use nyala_wire::meta::{Caller, MAX_CALLER_GROUPS};
use nyala_wire::restriction::{may_hold, restricts_anybody};

/// A user of this host.
#[derive(Clone, Copy, Debug)]
pub struct ActingUser {
    /// The user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its process; 0 if the kernel names none.
    pub pid: u32,
    /// The other groups of a process; asked only where servers want to know.
    pub groups: fn(u32) -> Vec<u32>,
}

tokio::task_local! {
    static ACTING: ActingUser;
}

/// Runs a call on behalf of a user.
pub(crate) async fn on_behalf<T>(user: ActingUser, call: impl Future<Output = T>) -> T {
    ACTING.scope(user, call).await
}

impl ActingUser {
    /// Who is counted. The kernel sends what it does itself (writing back, releasing files) as user 0 without a process.
    fn counted(self) -> Option<u32> {
        (self.uid != 0 || self.pid != 0).then_some(self.uid)
    }
}

/// Who a request is counted for, if anybody.
pub(super) fn user() -> Option<u32> {
    ACTING.try_with(|user| user.counted()).ok().flatten()
}

/// Who is said to ask.
pub(super) fn caller(cluster: &Cluster) -> Option<Box<Caller>> {
    let view = cluster.maps.view();
    if !restricts_anybody(&view.map) {
        return None;
    }
    let config = &cluster.ctx.config;
    let user = ACTING.try_with(|user| *user).ok()?;
    let key = config.secret.offered(config.role).ok()?.key;
    let ruled = view.map.key_rule(&key).is_some_and(|rule| rule.is_about_ids())
        || may_hold(&view.map, &key, |rule| rule.rule.is_about_ids());
    ruled.then(|| {
        let mut groups = (user.groups)(user.pid);
        groups.truncate(MAX_CALLER_GROUPS);
        Box::new(Caller { uid: user.uid, gid: user.gid, groups, anybody: None })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn programs_are_counted_and_what_nobody_asked_for_is_not() {
        let at = |uid, pid| ActingUser { uid, gid: uid, pid, groups: |_| Vec::new() };
        let counted = async |acting| on_behalf(acting, async { user() }).await;
        assert_eq!(counted(at(1000, 7)).await, Some(1000));
        assert_eq!(counted(at(0, 7)).await, Some(0), "a program of root's");
        assert_eq!(counted(at(1000, 0)).await, Some(1000), "its process is out of the mount's sight");
        assert_eq!(counted(at(0, 0)).await, None, "the kernel itself");
        assert_eq!(user(), None);
        let own_task = on_behalf(at(1000, 7), async { tokio::spawn(async { user() }).await }).await;
        assert_eq!(own_task.unwrap(), None);
    }
}
