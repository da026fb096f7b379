// SPDX-License-Identifier: Apache-2.0

//! Operations over several servers: two-phase commit with presumed abort.
//!
//! The coordinator is the server of the entry's directory. It asks the participants to prepare their parts (they check,
//! lock and log them), then checks and does its own parts, logs them together with the decision and the client's reply
//! in *one* record, and only then tells the participants; the client is answered when all have done it. Participants
//! never wait for locks (they answer BUSY and the coordinator starts over), so there are no deadlocks.
//!
//! A promise and a decision are on disk before another server relies on them: a power cut that took back one side only
//! would leave a name twice or nowhere. What is done upon a decision need not be: the promise and the decision bring it
//! back. So the coordinator keeps the decision until all have on disk what they did.
//!
//! Pure: [`coordinator`] and [`participant`] say what to log, lock and send. `nyala_meta::service` does it, and so does the
//! simulation in `tests/transactions`.
//!
//! Failure model, and what holds after each:
//!
//! | what happens | what is done |
//! |---|---|
//! | a participant dies before it prepared | the coordinator aborts; the client tries again |
//! | a participant dies after it prepared | its record brings the locks back; it asks the coordinator for the outcome |
//! | a participant loses power after it committed | the same; the coordinator still knows |
//! | the coordinator dies before the decision | nothing is logged, so the answer to the participants is "aborted" |
//! | the coordinator dies after the decision | the record is there: it sends Commit again until all confirm |
//! | the coordinator's log fails at the decision | nobody is told anything; the next start sees what the log holds |
//! | a message is repeated | Prepare, Commit and Abort are idempotent |
//! | Prepare arrives after Commit or Abort | it is refused: the participant remembers what ended lately |
//! | a later stage arrives without the earlier | it is refused: the locks of the earlier are gone |

mod common;
pub mod coordinator;
pub mod participant;
pub mod parts;
pub mod plan;
pub mod rename_parts;
pub mod resplit;
mod resplit_parts;

pub use plan::Plan;

/// Where transaction numbers of one run of the service begin: no run reuses another's.
pub const TX_PER_BOOT: u64 = 1 << 40;
