// SPDX-License-Identifier: Apache-2.0

//! Looking at everything that storage targets hold: `nyala scrub` and `nyala mirror check`.
//!
//! **Failure model.** The cluster works meanwhile: files change, move between good and damaged, and go; services restart; members
//! leave their group. A step is asked again for a while; what cannot be looked at to the end is said to be unfinished. What looks
//! wrong is looked at again before it is reported.

mod compare;
mod found;
mod leftover;
mod owner;
mod scrub;
mod shown;
mod steps;

pub use compare::{Compared, Difference, compare};
#[cfg(test)]
pub use found::{Damage, Leftover};
pub use found::{Reason, ScrubReport};
pub use owner::Owner;
pub use scrub::{Work, scrub};
pub use shown::shown;
pub use steps::Look;
