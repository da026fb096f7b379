// SPDX-License-Identifier: Apache-2.0

//! What belongs to a mount besides the kernel's side: its options, its record, finding it again, its daemon.

pub mod copies;
pub mod daemon;
pub mod helper;
pub mod options;
mod others;
pub mod record;
pub mod remount;
pub mod source;
pub mod table;
pub mod unmount;

pub use options::MountFlags;
pub use source::Source;
