// SPDX-License-Identifier: Apache-2.0

//! Groups come and go on operators' wishes.

use crate::limits::MAX_MEMBERS;
use crate::{ClusterError, ClusterState, Event};
use nyala_wire::map::{Consistency, Group, MemberState, Reachability, TargetKind};
use nyala_wire::{GroupId, TargetId};

type Events = Result<Vec<Event>, ClusterError>;

impl ClusterState {
    pub(crate) fn create_group(&mut self, wished: GroupId, kind: TargetKind, members: &[TargetId]) -> Events {
        if let Some(same) = self.groups.iter().find(|g| sorted(&g.members) == sorted(members)) {
            let ours = wished.0 == 0 || wished == same.id;
            return if ours { Ok(Vec::new()) } else { Err(ClusterError::invalid("these targets are a group already")) };
        }
        if !(2..=MAX_MEMBERS).contains(&members.len()) || sorted(members).windows(2).any(|w| w[0] == w[1]) {
            return Err(ClusterError::invalid(format!("a mirror group has 2 to {MAX_MEMBERS} different members")));
        }
        self.check_free(kind, members)?;
        let (members, serves) = match kind {
            TargetKind::Storage => (members.to_vec(), None),
            TargetKind::Meta => {
                let server = self.server_among(members)?;
                let others = members.iter().copied().filter(|member| *member != server);
                (std::iter::once(server).chain(others).collect(), Some(server))
            }
        };
        let id = if wished.0 != 0 { wished } else { GroupId(self.last_group.saturating_add(1)) };
        if id.0 <= self.last_group && (wished.0 == 0 || self.group(id).is_some()) {
            return Err(ClusterError::Exhausted { what: format!("mirror group ids (or {id} is taken)") });
        }
        self.last_group = self.last_group.max(id.0);
        let group = Group {
            id,
            kind,
            epoch: 1,
            // Only the metadata server has anything to begin with.
            states: (0..members.len()).map(|at| first_state(kind, at)).collect(),
            term: 1,
            since: nyala_wire::MapVersion(self.version.0 + 1),
            fencing: Vec::new(),
            resync_stopped: false,
            losses: 0,
            full: if kind == TargetKind::Meta { members[1..].to_vec() } else { Vec::new() },
            members,
            serves,
        };
        let at = self.groups.partition_point(|g| g.id < id);
        self.groups.insert(at, group);
        Ok(vec![Event::GroupCreated(id)])
    }

    /// Whether targets may become members.
    fn check_free(&self, kind: TargetKind, members: &[TargetId]) -> Result<(), ClusterError> {
        for &id in members {
            let target = self.target(id).ok_or(ClusterError::NoTarget { target: id })?;
            if target.kind != kind {
                return Err(ClusterError::invalid(format!("target {id} holds {:?} content", target.kind)));
            }
            if target.state.reachability != Reachability::Online || target.state.consistency != Consistency::Good {
                return Err(ClusterError::invalid(format!("target {id} is not online and good")));
            }
            if let Some(group) = self.group_of(id) {
                let what = format!("target {id}");
                return Err(ClusterError::InUse { what, why: format!("it is a member of mirror group {}", group.id) });
            }
        }
        Ok(())
    }

    /// The metadata server that is to be mirrored: the one member that has slots.
    fn server_among(&self, members: &[TargetId]) -> Result<TargetId, ClusterError> {
        let mut servers = members.iter().copied().filter(|member| self.has_slots(*member));
        match (servers.next(), servers.next()) {
            (Some(server), None) => Ok(server),
            (None, _) => Err(ClusterError::invalid(
                "none of these metadata targets serves names; name the server to be mirrored",
            )),
            (Some(one), Some(other)) => Err(ClusterError::invalid(format!(
                "targets {one} and {other} both serve names of their own; a group mirrors one metadata server to targets that \
                 were started as spares"
            ))),
        }
    }

    /// Whether slots are served under this target's name.
    pub(crate) fn has_slots(&self, target: TargetId) -> bool {
        self.slots.iter().any(|range| range.target == target)
    }

    /// The group goes; what its members hold stays where it is, so the caller gives the word that no file uses it.
    pub(crate) fn remove_group(&mut self, id: GroupId, content_gone: bool) -> Events {
        if self.group(id).is_none() {
            return Ok(Vec::new());
        }
        if let Some(server) = self.group(id).and_then(|group| group.serves) {
            self.check_goes_on_alone(id, server)?;
        } else if !content_gone {
            let why = "files may have data in it; say that the content is gone to give it up".to_owned();
            return Err(ClusterError::InUse { what: format!("mirror group {id}"), why });
        }
        self.groups.retain(|g| g.id != id);
        Ok(vec![Event::GroupRemoved(id)])
    }

    /// A metadata server whose mirror group goes works on alone, on the target that it is named by.
    fn check_goes_on_alone(&self, id: GroupId, server: TargetId) -> Result<(), ClusterError> {
        let leads = self.group(id).is_some_and(|group| group.primary() == Some(server) && group.is_settled());
        if leads && !self.is_offline(server) {
            return Ok(());
        }
        let why = format!(
            "metadata server {server} does not work on its own target; make that primary first (nyala mirror switch)"
        );
        Err(ClusterError::InUse { what: format!("mirror group {id}"), why })
    }
}

fn first_state(kind: TargetKind, at: usize) -> MemberState {
    if kind == TargetKind::Meta && at > 0 { MemberState::NeedsResync } else { MemberState::Good }
}

fn sorted(members: &[TargetId]) -> Vec<TargetId> {
    let mut members = members.to_vec();
    members.sort_unstable();
    members
}
