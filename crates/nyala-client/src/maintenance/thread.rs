// SPDX-License-Identifier: Apache-2.0

//! The client's own thread: map watch, sessions kept alive, old data pushed, old segments dropped.
//!
//! **Failure model.** Applications may write and then do nothing for hours, and the runtime they used may be gone: this
//! thread has a runtime of its own. Management may be away: the watch tries again and again. The thread ends with the
//! client, also if nobody shut it down.

use crate::core::Core;
use crate::delegation::poll;
use crate::delegation::revocation::Revocations;
use crate::error::{Error, Result};
use crate::file::encode_later;
use crate::file::state::File;
use crate::maintenance::evacuation;
use crate::rpc::adopt::note_slots;
use crate::writeback::owner::Writeback;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often files are looked after.
const TICK: Duration = Duration::from_millis(100);
/// Size and time of data that storage has are told to metadata after this time.
const COMMIT_AFTER_MS: u64 = 500;
/// The same of whole stripes, which have to be synced first.
const COMMIT_STRIPES_AFTER_MS: u64 = 10_000;
/// Longest wait of one poll for a newer map.
const WATCH_WAIT: Duration = Duration::from_secs(20);

/// Starts the thread.
pub(crate) fn start(core: &Arc<Core>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::System(format!("no runtime: {error}")))?;
    let deferred = Writeback::send_deferred_when_due(Arc::downgrade(&core.writeback));
    let (weak, stop, evacuate) = (Arc::downgrade(core), core.ctx.waker(), core.ctx.config.evacuate_every);
    let work = move || {
        runtime.block_on(async {
            let watch = tokio::spawn({
                let weak = weak.clone();
                async move {
                    while let Some(core) = weak.upgrade().filter(|core| !core.ctx.is_stopped()) {
                        // A client that nobody holds any more lives on until its last poll ends, and pushes what it has.
                        let polled = tokio::time::timeout(WATCH_WAIT * 2, core.cluster.maps.watch(WATCH_WAIT)).await;
                        drop(core);
                        if !matches!(polled, Ok(Ok(()))) {
                            tokio::time::sleep(Duration::from_millis(200)).await;
                        }
                    }
                }
            });
            let closed = tokio::spawn(deferred);
            let emptying = evacuate.map(|every| tokio::spawn(evacuation::run(weak.clone(), every)));
            loop {
                tokio::select! {
                    () = tokio::time::sleep(TICK) => {}
                    () = stop.notified() => {}
                }
                match weak.upgrade() {
                    Some(core) if !core.ctx.is_stopped() => tick(&core),
                    _ => break,
                }
            }
            watch.abort();
            closed.abort();
            emptying.iter().for_each(JoinHandle::abort);
        });
    };
    let thread = std::thread::Builder::new().name("nyala-client".into());
    thread.spawn(work).map_err(|error| Error::System(format!("no thread: {error}")))?;
    Ok(())
}

fn tick(core: &Arc<Core>) {
    let now_ms = core.ctx.now_ms();
    note_slots(&core.cluster);
    for session in core.cluster.all_sessions() {
        // Also of one that keeps no delegations: all clients wait until it has heard that a server was started again.
        if session.begin_polling() {
            tokio::spawn(poll::poll(Arc::downgrade(&core.revocations), session.clone()));
            if core.ctx.config.delegations {
                tokio::spawn(Revocations::tell_returns(Arc::downgrade(&core.revocations), session.clone()));
            }
        }
        if session.is_due(now_ms) {
            tokio::spawn(core.cluster.clone().keep_session_alive(session));
        }
    }
    core.surplus.let_silent_go();
    core.surplus.let_surplus_go();
    core.revocations.withdraw_forgotten();
    if let Some(taken) = encode_later::next_to_encode(&core.ops) {
        let core = core.clone();
        tokio::spawn(async move { encode_later::encode_due(&core.ops, taken).await });
    }
    for file in core.files.active() {
        look_after(core, &file, now_ms);
    }
}

fn look_after(core: &Arc<Core>, file: &Arc<File>, now_ms: u64) {
    let (flush_due, commit_due, whole, stripes) = {
        let mut state = file.state.lock();
        if !state.is_loaded() {
            state.cache_mut().expire(now_ms, core.ctx.cache_ms());
        }
        if state.is_clean() && (state.cache().is_empty() || state.is_loaded()) {
            state.deactivate();
            core.files.deactivate(file);
            return;
        }
        let age = core.ctx.config.max_dirty_age.as_millis() as u64;
        let old = |born_ms: u64| now_ms.saturating_sub(born_ms) >= age;
        let old_inline = state.is_inline() && state.written().dirty().iter().any(|extent| old(extent.born_ms));
        let stripes = state.stripes().writing().is_some();
        let commit_due = state.commit().is_due(now_ms, if stripes { COMMIT_STRIPES_AFTER_MS } else { COMMIT_AFTER_MS });
        (old_inline || state.stripes().has_failed(), commit_due, state.migration().is_some(), stripes)
    };
    core.writeback.pump(file);
    if flush_due || (commit_due && whole && !stripes) {
        core.writeback.flush_in_background(file.clone());
    } else if commit_due {
        let (core, file) = (core.clone(), file.clone());
        core.clone().ctx.spawn(async move {
            if let Ok(_gate) = file.gate.try_lock() {
                match stripes {
                    true => core.writeback.commit_stripes(&file).await,
                    false => core.writeback.commit_so_far(&file).await,
                }
            }
        });
    }
}
