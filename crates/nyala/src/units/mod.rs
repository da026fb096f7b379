// SPDX-License-Identifier: Apache-2.0

//! Values as people write them: sizes, times, hosts. Pure, besides resolving host names.

mod hosts;
mod size;
mod span;

pub use hosts::{HostPort, Hosts};
pub use size::{Size, human_bytes, human_count};
pub use span::Span;
