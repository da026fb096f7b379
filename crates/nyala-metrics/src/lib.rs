// SPDX-License-Identifier: Apache-2.0

//! What services and mounts count, and the text in which they say it. Pure: times come as arguments, and who serves the text is
//! another room (`nyala-scrape`).
//!
//! - [`Counters`], [`Histograms`], [`Requests`], [`ByKey`], [`ByAddress`], [`ByUser`]: counts by kind, in shards: a thread adds to cells that no other thread writes, with
//!   relaxed atomics; whoever reads adds the shards up. A reading may have one cell of an event and not yet another.
//! - [`busiest`]: the busiest files and directories of the last minute, from samples, in fixed memory.
//! - [`Histogram`]: one, for what is rare enough to share a line. [`Recent`]: how long disk operations took in the last seconds.
//! - [`catalog`]: every metric that is exported, each once: name, type, labels, meaning. `docs/metrics.md` is the same table for
//!   people, and a test compares the two.
//! - [`Page`] writes OpenMetrics text; [`parse`] reads it, strictly, for tests and for `nyala stats`.

mod buckets;
pub mod busiest;
mod by_key;
pub mod catalog;
mod clients;
mod counters;
mod histogram;
mod metric;
mod page;
pub mod parse;
mod recent;
mod requests;
mod shards;
mod space_saving;
mod text;
mod users;

pub use buckets::{BOUNDS, Snapshot, bound};
pub use by_key::{ByKey, OTHERS, OTHERS_WORD};
pub use clients::ByAddress;
pub use counters::{Counter, Counters};
pub use histogram::{Histogram, Histograms};
pub use metric::{Kind, Metric};
pub use page::{Family, Page};
pub use recent::{Lately, Recent, Running, Times, WINDOW};
pub use requests::Requests;
pub use space_saving::Heavy;
pub use users::{ByUser, NOBODY_WORD};
