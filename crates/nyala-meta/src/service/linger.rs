// SPDX-License-Identifier: Apache-2.0

//! Lets go of what renames replaced, a moment later (`nyala_namespace::ns::linger`).
//!
//! Failure model: this server may stop at any time; what it held is in the tables, and its moment begins anew. A client may
//! have opened such a file under a lease and not have said so: it is asked, like before every removal. One that does not
//! answer holds up only that file, until its session ends.

use super::leases::Passage;
use super::state::{Caller, State};
use nyala_namespace::change::Fault;
use nyala_namespace::leases::Need;
use nyala_namespace::ns::linger::{HOLDER, let_go};
use nyala_wire::{InodeId, Time, WireError};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use std::time::Duration;

/// A file stays for one to two of these.
const MOMENT: Duration = Duration::from_secs(1);

/// Runs until the service stops.
pub async fn run(state: Rc<State>) {
    let mut before = BTreeSet::new();
    let under_way = Rc::new(RefCell::new(HashSet::new()));
    loop {
        tokio::time::sleep(MOMENT).await;
        if !state.member.lease_valid() || !state.leases.borrow().recovered() {
            continue;
        }
        let held = state.tables.lingering();
        for &inode in held.intersection(&before) {
            if !under_way.borrow_mut().insert(inode) {
                continue;
            }
            let (state, under_way) = (state.clone(), under_way.clone());
            // Each on its own: one may have to wait for a client or a transaction.
            tokio::task::spawn_local(async move {
                if let Err(error) = end(&state, inode).await {
                    tracing::error!(%inode, %error, "a replaced file cannot be removed; tried again");
                }
                under_way.borrow_mut().remove(&inode);
            });
        }
        before = held;
    }
}

/// Removes one, unless it is open.
async fn end(state: &State, inode: InodeId) -> Result<(), WireError> {
    let mut passage = Passage::new(state, HOLDER);
    loop {
        let (released, news) = (state.released.notified(), state.lease_news.notified());
        state.room().await;
        let changed = state.with_change(&Caller::service(Time::default()), None, |mut change, _| {
            let_go(&mut change, inode)?;
            let gone = change.destroyed();
            Ok((gone, change.finish()))
        });
        match changed {
            // Also when somebody has it open: others may have it so under a lease, and would not be asked later.
            Ok((gone, batch)) if passage.clear(&[inode], Need::Remove) => {
                state.apply(&batch)?;
                gone.iter().for_each(|inode| state.leases.borrow_mut().end_inode(*inode));
                return Ok(());
            }
            Ok(_) => passage.wait(news).await,
            Err(Fault::Refused(error)) => return Err(error),
            Err(_) => super::execute::wait_release(released).await,
        }
    }
}
