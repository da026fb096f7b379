// SPDX-License-Identifier: Apache-2.0

//! What an operator changes of a set in use. Failure model: see the parent module; what is refused is refused whole, before anything is changed.

use super::reach::Reach;
use super::spares::Spares;
use nyala_drives::DriveSet;
use nyala_netdrives::DriveLocation;
use nyala_raid::event::ErrorLimit;
use nyala_raid::options::SetOptions;
use nyala_wire::{ErrorCode, WireError};

/// What is to be otherwise.
pub(super) struct Changes {
    pub bytes_per_s: Option<u64>,
    pub errors: Option<u32>,
    pub within_ms: Option<u64>,
    pub add_spares: Vec<String>,
    pub remove_spares: Vec<String>,
}

/// The largest number is no rate.
fn rate(bytes_per_s: u64) -> Option<u64> {
    Some(bytes_per_s).filter(|rate| *rate != u64::MAX)
}

fn locations(named: &[String]) -> Result<Vec<DriveLocation>, WireError> {
    let parse = |name: &String| name.parse().map_err(|error| ErrorCode::INVALID.with(format!("{error}")));
    named.iter().map(parse).collect()
}

/// Changes it; gives what holds then.
pub(super) fn modify(
    set: &DriveSet,
    spares: &Spares,
    reach: &Reach,
    changes: &Changes,
) -> Result<SetOptions, WireError> {
    let invalid = |text: String| Err(ErrorCode::INVALID.with(text));
    let (added, removed) = (locations(&changes.add_spares)?, locations(&changes.remove_spares)?);
    let members: Vec<Option<String>> = set.members().into_iter().map(|member| member.location).collect();
    if let Some(used) = added.iter().find(|spare| members.contains(&Some(spare.to_string()))) {
        return invalid(format!("{used} is a drive of the set"));
    }
    if let Some(far) = added.iter().find(|spare| spare.dir().is_none() && reach.0.is_none()) {
        return invalid(format!(
            "{far} is of another host, and this set has none of other hosts: start the service with it in the settings"
        ));
    }
    if let Some(strange) = removed.iter().find(|spare| !spares.has(spare)) {
        return invalid(format!("{strange} is no spare of the set"));
    }
    let before = set.options();
    let errors = changes.errors.unwrap_or(before.limit.errors);
    let within_ms = changes.within_ms.unwrap_or(before.limit.within_ms);
    if errors == 0 || within_ms == 0 {
        return invalid("no errors, or no time, is no limit".to_owned());
    }
    let bytes_per_s = changes.bytes_per_s.map_or(before.bytes_per_s, rate);
    let wanted = SetOptions { bytes_per_s, limit: ErrorLimit { errors, within_ms }, ..before };
    let options = match wanted == before {
        true => before,
        false => set.set_options(wanted).map_err(|error| ErrorCode::IO.with(error.to_string()))?,
    };
    added.into_iter().for_each(|spare| spares.add(spare));
    removed.iter().for_each(|spare| spares.remove(spare));
    Ok(options)
}
