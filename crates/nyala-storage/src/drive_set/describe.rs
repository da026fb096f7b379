// SPDX-License-Identifier: Apache-2.0

//! What is said of a set.

use nyala_drives::{DriveSet, MemberStatus};
use nyala_netdrives::DriveLocation;
use nyala_raid::member::MemberState;
use nyala_raid::options::SetOptions;
use nyala_wire::raid::{RaidMember, RaidOptions, RaidScrub, RaidState};
use std::sync::atomic::Ordering;

pub(super) fn state_name(state: MemberState) -> &'static str {
    match state {
        MemberState::Good => "good",
        MemberState::Missing => "missing",
        MemberState::CatchingUp => "catching-up",
        MemberState::Rebuilding { .. } => "rebuilding",
    }
}

/// A set with its spares, its rate, and whether it is being rebuilt and checked.
pub(super) fn describe(set: &DriveSet, spares: &[DriveLocation], rate: u64, busy: (bool, bool)) -> RaidState {
    let (geometry, counters, scrub) = (set.geometry(), set.counters(), set.scrub());
    let member = |status: MemberStatus| RaidMember {
        drive: status.location,
        state: state_name(status.state).to_owned(),
        missed: status.missed,
        errors: status.errors,
    };
    RaidState {
        level: geometry.level().to_string(),
        strip_bytes: geometry.strip_bytes() as u64,
        parity: u16::try_from(geometry.parity()).unwrap_or(u16::MAX),
        members: set.members().into_iter().map(member).collect(),
        spares: spares.iter().map(DriveLocation::to_string).collect(),
        healed: counters.healed.load(Ordering::Relaxed),
        rebuilt_bytes: counters.rebuilt_bytes.load(Ordering::Relaxed),
        rebuilding: busy.0,
        rate,
        scrub: RaidScrub {
            running: busy.1,
            stripes: scrub.stripes,
            healed: scrub.healed,
            lost: scrub.lost,
            ended_s: scrub.ended_s,
        },
        options: Some(options(set)),
    }
}

fn options(set: &DriveSet) -> RaidOptions {
    let SetOptions { bytes_per_s, limit, .. } = set.options();
    RaidOptions { bytes_per_s, errors: limit.errors, within_ms: limit.within_ms }
}
