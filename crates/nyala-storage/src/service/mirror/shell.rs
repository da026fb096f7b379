// SPDX-License-Identifier: Apache-2.0

//! A member at work: something happens to it, on whatever thread; the member decides, one step at a time; the same thread does
//! what it wants done. Failure model: see the parent module.

use super::action::{Action, Ask, Main};
use super::common::Common;
use super::state::State;
use super::thread_context::ThreadContext;
use super::waits::tell_quiet;
use crate::service::mirror_rows::RowLog;
use crate::service::target::Target;
use nyala_cluster::Command;
use nyala_replica::{Config, FlushSet, Input, Member as Replica};
use nyala_transport::member::{Member, monotonic_us};
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::{GroupId, TargetId, WireError};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::mpsc;

/// A member that is alive and does not answer for so long is left behind. Longer than a lease: one whose host vanished is
/// declared offline before, one that cannot be reached from here is left behind earlier (`silence`), and a slow disk is no reason.
const GIVE_UP_MS: u64 = 8000;

/// What a shell is made of.
pub(super) struct Setup {
    pub me: TargetId,
    pub group: GroupId,
    pub target: Arc<Target>,
    pub member: Member,
    pub common: Arc<Common>,
    pub asks: mpsc::UnboundedSender<Ask>,
}

/// A member of a group, shared by all threads.
pub(super) struct SharedMember {
    pub setup: Setup,
    /// As whom the member orders changes of its own.
    pub client: u64,
    pub rows: RowLog,
    /// Held for a step, never across a wait. What a step that panicked leaves is not served.
    state: Mutex<State>,
}

impl SharedMember {
    /// With what the target remembers of the group.
    pub fn open(setup: Setup) -> Result<SharedMember, WireError> {
        let rows = setup.target.mirror_rows(setup.group)?;
        let flushes = FlushSet::new(rows.iter().map(|row| row.file()));
        let config = Config { give_up_ms: GIVE_UP_MS, ..Config::default() };
        let replica = Replica::open(setup.me, setup.group, config, rows);
        // Without randomness two runs may look like one to the group, which takes the later one's requests for repeated ones.
        let client = getrandom::u64().unwrap_or(1).max(1);
        let (rows, state) = (RowLog::new(setup.group), Mutex::new(State::new(replica, flushes)));
        Ok(SharedMember { setup, client, rows, state })
    }

    /// The state, unless the member has stopped.
    pub fn state(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.lock() {
            Ok(state) => (!state.stopped).then_some(state),
            Err(broken) => {
                drop(broken);
                tracing::error!(group = %self.setup.group, "a step of a mirror group's member has panicked; it is not served any more");
                self.stop();
                self.state.clear_poison();
                None
            }
        }
    }

    /// Nothing happens any more, and whoever waits learns that.
    pub fn stop(&self) {
        self.rows.close();
        let mut state = self.state.lock().unwrap_or_else(|broken| broken.into_inner());
        state.stopped = true;
        state.waiting.clear();
        state.askers.clear();
        state.quiet.clear();
    }
}

/// A member in the hands of one thread.
#[derive(Clone)]
pub(super) struct Shell {
    pub shared: Arc<SharedMember>,
    pub thread: Rc<ThreadContext>,
}

impl Shell {
    /// A step: `begin` says what happens, if anything does, and may look at what is remembered before. Returns what is to be done.
    pub fn step(&self, begin: impl FnOnce(&mut State) -> Option<Input>) -> Vec<Action> {
        self.steps(Some(begin), |state, begin| begin(state))
    }

    /// A step for each of these, and nobody comes in between.
    pub fn steps<T>(
        &self,
        each: impl IntoIterator<Item = T>,
        mut begin: impl FnMut(&mut State, T) -> Option<Input>,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(mut state) = self.shared.state() else { return actions };
        let mut effects = std::mem::take(&mut state.effects);
        for one in each {
            let Some(input) = begin(&mut state, one) else { continue };
            state.replica.handle_into(monotonic_us(), input, &mut effects);
            // Each before the next one's: an answer may rest on what the same step has read.
            for effect in effects.drain(..) {
                actions.extend(state.resolve(effect, &self.shared.rows));
            }
        }
        state.effects = effects;
        tell_quiet(&mut state);
        actions
    }

    /// Something happens to the member; what it wants done is begun.
    pub fn input(&self, input: Input) {
        self.carry_out(self.step(|_| Some(input)));
    }

    /// Does what takes no time, and begins what does.
    pub fn carry_out(&self, actions: Vec<Action>) {
        actions.into_iter().for_each(|action| self.begin(action));
    }

    /// The same, but for the first change or read, which is done when this returns.
    pub async fn carry_out_here(&self, actions: Vec<Action>) {
        let mut here = None;
        for action in actions {
            match action {
                Action::Main(main) if here.is_none() => here = Some(main),
                other => self.begin(other),
            }
        }
        match here {
            Some(Main::Apply { job, file, ticket, request }) => self.apply(job, file, ticket, request).await,
            Some(Main::Read { job, file, kind }) => self.read(job, file, kind).await,
            None => {}
        }
    }

    pub fn begin(&self, action: Action) {
        // Each kind is a task of its own size.
        let shell = || self.clone();
        match action {
            // Errors mean that nobody waits any more.
            Action::Reply(client, result) => drop(client.send(result)),
            Action::Answer(member, envelope) => drop(member.send(envelope)),
            Action::Discard(payload) => drop(payload),
            Action::Ask(command) => self.ask(&command),
            Action::FetchMap(version) => self.tell(Ask::Behind(version)),
            Action::Send(outgoing) => self.post(outgoing),
            Action::Main(Main::Apply { job, file, ticket, request }) => {
                let shell = shell();
                tokio::task::spawn_local(async move { shell.apply(job, file, ticket, request).await });
            }
            Action::Main(Main::Read { job, file, kind }) => {
                let shell = shell();
                tokio::task::spawn_local(async move { shell.read(job, file, kind).await });
            }
            Action::Work(work) => {
                let shell = shell();
                tokio::task::spawn_local(async move { shell.work(work).await });
            }
        }
    }

    /// To management, by the supervisor.
    pub fn tell(&self, ask: Ask) {
        // An error means that the service stops.
        let _ = self.shared.setup.asks.send(ask);
    }

    fn ask(&self, command: &Command) {
        let Some((member, news)) = nyala_cluster::group::member_news::news(command) else {
            return tracing::error!(?command, "a member asks management for something else");
        };
        let (group, epoch, target, by) = (member.group, member.epoch, member.target, self.shared.setup.me);
        tracing::debug!(%group, %target, epoch, ?news, "asking management");
        self.tell(Ask::News(MgmtRequest::Member { group, epoch, target, by, news }));
    }
}
