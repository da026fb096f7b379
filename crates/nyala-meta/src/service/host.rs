// SPDX-License-Identifier: Apache-2.0

//! One run of the service on its target: a metadata server while the target serves one (alone, or as the primary of a mirror group), a
//! member of a mirror group that takes the primary's records, or a spare that waits to become one.
//!
//! Failure model: the map may change at any moment. What makes another thing of this target than what it is (another primary, no group
//! any more) ends this run, and the service begins anew with what is on its disk; only a server that becomes a mirror group goes on.

use super::driver::Driver;
use super::error::MetaError;
use super::fence;
use super::flusher::Flusher;
use super::garbage;
use super::group::rows::{self, LonePositions};
use super::group::{GroupShell, News, Setup};
use super::peers::Peers;
use super::ranges;
use super::state::State;
use crate::tables::Tables;
use nyala_namespace::runs;
use nyala_store::StoreError;
use nyala_transport::member::Member;
use nyala_transport::{HandshakeConfig, Secret};
use nyala_wire::map::{ClusterMap, Group, TargetKind};
use nyala_wire::{TargetId, WireError};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};

/// Why a run ends by itself.
#[derive(Debug)]
pub enum End {
    /// Another run is to begin.
    Again(&'static str),
    /// The store has failed.
    Failed(StoreError),
    /// The server cannot begin its work.
    Broken(MetaError),
}

/// What came of a run: nothing more is to follow, or another run and why.
pub type Outcome = Result<Option<&'static str>, MetaError>;

/// A metadata server at work.
#[derive(Clone)]
pub struct Serving {
    /// Answers requests.
    pub driver: Rc<Driver>,
    /// What its parts share.
    pub state: Rc<State>,
}

/// Whether a server is on this target that is not mirrored.
pub fn is_alone(map: &ClusterMap, me: TargetId) -> bool {
    map.server_on(me).is_some() && !map.groups.iter().any(|group| group.members.contains(&me))
}

/// See the module's words.
pub struct Host {
    /// The target.
    pub me: TargetId,
    /// Its tables.
    pub tables: Tables,
    /// Its log.
    pub flusher: Rc<Flusher>,
    /// Membership.
    pub member: Member,
    /// The keys of the cluster.
    pub secret: Secret,
    handshake: HandshakeConfig,
    /// A directory with more entries is split; 0: none is.
    split_above: u64,
    group: Rc<RefCell<Option<Rc<GroupShell>>>>,
    /// Places in the log of a server that is alone.
    lone: LonePositions,
    serving: RefCell<Option<Serving>>,
    starting: Cell<bool>,
    ends: mpsc::Sender<End>,
    news: mpsc::UnboundedSender<News>,
    /// A server has begun its work.
    pub up: Notify,
}

impl Host {
    /// A target of which the map says nothing yet, and what its group has to tell it.
    pub fn new(
        me: TargetId,
        tables: Tables,
        flusher: Rc<Flusher>,
        member: Member,
        handshake: HandshakeConfig,
        split_above: u64,
        ends: mpsc::Sender<End>,
    ) -> Result<(Rc<Host>, mpsc::UnboundedReceiver<News>), WireError> {
        let (news, heard) = mpsc::unbounded_channel();
        let lone = LonePositions::of(&tables.store)?;
        let host = Host {
            me,
            tables,
            flusher,
            member,
            secret: handshake.secret.clone(),
            handshake,
            split_above,
            group: Rc::default(),
            lone,
            serving: RefCell::default(),
            starting: Cell::new(false),
            ends,
            news,
            up: Notify::new(),
        };
        Ok((Rc::new(host), heard))
    }

    /// The server that works here, if one does.
    pub fn serving(&self) -> Option<Serving> {
        self.serving.borrow().clone()
    }

    /// The mirror group's member.
    pub fn group(&self) -> Option<Rc<GroupShell>> {
        self.group.borrow().clone()
    }

    /// Follows the map. Runs until the service stops.
    pub async fn follow_map(self: Rc<Self>) {
        let mut map = self.member.map();
        // From here on heartbeats report what was handled, and no more.
        self.member.acts_on(map.version);
        loop {
            if let Err(error) = self.take_map(&map) {
                self.end(End::Broken(error.into()));
            }
            self.member.acts_on(map.version);
            map = self.member.watch().newer_than(map.version).await;
        }
    }

    /// Listens to the group's member. Runs until the service stops.
    pub async fn follow_group(self: Rc<Self>, mut heard: mpsc::UnboundedReceiver<News>) {
        while let Some(news) = heard.recv().await {
            match news {
                News::Lead => self.begin_serving(),
                News::StepDown => self.end(End::Again("another member of its mirror group is primary")),
                News::Failed(error) => self.end(End::Failed(error)),
            }
        }
    }

    fn take_map(self: &Rc<Self>, map: &Arc<ClusterMap>) -> Result<(), WireError> {
        let mine = |group: &&Group| group.kind == TargetKind::Meta && group.members.contains(&self.me);
        let (group, shell) = (map.groups.iter().find(mine), self.group());
        match (group, shell) {
            (Some(group), Some(shell)) if shell.group() == group.id => shell.take_map(map),
            (Some(group), None) => self.join(group)?.take_map(map),
            (None, None) if map.server_on(self.me) == Some(self.me) => self.begin_serving(),
            (None, None) => {}
            (_, Some(_)) => self.end(End::Again("it is no member of its mirror group any more")),
        }
        Ok(())
    }

    /// Becomes a member. A server that is made a mirror group of goes on serving.
    fn join(self: &Rc<Self>, group: &Group) -> Result<Rc<GroupShell>, WireError> {
        // Of a server that the group is made of, what it did alone counts as records.
        let alone = (group.serves == Some(self.me)).then(|| self.lone.position(self.tables.store.applied()));
        let found = rows::load(&self.tables.store, group.id, alone)?;
        tracing::info!(group = %group.id, target = %self.me, last = found.last, copying = found.copying.is_some(),
            "member of a mirror group");
        let setup = Setup {
            me: self.me,
            group: group.id,
            tables: self.tables.clone(),
            flusher: self.flusher.clone(),
            member: self.member.clone(),
            handshake: self.handshake.clone(),
            news: self.news.clone(),
            run: self.serving().map(|serving| serving.state.boot),
        };
        let shell = GroupShell::new(setup, found);
        let members = Rc::downgrade(&shell);
        self.flusher.replicate_by(Rc::new(move || members.upgrade().map_or(0, |shell| shell.replicate())));
        self.group.replace(Some(shell.clone()));
        tokio::task::spawn_local(shell.clone().keep_time());
        Ok(shell)
    }

    fn begin_serving(self: &Rc<Self>) {
        if self.serving.borrow().is_some() || self.starting.replace(true) {
            return;
        }
        let host = self.clone();
        tokio::task::spawn_local(async move {
            match host.serve().await {
                Ok(serving) => {
                    host.serving.replace(Some(serving));
                    host.up.notify_waiters();
                }
                Err(error) => host.end(End::Broken(error)),
            }
        });
    }

    async fn serve(self: &Rc<Self>) -> Result<Serving, MetaError> {
        let map = self.member.map();
        let server = map.groups.iter().find(|group| group.members.contains(&self.me)).and_then(|group| group.serves);
        let recovered = match self.group() {
            Some(_) => {
                let found = runs::found(&self.tables, rows::first_records(&self.tables.store)?)?;
                found.unwrap_or(self.flusher.last_index())
            }
            None => self.lone.position(self.tables.store.applied()),
        };
        let mut state = State {
            me: server.unwrap_or(self.me),
            target: self.me,
            group: self.group.clone(),
            lone: self.lone,
            store: self.tables.store.clone(),
            tables: self.tables.clone(),
            flusher: self.flusher.clone(),
            member: self.member.clone(),
            peers: Peers::new(self.handshake.clone()),
            boot: 0,
        };
        state.boot = ranges::start(&state, recovered).await?;
        if let Err(error) = state.store.vouch() {
            tracing::warn!(%error, "the next start will wait for all clients");
        }
        let seed = u64::from_le_bytes(super::random::<8>()?);
        let state = Rc::new(state);
        let driver = Rc::new(Driver::new(state.clone(), seed, self.split_above));
        // Of a server that is alone, what was written is here, unless the machine has lost it.
        let all_answered = self.group().map_or(state.store.is_whole(), |group| group.has_all_answered());
        driver.start(nyala_transport::wall_clock(), all_answered).await?;
        tracing::info!(server = %state.me, target = %self.me, boot = state.boot, all_answered, "metadata server is up");
        tokio::task::spawn_local(driver.clone().keep_time());
        tokio::task::spawn_local(garbage::collect(state.clone()));
        tokio::task::spawn_local(fence::settle::settle(state.clone()));
        tokio::task::spawn_local(ranges::run(state.clone()));
        Ok(Serving { driver, state })
    }

    /// Ends the run on its tables. What was applied and is not at every good member may be undone by the next primary: it is not written.
    pub fn close(&self, outcome: &Outcome) -> Result<(), StoreError> {
        let store = self.tables.store.clone();
        let begins_anew = matches!(outcome, Ok(Some(_)));
        if outcome.is_err()
            && let Err(error) = store.withdraw()
        {
            tracing::error!(%error, "the next start may count on what this run could not write");
        }
        if begins_anew || (self.group().is_some() && self.flusher.has_unwritten()) {
            store.abandon();
            return Ok(());
        }
        store.close()
    }

    /// Ends this run.
    pub fn end(&self, end: End) {
        // The first reason counts.
        let _ = self.ends.try_send(end);
    }
}
