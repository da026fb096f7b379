// SPDX-License-Identifier: Apache-2.0

//! On behalf of which user of this host a call is made. Servers are told where this client's key has a rule about users, and nowhere else.
//!
//! **Failure model.** What runs in the background, and what a task of its own does for a call, is on nobody's behalf: servers then allow what some user
//! of this host may. Whether there is a rule is known from the map, which may be old: servers decide by theirs.

use crate::rpc::cluster::Cluster;
use nyala_wire::meta::{Caller, MAX_CALLER_GROUPS};

/// A user of this host.
#[derive(Clone, Copy, Debug)]
pub struct ActingUser {
    /// The user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its process.
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

/// Who is said to ask.
pub(super) fn caller(cluster: &Cluster) -> Option<Box<Caller>> {
    let view = cluster.maps.view();
    if view.map.key_rules.is_empty() {
        return None;
    }
    let config = &cluster.ctx.config;
    let user = ACTING.try_with(|user| *user).ok()?;
    let key = config.secret.offered(config.role).ok()?.key;
    let ruled = view.map.key_rule(&key).is_some_and(|rule| rule.is_about_ids());
    ruled.then(|| {
        let mut groups = (user.groups)(user.pid);
        groups.truncate(MAX_CALLER_GROUPS);
        Box::new(Caller { uid: user.uid, gid: user.gid, groups, anybody: None })
    })
}
