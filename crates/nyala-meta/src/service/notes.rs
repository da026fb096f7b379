// SPDX-License-Identifier: Apache-2.0

//! What the server has to tell the operator, as lines of the log.
//!
//! Failure model: a line is lost if nobody reads the log; nothing depends on it.

use nyala_namespace::server::io::Note;

/// Writes a line.
pub fn write(note: &Note) {
    match note {
        Note::SessionOpened(session, client) => tracing::info!(%session, %client, "session opened"),
        Note::DoesAgain(changes) => {
            tracing::info!(changes, "clients have sent again what a power cut may have taken back; it is done again");
        }
        Note::NotDoneAgain(session, sequence, error) => {
            tracing::warn!(%session, sequence, %error, "a change that was acknowledged before the restart cannot be done again");
        }
        Note::SessionExpires(session, timeout_ms) => {
            tracing::warn!(%session, timeout_ms, "session ends: its client was silent, or kept a delegation, for too long");
        }
        Note::SessionNotEnded(session, error) => {
            tracing::error!(%session, %error, "cannot end the session; tried again");
        }
        Note::Confirmed => {
            tracing::info!("all clients of before the restart have said which of their delegations they still have");
        }
        Note::CommitUnconfirmed(tx, target, error) => {
            tracing::debug!(number = tx.number, %target, %error, "commit not confirmed yet");
        }
        Note::NotForgotten(error) => {
            tracing::warn!(%error, "finished transactions are not forgotten; they are told again after a restart");
        }
        Note::CannotEnd(tx, fault) => tracing::error!(?tx, %fault, "a prepared transaction cannot be ended"),
        Note::OutcomeOpen(tx, error) => tracing::debug!(?tx, %error, "outcome of a transaction is still open"),
        Note::TruncationFailed(inode, error) => tracing::error!(%inode, %error, "pending truncation"),
        Note::DeferredUnlinkFailed(inode, error) => {
            tracing::error!(%inode, %error, "a replaced file cannot be removed; tried again");
        }
        Note::SlotGiven(slot, to) => tracing::info!(%slot, %to, "a slot is served by another metadata server now"),
        Note::SlotNotGiven(slot, error) => {
            tracing::warn!(%slot, %error, "a slot cannot be given to another metadata server yet; tried again");
        }
        Note::SlotHeld(slot, inodes, inode) => {
            tracing::info!(%slot, inodes, inode = inode.map(tracing::field::display), "clients have not let go of a slot that is to go; tried again");
        }
        Note::SlotTaken(slot, inodes) => tracing::info!(%slot, inodes, "a slot came from another metadata server"),
        Note::SlotNotTaken(error) => {
            tracing::error!(%error, "slots that came from other metadata servers cannot be read, and are not served");
        }
        Note::SlotNotCleared(slot, error) => {
            tracing::warn!(%slot, %error, "rows of a slot of another metadata server cannot be removed yet; tried again");
        }
        Note::LockEdgesUnknown(target, error) => {
            tracing::debug!(%target, %error, "who waits for locks there is not known");
        }
    }
}
