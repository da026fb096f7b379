// SPDX-License-Identifier: Apache-2.0

//! Where the time of single requests goes: ids in the headers of requests that are followed, and what each side records of them.
//!
//! Whoever wants to know has a [`Tracer`] in its [`HandshakeConfig`](crate::HandshakeConfig) and says [`Tracer::follow`]: from then on the
//! requests of its connections carry the id, and the tracer keeps how long each took. Who has several under way at once says it for each ([`Under`]). The server's side of a connection records a followed
//! request in parts, which add up to the whole, and keeps the last [`MAX_TRACES`] of them ([`Traces`]); they are asked for by their id.
//!
//! All others are measured in the same parts with a coarse clock, so that those which take too long can be named ([`SlowOperations`]): one look
//! at that clock for a request that comes alone and two for others, two for each named [`part`], one for each batch of frames that came
//! and of replies that leave. Where nothing can be slow, a request that is not followed costs a look at its header's flags.
//!
//! **Failure model.** Ids are chosen by peers, who may choose the same or follow everything: what is kept is bounded and the oldest goes first. A
//! request that never ends is in no record. Nothing depends on a record.

mod clock;
mod followed;
mod leaving;
mod parts;
mod record;
mod seen;
mod slow;
mod tracer;
mod traces;
mod under;

pub(crate) use clock::Moment;
pub(crate) use followed::Followed;
pub(crate) use leaving::Records;
pub use parts::{current, inode, measured_part, operation, part, waits_on_purpose};
pub(crate) use record::Record;
pub use seen::{LATELY_MINUTES, LINES};
pub(crate) use slow::Sender;
pub use slow::SlowOperations;
pub use tracer::{Exchange, Tracer};
pub use traces::{MAX_TRACES, Traces};
pub use under::{Under, carried, under};

#[cfg(test)]
mod tests;
