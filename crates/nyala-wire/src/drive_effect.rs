// SPDX-License-Identifier: Apache-2.0

//! What a storage service asks of a drive of another host.

use minicbor::{Decode, Encode};

/// Most bytes that one read or scan gives.
pub const MAX_DRIVE_BYTES: usize = 4 << 20;

/// A file of a drive: an object's number, big-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct DriveObject(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 16]);

/// What a drive is to do. Effects of an attachment are done one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum DriveEffect {
    /// Read a file; the reply's payload is what was read, zeros where nothing is.
    #[n(0)]
    Read {
        /// The file.
        #[n(0)]
        object: DriveObject,
        /// From here, bytes.
        #[n(1)]
        offset: u64,
        /// So many bytes, at most [`MAX_DRIVE_BYTES`].
        #[n(2)]
        len: u32,
    },
    /// Write the payload to a file, which is made if it is missing.
    #[n(1)]
    Write {
        /// The file.
        #[n(0)]
        object: DriveObject,
        /// At this offset, bytes.
        #[n(1)]
        offset: u64,
    },
    /// Free space of a file, all of it from 0 on without a length.
    #[n(2)]
    Discard {
        /// The file.
        #[n(0)]
        object: DriveObject,
        /// From here, bytes.
        #[n(1)]
        offset: u64,
        /// So many bytes; absent: to the end.
        #[n(2)]
        len: Option<u64>,
    },
    /// Change the table by the payload, an encoded batch.
    #[n(3)]
    Apply {
        /// Wait for the disk.
        #[n(0)]
        sync: bool,
    },
    /// Look a key up; the reply is [`crate::drive::DriveReply::Value`].
    #[n(4)]
    Get {
        /// The key.
        #[cbor(n(0), with = "minicbor::bytes")]
        key: Vec<u8>,
    },
    /// List the table; the reply is [`crate::drive::DriveReply::Pairs`].
    #[n(5)]
    Scan {
        /// First key.
        #[cbor(n(0), with = "minicbor::bytes")]
        from: Vec<u8>,
        /// Behind the last key.
        #[cbor(n(1), with = "minicbor::bytes")]
        to: Vec<u8>,
        /// Most pairs.
        #[n(2)]
        most: u32,
    },
    /// Make all writes and discards so far durable.
    #[n(6)]
    SyncFiles,
}
