// SPDX-License-Identifier: Apache-2.0

//! Keeps the shells in line with the map, and tells management what they have to say.
//!
//! **Failure model.** Management may be away or refuse: shells ask again as long as they need it. A heartbeat says that
//! we have a map only after all shells have handled it, since management lets others go on then. A shell that does not
//! end in time is said, and left.

use super::entry::{Event, Mirror, Mirrors};
use super::shell::{Setup, run};
use crate::service::target::Target;
use nyala_transport::HandshakeConfig;
use nyala_transport::member::Member;
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{GroupId, MapVersion, NodeId, TargetId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Longest wait for a decision of management.
const DECISION_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest wait for the end of a shell.
const FAREWELL: Duration = Duration::from_secs(5);

/// What shells want of management.
pub(super) enum Ask {
    /// A member became something.
    News(MgmtRequest),
    /// The host of a service refuses connections.
    Refused(NodeId),
    /// There is a newer map than this.
    Behind(MapVersion),
}

/// What the supervisor needs.
pub(in crate::service) struct Supervisor {
    pub mirrors: Arc<Mirrors>,
    pub member: Member,
    pub targets: Arc<HashMap<TargetId, Arc<Target>>>,
    pub handshake: HandshakeConfig,
}

/// Runs until it is dropped; [`Mirrors::stop`] comes after.
pub(in crate::service) async fn supervise(supervisor: Supervisor) {
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
        let gone: Vec<GroupId> = {
            let mut groups = self.mirrors.groups.write();
            let gone: Vec<_> = groups.keys().filter(|group| !wanted.contains_key(group)).copied().collect();
            gone.iter().filter_map(|group| groups.remove(group)).for_each(|mirror| {
                // An error means that it has ended.
                let _ = mirror.events.send(Event::Stop);
            });
            gone
        };
        for group in gone {
            let thread = self.mirrors.threads.lock().remove(&group);
            self.mirrors.ending.lock().extend(thread.map(|thread| (group, thread)));
        }
        for (group, me) in wanted {
            if !self.mirrors.groups.read().contains_key(&group) {
                self.open(group, me, asks, losses(map, group));
            }
        }
        let all: Vec<(GroupId, Mirror)> =
            self.mirrors.groups.read().iter().map(|(group, mirror)| (*group, mirror.clone())).collect();
        for (group, mirror) in all {
            mirror.losses.store(losses(map, group), Ordering::Release);
            let (done, handled) = oneshot::channel();
            if mirror.events.send(Event::Map(map.clone(), done)).is_ok() {
                // An error means that the shell has ended and serves nothing.
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
        let (events, incoming) = mpsc::unbounded_channel();
        let setup = Setup {
            me,
            group,
            target: target.clone(),
            member: self.member.clone(),
            handshake: self.handshake.clone(),
            mirrors: Arc::downgrade(&self.mirrors),
            asks: asks.clone(),
        };
        let thread = std::thread::Builder::new().name("nyala-mirror".into());
        match thread.spawn(move || run(setup, incoming)) {
            Ok(thread) => {
                self.mirrors.threads.lock().insert(group, thread);
                self.mirrors
                    .groups
                    .write()
                    .insert(group, Mirror { me, target, events, losses: Arc::new(losses.into()) });
            }
            Err(error) => tracing::error!(%group, %error, "no thread for a mirror group; it is not served here"),
        }
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
    /// Ends all shells, so that nothing holds the targets any more.
    pub async fn stop(&self) {
        let groups = std::mem::take(&mut *self.groups.write());
        for mirror in groups.into_values() {
            // An error means that it has ended.
            let _ = mirror.events.send(Event::Stop);
        }
        let mut threads: Vec<_> = std::mem::take(&mut *self.threads.lock()).into_iter().collect();
        threads.append(&mut self.ending.lock());
        let began = Instant::now();
        for (group, thread) in threads {
            while !thread.is_finished() && began.elapsed() < FAREWELL {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            match thread.is_finished() {
                true if thread.join().is_err() => tracing::error!(%group, "the thread of a mirror group has panicked"),
                true => {}
                false => tracing::warn!(%group, "the thread of a mirror group does not end"),
            }
        }
    }
}
