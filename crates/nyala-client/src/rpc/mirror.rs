// SPDX-License-Identifier: Apache-2.0

//! Requests to mirror groups: which member is asked, under which number, and again until it worked.
//!
//! **Failure model.** A member dies, vanishes or stands still in the middle of a request; its group goes on with another
//! primary in another epoch. A request is given up as soon as a map arrives that shows another epoch, and sent again under the same
//! number: the group does it once. A refused connection is reported to management, which then need not wait for the lease
//! to end. A member that this client alone does not reach is gone around ([`crate::rpc::reach`]). A reader may ask a member that
//! cannot tell (`ASK_PRIMARY`), or one whose copy is damaged: the next one is asked. The application sees a pause.

use crate::error::{Error, Result};
use crate::rpc::cluster::Cluster;
use crate::rpc::failure::{Again, removed, sort_reply, sort_transport};
use crate::rpc::logic::group_numbers::Numbers;
use crate::rpc::reach::SUSPECT;
use crate::rpc::retry::Retry;
use crate::rpc::show::{Uses, is_asked_for, show};
use crate::rpc::transport::ReachFuture;
use nyala_transport::{Endpoint, Frame, Request, TransportError};
use nyala_wire::codec::decode;
use nyala_wire::map::{Group, MemberState, Reachability};
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::mirror::GroupHeader;
use nyala_wire::{ErrorCode, GroupId, TargetId, WireError, message_type};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a read of damaged data waits for another member to become good.
const COPY_WAIT: Duration = Duration::from_secs(5);
/// Between two looks at whether one has.
const COPY_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Storage may have a slow disk and a long queue; after this time it is asked again.
pub(super) const STORAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// What a reader knows about the members of a group; `None` elsewhere: only the primary is asked.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Spreads readers over members.
    pub(crate) reader_number: u64,
    /// Members whose copy is damaged.
    pub(crate) avoid: Vec<TargetId>,
    /// Who was asked last.
    pub(crate) last: Option<TargetId>,
    ask_primary: bool,
    tries: u64,
}

impl Reader {
    pub(crate) fn new(reader_number: u64) -> Reader {
        Reader { reader_number, ..Reader::default() }
    }

    /// Whether only the primary can tell.
    fn asks_primary(&self, primary: TargetId) -> bool {
        self.ask_primary && !self.avoid.contains(&primary)
    }

    fn pick(&self, good: &[TargetId], primary: TargetId) -> Option<TargetId> {
        let wanted: Vec<TargetId> = good.iter().filter(|target| !self.avoid.contains(target)).copied().collect();
        if self.ask_primary && wanted.contains(&primary) {
            return Some(primary);
        }
        let at = self.reader_number.wrapping_add(self.tries).checked_rem(wanted.len() as u64)?;
        wanted.get(at as usize).copied()
    }
}

/// What follows from an answer.
enum Step {
    Done(Frame),
    /// At once, the primary this time.
    AskPrimary,
    /// At once, after the member was shown what this code asks for.
    Show(ErrorCode),
    Again(Again),
}

/// A request's number; over when dropped.
struct Number {
    numbers: Arc<Mutex<Numbers>>,
    number: u64,
}

impl Drop for Number {
    fn drop(&mut self) {
        self.numbers.lock().done(self.number);
    }
}

impl Cluster {
    fn number_for(&self, group: GroupId) -> Number {
        let numbers = self.numbers.lock().entry(group).or_default().clone();
        let number = numbers.lock().begin();
        Number { numbers, number }
    }

    /// Members that serve reads and may be reached; those that this client does not reach only if there are no others.
    fn good_members(&self, group: &Group) -> Vec<TargetId> {
        let map = self.maps.view().map.clone();
        let reach = |id: TargetId| map.target(id).is_some_and(|target| target.reachability != Reachability::Offline);
        let members = group.members_with_states();
        let good = members.filter(|(id, state)| *state == MemberState::Good && reach(*id)).map(|(id, _)| id);
        let (far, near): (Vec<_>, Vec<_>) = good.partition(|id| self.unreached.has(*id));
        if near.is_empty() { far } else { near }
    }

    /// Who is asked, and whether to pass it on to the primary.
    fn member_for(&self, group: &Group, reader: Option<&Reader>) -> Option<(TargetId, bool)> {
        let primary = group.primary()?;
        let unreached = self.unreached.has(primary);
        if reader.is_none() && !unreached {
            return Some((primary, false));
        }
        let good = self.good_members(group);
        let far = unreached && !good.contains(&primary);
        match reader {
            Some(reader) => reader.pick(&good, primary).map(|member| (member, far && reader.asks_primary(primary))),
            None => good.first().filter(|_| far).map_or(Some((primary, false)), |near| Some((*near, true))),
        }
    }

    /// Whether a group has a good member besides these.
    pub(crate) fn has_other_copy(&self, group: GroupId, avoid: &[TargetId]) -> bool {
        let view = self.maps.view();
        let group = view.map.group(group);
        group.is_some_and(|group| self.good_members(group).iter().any(|target| !avoid.contains(target)))
    }

    /// The same; one that is there and not good yet is waited for a moment: after a start of all of them members become good
    /// one after the other.
    pub(crate) async fn other_copy(&self, group: GroupId, avoid: &[TargetId]) -> bool {
        let began = Instant::now();
        while !self.has_other_copy(group, avoid) {
            let view = self.maps.view();
            let online = |id: TargetId| view.map.target(id).is_some_and(|t| t.reachability == Reachability::Online);
            let comes = |id: &TargetId| !avoid.contains(id) && online(*id);
            let others = view.map.group(group).is_some_and(|group| group.members.iter().any(comes));
            if !others || began.elapsed() >= COPY_WAIT {
                return false;
            }
            tokio::time::sleep(COPY_POLL_INTERVAL).await;
            // why ignored: without management there is no news, and the time is bounded.
            let _ = self.maps.refresh(view.map.version).await;
        }
        true
    }

    /// Sends to a group until a member answers with success or an error that repetition does not cure. `uses`: whose chunks are used, and how.
    pub(crate) async fn group_call(
        self: &Arc<Cluster>,
        what: &'static str,
        (group, uses): (GroupId, Uses<'_>),
        mut reader: Option<&mut Reader>,
        retry: &mut Retry,
        mut make: impl FnMut() -> Request,
    ) -> Result<Frame> {
        let mut shown = 0;
        let number = if reader.is_none() { Some(self.number_for(group)) } else { None };
        loop {
            let view = self.maps.view();
            let known = view.map.group(group);
            let member = known.and_then(|known| self.member_for(known, reader.as_deref()));
            let epoch = known.map_or(0, |known| known.epoch);
            let endpoint = member.and_then(|(member, _)| view.endpoint(member));
            let why = match (member, endpoint) {
                (Some((member, pass_on)), Some(endpoint)) => {
                    let request = self.to_group(make(), group, number.as_ref(), pass_on);
                    let request = request.at(view.map.version.0, epoch);
                    let answer = self.call_in_epoch((group, epoch), member, endpoint, request).await;
                    match self.sort(what, member, answer, reader.as_deref_mut()).await? {
                        Step::Done(frame) => return Ok(frame),
                        Step::AskPrimary => continue,
                        Step::Show(code) => {
                            show(self, what, endpoint, (code, uses), &mut shown).await?;
                            continue;
                        }
                        Step::Again(why) => why,
                    }
                }
                _ => Again::Connection(format!("no member of mirror group {group} can serve at the moment")),
            };
            if let Some(reader) = &mut reader {
                reader.tries += 1;
            }
            if known.is_none() && self.maps.is_newest(view.map.version).await {
                return Err(removed(what, &format!("mirror group {group}")));
            }
            // why ignored: if management is away too, the pause and the next try deal with it.
            let _ = self.maps.refresh(view.map.version).await;
            retry.pause(self, why).await?;
        }
    }

    /// What is to be done about a member's answer; `None`: another one is to be asked, or in another epoch.
    async fn sort(
        &self,
        what: &'static str,
        member: TargetId,
        answer: Option<std::result::Result<Frame, TransportError>>,
        mut reader: Option<&mut Reader>,
    ) -> Result<Step> {
        if let Some(reader) = &mut reader {
            reader.last = Some(member);
        }
        Ok(Step::Again(match answer {
            Some(Ok(frame)) if !frame.is_error() => return Ok(Step::Done(frame)),
            Some(Ok(frame)) => {
                let error: WireError = decode(&frame.body).map_err(Error::server(what))?;
                if let Some(reader) = reader {
                    let asked = std::mem::replace(&mut reader.ask_primary, error.code == ErrorCode::ASK_PRIMARY);
                    if reader.ask_primary && !asked {
                        return Ok(Step::AskPrimary);
                    }
                }
                if is_asked_for(error.code) {
                    return Ok(Step::Show(error.code));
                }
                sort_reply(what, error.clone())?;
                // A short pause: it is over as soon as the group has agreed.
                Again::Connection(error.to_string())
            }
            Some(Err(error)) => {
                if matches!(error, TransportError::ConnectRefused { .. }) {
                    self.report(member).await;
                }
                sort_transport(what, error)?
            }
            None => Again::Connection("the mirror group goes on in another epoch, or by another member".to_owned()),
        }))
    }

    fn to_group(&self, request: Request, group: GroupId, number: Option<&Number>, pass_on: bool) -> Request {
        let (number, lowest) = number.map_or((0, 0), |number| (number.number, number.numbers.lock().lowest()));
        let header = GroupHeader {
            group: group.0.into(),
            kind: request.message_type.into(),
            pass_on: u32::from(pass_on).into(),
            client: self.client_id.into(),
            number: number.into(),
            lowest: lowest.into(),
        };
        let body = header.wrap(&request.body).into();
        let timeout = Some(STORAGE_TIMEOUT);
        Request { message_type: message_type::STORAGE_GROUP, body, timeout, ..request }
    }

    /// Calls; `None` when the group has gone on to another epoch meanwhile, or the member's host does not answer and there is
    /// another one to ask.
    async fn call_in_epoch(
        &self,
        (group, epoch): (GroupId, u32),
        member: TargetId,
        endpoint: &Endpoint,
        request: Request,
    ) -> Option<std::result::Result<Frame, TransportError>> {
        let mut call = self.rpc.call(endpoint, request);
        let mut probe: Option<ReachFuture> = None;
        let mut suspect = Instant::now() + SUSPECT;
        loop {
            let changed = self.maps.changed();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.maps.view().map.group(group).is_some_and(|known| known.epoch != epoch) {
                return None;
            }
            if probe.is_none() && Instant::now() >= suspect {
                if self.has_other_copy(group, &[member]) {
                    probe = Some(self.rpc.is_reachable(endpoint));
                } else {
                    suspect = Instant::now() + SUSPECT;
                }
            }
            let is_probing = probe.is_some();
            let probed = async {
                match &mut probe {
                    Some(probe) => probe.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                result = &mut call => return Some(result),
                answered = probed => {
                    if !answered {
                        self.unreached.report(&self.rpc, member, endpoint);
                        return None;
                    }
                    (probe, suspect) = (None, Instant::now() + SUSPECT);
                }
                () = changed => {}
                () = tokio::time::sleep_until(suspect.into()), if !is_probing => {}
            }
        }
    }

    /// Tells management whose host refuses connections.
    async fn report(&self, member: TargetId) {
        let node = self.maps.view().map.target(member).map(|target| target.node);
        if let Some(node) = node {
            // why ignored: management notices by itself, only later.
            let _ = self.maps.ask(&MgmtRequest::Refused { node }, Duration::ZERO).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientConfig;
    use crate::context::Context;
    use crate::rpc::transport::{Rpc, RpcFuture};
    use nyala_transport::Secret;
    use nyala_wire::MapVersion;
    use nyala_wire::map::{ClusterMap, TargetKind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context as Task, Poll, Wake, Waker};

    const GROUP: GroupId = GroupId(1);
    const MEMBER: TargetId = TargetId(7);

    /// Servers that never answer.
    struct Silent;

    impl Rpc for Silent {
        fn call<'a>(&'a self, _endpoint: &'a Endpoint, _request: Request) -> RpcFuture<'a> {
            Box::pin(std::future::pending())
        }

        fn is_reachable<'a>(&'a self, _endpoint: &'a Endpoint) -> ReachFuture<'a> {
            Box::pin(std::future::pending())
        }
    }

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Wakes>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn map(version: u64, epoch: u32) -> ClusterMap {
        let group = Group {
            id: GROUP,
            kind: TargetKind::Storage,
            epoch,
            members: vec![MEMBER],
            states: Vec::new(),
            term: 1,
            since: MapVersion(1),
            fencing: Vec::new(),
            resync_stopped: false,
            full: Vec::new(),
            losses: 0,
            serves: None,
        };
        ClusterMap { version: MapVersion(version), groups: vec![group], ..ClusterMap::default() }
    }

    #[tokio::test]
    async fn a_request_is_given_up_when_another_epoch_is_known_and_wakes_for_nothing_before() {
        let config = ClientConfig::new(Vec::new(), Secret::from_bytes(&[7; 32]).unwrap(), "test");
        let cluster = Cluster::new(Arc::new(Context::new(config)), Arc::new(Silent)).unwrap();
        cluster.maps.take(map(1, 1));
        let (endpoint, wakes) = (Endpoint { addresses: Vec::new() }, Arc::new(Wakes::default()));
        let request = Request::new(message_type::STORAGE, Vec::new());
        let mut call = Box::pin(cluster.call_in_epoch((GROUP, 1), MEMBER, &endpoint, request));
        let waker = Waker::from(wakes.clone());
        assert!(call.as_mut().poll(&mut Task::from_waker(&waker)).is_pending());
        // sleeps: nothing is to happen in that time
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
        cluster.maps.take(map(2, 1));
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert!(call.as_mut().poll(&mut Task::from_waker(&waker)).is_pending(), "a newer map, the same epoch");
        cluster.maps.take(map(3, 2));
        assert!(matches!(call.as_mut().poll(&mut Task::from_waker(&waker)), Poll::Ready(None)));
    }
}
