// SPDX-License-Identifier: Apache-2.0

//! Admission of operations to a file's content: each one asks here first how it may proceed.
//!
//! **Failure model.** The delegation may be revoked at any moment: then operations wait, or go on without keeping anything
//! (`delegation::logic::delegations`). The server may be busy with the file and grant nothing: the operation goes on
//! without keeping anything as well. An operation that waits for a delegation may itself be what another client's
//! revocation waits for (the kernel locks pages that are being read): it stops waiting when the gate opens. Nobody
//! waits for longer than the call may last: a server that is away takes no delegation back, and grants none.

use crate::delegation::cache::DelegationCache;
use crate::delegation::logic::delegations::{Need, Verdict};
use crate::error::Result;
use crate::file::state::File;
use crate::rpc::bound::UNBOUND;
use crate::rpc::deadline::Deadline;
use crate::rpc::failure::unexpected_reply;
use nyala_wire::SessionId;
use nyala_wire::meta::{MetaOp, MetaReply, Owner, Want};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::futures::Notified;

/// What an operation does here, for its error message.
const WHAT: &str = "wait for a delegation";
/// Delegations asked for in vain before an operation goes on without; one that cannot asks until its call has to end.
const MAX_ASKED: u32 = 3;

/// How an admitted operation may access the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Cached state is valid, and what is read and written may be cached.
    Cached,
    /// Nothing may be cached.
    Direct,
    /// This client uses no delegations: cached state counts as valid for `cache_time`.
    Timed,
}

/// An admitted operation; over when dropped.
pub(crate) struct Admission {
    delegations: Arc<DelegationCache>,
    file: Arc<File>,
    counted: Option<u64>,
    write: bool,
    pub(crate) access: Access,
    /// What the operation writes is accepted under this session.
    pub(crate) session: SessionId,
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(stamp) = self.counted
            && self.delegations.lock(self.file.inode).leave(self.file.inode, self.write, stamp)
        {
            self.file.news.notify_waiters();
        }
    }
}

/// What to do next.
enum Next {
    Go(Admission),
    Wait,
    Ask,
}

/// What came of asking for a delegation.
enum Asked {
    Granted,
    /// The server granted nothing.
    Busy,
    /// The operation may begin without an answer.
    Entered(Admission),
}

impl DelegationCache {
    /// Waits until an operation on the file's content may begin. Where the layer above keeps what is read and written,
    /// that is under a delegation, or through an open gate, after which the layer above is made to forget: never without.
    pub(crate) async fn admit(self: &Arc<DelegationCache>, file: &Arc<File>, need: Need) -> Result<Admission> {
        self.admit_or_direct(file, need, need.patient || need.cached).await
    }

    /// The same, but unless it `insists` the operation goes on without a delegation that is hard to get.
    pub(crate) async fn admit_or_direct(
        self: &Arc<DelegationCache>,
        file: &Arc<File>,
        need: Need,
        insists: bool,
    ) -> Result<Admission> {
        let mut asked = 0;
        let deadline = Deadline::of_call(&self.ctx);
        loop {
            let news = file.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            match self.next(file, need) {
                Next::Go(admission) => return Ok(admission),
                Next::Wait => {
                    deadline
                        .wait(WHAT, "its delegation is on the way back to a server that does not answer", news)
                        .await?
                }
                Next::Ask if asked >= MAX_ASKED && !insists => {
                    return Ok(self.admitted(file, need, None, Access::Direct));
                }
                Next::Ask if deadline.is_over() => return Err(deadline.error(WHAT, "no delegation was granted")),
                Next::Ask => {
                    if asked >= MAX_ASKED {
                        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                    }
                    asked += 1;
                    match self.ask_or_enter(file, need, &deadline, news).await? {
                        Asked::Entered(admission) => return Ok(admission),
                        Asked::Granted => {}
                        // Busy: what is true now is not what is true later.
                        Asked::Busy if !insists => return Ok(self.admitted(file, need, None, Access::Direct)),
                        Asked::Busy => asked = asked.max(MAX_ASKED),
                    }
                }
            }
        }
    }

    /// Asks for a delegation; ends early if the operation may begin meanwhile. `news` is enabled.
    async fn ask_or_enter<'a>(
        self: &Arc<DelegationCache>,
        file: &'a Arc<File>,
        need: Need,
        deadline: &Deadline,
        mut news: Pin<&mut Notified<'a>>,
    ) -> Result<Asked> {
        let ask = self.ask(file, need);
        tokio::pin!(ask);
        loop {
            tokio::select! {
                granted = deadline.wait(WHAT, "another call asks for it", &mut ask) => {
                    return Ok(if granted?? { Asked::Granted } else { Asked::Busy });
                }
                () = &mut news => {
                    // Before looking: what is new from now on must not be missed.
                    news.set(file.news.notified());
                    news.as_mut().enable();
                    if let Next::Go(admission) = self.next(file, need) {
                        return Ok(Asked::Entered(admission));
                    }
                }
            }
        }
    }

    fn admitted(
        self: &Arc<DelegationCache>,
        file: &Arc<File>,
        need: Need,
        counted: Option<u64>,
        access: Access,
    ) -> Admission {
        // Under a delegation the file knows it, see `next`.
        let direct = access == Access::Direct && need.write;
        let session = if direct { self.cluster.accepting(file.inode) } else { UNBOUND };
        Admission { delegations: self.clone(), file: file.clone(), counted, write: need.write, access, session }
    }

    fn next(self: &Arc<DelegationCache>, file: &Arc<File>, need: Need) -> Next {
        if !self.ctx.config.delegations {
            return Next::Go(self.admitted(file, need, None, Access::Timed));
        }
        let admit = self.lock(file.inode).admit(file.inode, need, self.ctx.now_ms());
        match admit {
            Verdict::Cached(stamp) => {
                let mut admission = self.admitted(file, need, Some(stamp), Access::Cached);
                let state = file.state.lock();
                let (loaded, truncating) = (state.is_loaded(), need.write && state.is_truncating());
                admission.session = state.session();
                drop(state);
                match () {
                    () if truncating => Next::Wait,
                    () if loaded => Next::Go(admission),
                    // The delegation is on its way back, and may be waiting for this very operation: asking for it would be
                    // answered when it is back.
                    () if self.lock(file.inode).is_gate_open(file.inode) => {
                        drop(admission);
                        Next::Go(self.admitted(file, need, None, Access::Direct))
                    }
                    () => Next::Ask,
                }
            }
            Verdict::Direct => Next::Go(self.admitted(file, need, None, Access::Direct)),
            Verdict::Wait => Next::Wait,
            Verdict::Ask => Next::Ask,
        }
    }

    /// Asks for a delegation that will do, and for what the file is. `false`: nothing was granted.
    async fn ask(self: &Arc<DelegationCache>, file: &Arc<File>, need: Need) -> Result<bool> {
        let _one = file.asking.lock().await;
        if !matches!(self.next(file, need), Next::Ask) {
            return Ok(true);
        }
        let mut want = Want::DELEGATIONS;
        if need.write {
            want = want.and(Want::WRITE);
        }
        if need.cached || need.patient {
            want = want.and(Want::CACHED);
        }
        let note = self.note(file.inode);
        let op = MetaOp::Acquire { inode: file.inode };
        let answer = self.cluster.meta_wanting("get a delegation", op, Owner::default(), want).await?;
        let MetaReply::Opened(reply) = &answer.reply else { return Err(unexpected_reply("get a delegation")) };
        self.take_file(&answer, &note, file, reply);
        Ok(answer.grants.inodes != nyala_wire::meta::DelegationMode::None)
    }
}
