// SPDX-License-Identifier: Apache-2.0

//! The thread on which time passes for all groups of the service, and on which they learn of maps and fences.
//!
//! **Failure model.** A group that stops ends its task here. When the service ends, what is under way here is dropped.

use super::action::Event;
use super::common::Common;
use super::shell::{SharedMember, Shell};
use super::thread_context::ThreadContext;
use super::waits::{end_waits, tell_quiet};
use nyala_replica::{Input, View};
use nyala_transport::HandshakeConfig;
use nyala_transport::member::monotonic_us;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// Between looks at the clock.
const TICK: Duration = Duration::from_millis(20);
/// Of so many, one is for what is not urgent.
const SELDOM: u32 = 25;

/// A group, and what happens to it.
type Opened = (Arc<SharedMember>, mpsc::UnboundedReceiver<Event>);

/// The way to the thread, which ends when this goes.
pub(super) struct GroupsThread {
    pub open: mpsc::UnboundedSender<Opened>,
    pub thread: JoinHandle<()>,
}

impl GroupsThread {
    /// Starts it. An error of the system: there is no thread.
    pub fn start(common: &Arc<Common>, handshake: HandshakeConfig) -> std::io::Result<GroupsThread> {
        let common = common.clone();
        let (open, mut opened) = mpsc::unbounded_channel::<Opened>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || {
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, async move {
                let thread = ThreadContext::new(handshake);
                common.add_pool(&thread.pool);
                while let Some((shared, events)) = opened.recv().await {
                    tokio::task::spawn_local(serve(Shell { shared, thread: thread.clone() }, events));
                }
            });
            // With them goes what tasks hold of targets, whose directories may be wanted next.
            drop((local, runtime));
        };
        let thread = std::thread::Builder::new().name("nyala-mirror".into()).spawn(run)?;
        Ok(GroupsThread { open, thread })
    }
}

/// Until the group is told to stop.
async fn serve(shell: Shell, mut events: mpsc::UnboundedReceiver<Event>) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut count = 0_u32;
    loop {
        tokio::select! {
            biased;
            _ = ticks.tick() => {
                count = count.wrapping_add(1);
                tick(&shell, count.is_multiple_of(SELDOM));
            }
            event = events.recv() => match event {
                None | Some(Event::Stop) => return,
                Some(Event::Map(map, done)) => {
                    shell.carry_out(shell.step(|state| {
                        let view = View::of(&map, shell.shared.setup.group);
                        state.map = map;
                        view.map(Input::Map)
                    }));
                    renew(&shell);
                    // An error means that the supervisor has gone.
                    let _ = done.send(());
                }
                Some(Event::Fence(session, done)) => shell.fence(session, done),
            },
        }
    }
}

fn tick(shell: &Shell, seldom: bool) {
    renew(shell);
    shell.input(Input::Tick);
    if seldom {
        if let Some(mut state) = shell.shared.state() {
            end_waits(&mut state, monotonic_us());
            state.askers.retain(|_, answer| !answer.is_closed());
            tell_quiet(&mut state);
        }
        publish(shell);
        shell.look_for_silence();
    }
}

/// The member learns of a renewed lease.
fn renew(shell: &Shell) {
    let lease = shell.shared.setup.member.lease();
    shell.carry_out(shell.step(|state| {
        let news = std::mem::replace(&mut state.lease, lease) != lease;
        (news && lease.0 > 0).then_some(Input::Lease { until_ms: lease.0, version: lease.1 })
    }));
}

/// Figures of resyncs, for statistics.
fn publish(shell: &Shell) {
    let setup = &shell.shared.setup;
    let Some(state) = shell.shared.state() else { return };
    let progress = state.replica.progress();
    drop(state);
    let mut figures = setup.common.figures.lock();
    let prefix = format!("mirror.{}.", setup.group);
    figures.retain(|name, _| !(name.starts_with(&prefix) && name.contains("left")));
    for (target, progress) in progress {
        let mut put = |name: &str, value| {
            figures.insert(format!("{prefix}{target}.{name}"), value);
        };
        put("copied_bytes", progress.copied_bytes);
        put("left_bytes", progress.left_bytes);
        put("bytes_per_s", progress.bytes_per_s);
        put("left_s", progress.estimate_ms.map_or(u64::MAX, |ms| ms / 1000));
    }
}
