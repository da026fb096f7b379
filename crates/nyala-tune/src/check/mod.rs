// SPDX-License-Identifier: Apache-2.0

//! Facts about a host go in, findings come out: what is, what it should be, and why.

mod clocks;
mod file_systems;
mod kernel;
mod links;
mod network;

use crate::facts::{Clock, Facts};
use crate::finding::{Area, Finding, Level};

/// Judges a host; what matters most comes first.
pub fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = file_systems::check(&facts.file_systems);
    findings.extend(kernel::check(&facts.settings, facts.swap));
    findings.extend(facts.clock.and_then(clock));
    findings.extend(clocks::check(&facts.clocks));
    findings.extend(network::check(&facts.interfaces, &facts.nodes));
    findings.extend(links::check(&facts.links, &facts.nodes));
    findings.sort_by_key(|finding| (finding.level, finding.area));
    findings
}

/// A clock that may be wrong by more is noted, microseconds.
const MAX_CLOCK_ERROR_US: u64 = 100_000;

fn clock(clock: Clock) -> Option<Finding> {
    let is = match clock {
        Clock { synchronized: false, .. } => "nothing keeps the clock in step".to_owned(),
        Clock { max_error_us, .. } if max_error_us > MAX_CLOCK_ERROR_US => {
            format!("the clock may be wrong by {} ms", max_error_us / 1000)
        }
        Clock { .. } => return None,
    };
    Some(Finding {
        level: Level::Advice,
        area: Area::Clock,
        subject: "clock".into(),
        is,
        change: "run chrony, or another client of NTP".into(),
        why: "leases do not depend on it, but times of files and of log lines come from several hosts and are compared"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_in_step_or_noted() {
        let is = |synchronized, max_error_us| clock(Clock { synchronized, max_error_us }).map(|finding| finding.is);
        assert_eq!(is(true, 20_000), None);
        assert!(is(true, 16_000_000).unwrap().contains("16000 ms"));
        assert!(is(false, 0).unwrap().contains("nothing keeps"));
        assert!(check(&Facts::default()).is_empty(), "what is not known is not judged");
    }
}
