// SPDX-License-Identifier: Apache-2.0

//! Where the time of single requests goes: ids in the headers of requests that are followed, and what each side records of them.
//!
//! Whoever wants to know has a [`Tracer`] in its [`HandshakeConfig`](crate::HandshakeConfig) and says [`Tracer::follow`]: from then on the
//! requests of its connections carry the id, and the tracer keeps how long each took. The server's side of a connection records a followed
//! request in parts, which add up to the whole, and keeps the last [`KEPT`] of them ([`Traces`]); they are asked for by their id. A request
//! that nobody follows costs a look at a flag of its header, and one at a thread's own cell for each [`part`].
//!
//! **Failure model.** Ids are chosen by peers, who may choose the same or follow everything: what is kept is bounded and the oldest goes first. A
//! request that never ends is in no record. Nothing depends on a record.

mod parts;
mod tracer;
mod traces;

pub use parts::part;
pub(crate) use parts::{Followed, Leaving};
pub use tracer::{Exchange, Tracer};
pub use traces::{KEPT, Traces};

#[cfg(test)]
mod tests;
