// SPDX-License-Identifier: Apache-2.0

//! What an operator's command asks a service of its host: logs, settings without secrets, facts about kernel and disks, as an archive.

use minicbor::{Decode, Encode};

/// Most bytes of a report before it is compressed, whatever is asked for.
pub const MAX_REPORT_BYTES: u64 = 64 << 20;
/// Bytes of a report in one reply.
pub const REPORT_PIECE_BYTES: usize = 1 << 20;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HostReportRequest {
    /// Which host is it? Services of one host say the same.
    #[n(0)]
    Who,
    /// Make a report. The one before is forgotten.
    #[n(1)]
    Make {
        /// Newest bytes of each log.
        #[n(0)]
        log_bytes: u64,
        /// Most bytes of all before they are compressed, at most [`MAX_REPORT_BYTES`].
        #[n(1)]
        most_bytes: u64,
    },
    /// A piece of a report that was made; it is the reply's payload.
    #[n(2)]
    Piece {
        /// Its number.
        #[n(0)]
        report: u64,
        /// Where the piece begins.
        #[n(1)]
        offset: u64,
    },
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct HostReportReply {
    /// The host, as its services name it.
    #[n(0)]
    pub host: String,
    /// Number of the report; 0: none was asked for.
    #[n(1)]
    pub report: u64,
    /// Its length, bytes.
    #[n(2)]
    pub bytes: u64,
}
