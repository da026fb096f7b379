// SPDX-License-Identifier: Apache-2.0

//! What operators' commands ask services and mounts besides statistics, and the answers.

use nyala_wire::busiest::{BusiestReply, BusiestRequest, NamesReply, NamesRequest};
use nyala_wire::fuzzing::round_trip;
use nyala_wire::host_report::{HostReportReply, HostReportRequest};
use nyala_wire::link_test::{LinkTestReply, LinkTestRequest};
use nyala_wire::trace::MountTrace;

/// Any of them.
pub fn any(bytes: &[u8]) -> bool {
    round_trip::<LinkTestRequest>(bytes)
        | round_trip::<LinkTestReply>(bytes)
        | round_trip::<BusiestRequest>(bytes)
        | round_trip::<BusiestReply>(bytes)
        | round_trip::<NamesRequest>(bytes)
        | round_trip::<NamesReply>(bytes)
        | round_trip::<HostReportRequest>(bytes)
        | round_trip::<HostReportReply>(bytes)
        | round_trip::<Vec<MountTrace>>(bytes)
}
