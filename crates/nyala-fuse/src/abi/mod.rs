// SPDX-License-Identifier: Apache-2.0

//! The kernel's FUSE protocol, versions 7.31 to 7.45, as plain structures: what the bytes on the device mean.
//!
//! The protocol is host-endian and never leaves the machine, so fields are native integers. Every structure can be
//! read from any bytes of its size (`FromBytes`), so reading one cannot fail other than by being too short; what the
//! values mean is checked by `request`. The names of fields are the kernel's where it gives one.

// The protocol is stated whole, also where this version of the session has no use for a part.
#![allow(dead_code)]

/// Declares a `repr(C)` structure that is its own bytes.
macro_rules! abi_struct {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, Default, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable,
            zerocopy::KnownLayout,
        )]
        #[repr(C)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty),* }
    )*};
}

pub mod args;
pub mod header;
pub mod init;
pub mod notify;
pub mod opcode;
pub mod replies;
#[cfg(test)]
mod tests;

/// Major version of the protocol; the only one there has been since 2006.
pub const MAJOR: u32 = 7;
/// Newest minor version whose structures are stated here.
pub const MINOR_MAX: u32 = 45;
/// Oldest minor version that is served (Linux 5.4).
pub const MINOR_MIN: u32 = 31;
/// From here on there is [`notify::INC_EPOCH`] (Linux 6.16).
pub const MINOR_EPOCH: u32 = 44;
/// The kernel's name for the root directory.
pub const ROOT_ID: u64 = 1;
/// The kernel refuses a read of the device with less room than this.
pub const MIN_READ_BUFFER_BYTES: usize = 8192;
/// `ioctl` that makes a freshly opened device another door to the same mount: `_IOR(229, 0, u32)`.
pub const DEV_IOC_CLONE: u32 = 0x8004_e500;
