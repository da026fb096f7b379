// SPDX-License-Identifier: Apache-2.0

//! Keeps the shells in line with the map, and tells management what they have to say.
//!
//! **Failure model.** Management may be away or refuse: shells ask again as long as they need it. A heartbeat says that
//! we have a map only after all shells have handled it, since management lets others go on then. A shell that does not
//! end in time is said, and left.

use super::action::{Ask, Event};
use super::entry::{Mirror, Mirrors};
use super::groups_thread::GroupsThread;
use super::shell::{Setup, SharedMember};
use crate::service::target::Target;
use nyala_transport::HandshakeConfig;
use nyala_transport::member::Member;
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{GroupId, MapVersion, TargetId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Longest wait for a decision of management.
const DECISION_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest wait for the end of their thread.
const FAREWELL: Duration = Duration::from_secs(5);

/// What the supervisor needs.
pub struct Supervisor {
    pub mirrors: Arc<Mirrors>,
    pub member: Member,
    pub targets: Arc<HashMap<TargetId, Arc<Target>>>,
    pub handshake: HandshakeConfig,
}

/// Runs until it is dropped; [`Mirrors::stop`] comes after.
pub async fn supervise(supervisor: Supervisor) {
    let (asks, mut asked) = mpsc::unbounded_channel();
    let mut map = supervisor.member.map();
    // From here on heartbeats report what the shells have handled, and no more.
    supervisor.member.acts_on(map.version);
    loop {
        supervisor.take(&map, &asks).await;
        supervisor.member.acts_on(map.version);
        supervisor.forget_removed(&map).await;
        let newer = supervisor.member.watch().newer_than(map.version);
        tokio::pin!(newer);
        map = loop {
            tokio::select! {
                newer = &mut newer => break newer,
                Some(ask) = asked.recv() => supervisor.tell(ask),
            }
        };
    }
}

impl Supervisor {
    /// Opens and closes shells, and has all of them handle a map.
    async fn take(&self, map: &Arc<ClusterMap>, asks: &mpsc::UnboundedSender<Ask>) {
        let wanted = self.wanted(map);
        {
            let mut groups = self.mirrors.groups.write();
            let gone: Vec<_> = groups.keys().filter(|group| !wanted.contains_key(group)).copied().collect();
            let gone = gone.iter().filter_map(|group| groups.remove(group));
            self.mirrors.stopping.lock().extend(gone.map(|mirror| mirror.stop()));
        }
        for (group, me) in wanted {
            if !self.mirrors.groups.read().contains_key(&group) {
                self.open(group, me, asks, losses(map, group));
            }
        }
        let all: Vec<(GroupId, Arc<Mirror>)> =
            self.mirrors.groups.read().iter().map(|(group, mirror)| (*group, mirror.clone())).collect();
        for (group, mirror) in all {
            mirror.losses.store(losses(map, group), Ordering::Release);
            let (done, handled) = oneshot::channel();
            if mirror.events.send(Event::Map(map.clone(), done)).is_ok() {
                // An error means that the member has stopped and serves nothing.
                let _ = handled.await;
            }
        }
    }

    /// Groups that a target here is a member of.
    fn wanted(&self, map: &ClusterMap) -> HashMap<GroupId, TargetId> {
        let groups = map.groups.iter().filter(|group| group.kind == TargetKind::Storage);
        let mine = |members: &[TargetId]| members.iter().find(|member| self.targets.contains_key(member)).copied();
        groups.filter_map(|group| Some((group.id, mine(&group.members)?))).collect()
    }

    fn open(&self, group: GroupId, me: TargetId, asks: &mpsc::UnboundedSender<Ask>, losses: u32) {
        let Some(target) = self.targets.get(&me).cloned() else { return };
        let common = self.mirrors.common.clone();
        let setup = Setup { me, group, target, member: self.member.clone(), common, asks: asks.clone() };
        let shared = match SharedMember::open(setup) {
            Ok(shared) => Arc::new(shared),
            Err(error) => return tracing::error!(%group, %error, "what is remembered of a mirror group cannot be read"),
        };
        let (events, incoming) = mpsc::unbounded_channel();
        let mut thread = self.mirrors.thread.lock();
        match thread.take().map_or_else(|| GroupsThread::start(&self.mirrors.common, self.handshake.clone()), Ok) {
            Ok(started) => {
                // An error means that it has panicked; then no map is ever handled, and nothing served.
                let _ = started.open.send((shared.clone(), incoming));
                *thread = Some(started);
            }
            Err(error) => return tracing::error!(%group, %error, "no thread for mirror groups; it is not served here"),
        }
        let mirror = Mirror { shared, events, losses: losses.into() };
        self.mirrors.groups.write().insert(group, Arc::new(mirror));
    }

    fn tell(&self, ask: Ask) {
        let member = self.member.clone();
        let request = match ask {
            Ask::Behind(version) => return member.watch().heard_of(MapVersion(version.0 + 1)),
            Ask::News(request) => request,
            Ask::Refused(node) => MgmtRequest::Refused { node },
        };
        tokio::spawn(async move {
            match member.mgmt().call_within(&request, DECISION_TIMEOUT).await {
                Ok(MgmtReply::Map(map)) => member.watch().offer(*map),
                Ok(_) => {}
                Err(error) => tracing::debug!(?request, %error, "management has not done it"),
            }
        });
    }
}

/// How often a group may have lost something.
fn losses(map: &ClusterMap, group: GroupId) -> u32 {
    map.groups.iter().find(|one| one.id == group).map_or(0, |group| group.losses)
}

impl Mirrors {
    /// Stops all members, so that nothing but connection threads holds the targets any more.
    pub async fn stop(&self) {
        let groups = std::mem::take(&mut *self.groups.write());
        groups.into_values().for_each(|mirror| drop(mirror.stop()));
        self.stopping.lock().clear();
        self.common.pools.lock().clear();
        let Some(GroupsThread { open, thread }) = self.thread.lock().take() else { return };
        drop(open);
        let began = Instant::now();
        while !thread.is_finished() && began.elapsed() < FAREWELL {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        match thread.is_finished() {
            true if thread.join().is_err() => tracing::error!("the thread of mirror groups has panicked"),
            true => {}
            false => tracing::warn!("the thread of mirror groups does not end"),
        }
    }
}
