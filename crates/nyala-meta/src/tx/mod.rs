// SPDX-License-Identifier: Apache-2.0

//! Operations over several servers: two-phase commit with presumed abort.
//!
//! The coordinator is the server of the entry's directory. It asks the participants to prepare their parts (they check,
//! lock and log them), then checks and does its own parts, logs them together with the decision and the client's
//! reply in *one* record, and only then tells the participants; the client is answered when all have confirmed. Participants never wait for locks (they answer BUSY and
//! the coordinator starts over), so there are no deadlocks.
//!
//! Failure model, and what holds after each:
//!
//! | what happens | what is done |
//! |---|---|
//! | a participant dies before it prepared | the coordinator aborts; the client tries again |
//! | a participant dies after it prepared | its record brings the locks back; it asks the coordinator for the outcome |
//! | the coordinator dies before the decision | nothing is logged, so the answer to the participants is "aborted" |
//! | the coordinator dies after the decision | the record is there: it sends Commit again until all confirm |
//! | a message is repeated | Prepare, Commit and Abort are idempotent |
//! | Prepare arrives after Abort | it is prepared, is in doubt, asks, hears "aborted" and releases |

pub mod coordinator;
pub mod participant;
pub mod parts;
pub mod plan;

pub use plan::Plan;
