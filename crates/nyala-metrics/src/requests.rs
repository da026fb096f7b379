// SPDX-License-Identifier: Apache-2.0

//! Requests by operation: how many, how long, how many of them failed.

use crate::{Counters, Histograms, Metric, Page, Snapshot};
use std::time::Duration;

/// Counts of the requests of a service or a mount.
#[derive(Debug)]
pub struct Requests {
    names: Vec<&'static str>,
    times: Histograms,
    errors: Counters,
}

impl Requests {
    /// Operations have the places of these names as their numbers.
    pub fn new(names: Vec<&'static str>) -> Requests {
        Requests { times: Histograms::new(names.len()), errors: Counters::new(names.len()), names }
    }

    /// An operation is answered.
    #[inline(always)]
    pub fn answered(&self, op: usize, time: Duration, failed: bool) {
        // Seconds and nanoseconds apart: a division of 128 bits would cost more than all the rest.
        self.times.add(op, time.as_secs().wrapping_mul(1_000_000).wrapping_add(u64::from(time.subsec_micros())));
        if failed {
            self.errors.add(op, 1);
        }
    }

    /// What was answered so far, of operations that there were.
    fn seen(&self) -> impl Iterator<Item = (&'static str, Snapshot, u64)> {
        let all = self.names.iter().enumerate().map(|(op, name)| (*name, self.times.get(op), self.errors.get(op)));
        all.filter(|(_, times, _)| times.count() > 0)
    }

    /// Writes both metrics.
    pub fn write(&self, page: &mut Page, times: &Metric, errors: &Metric) {
        let seen: Vec<_> = self.seen().collect();
        let mut family = page.family(times);
        seen.iter().for_each(|(name, times, _)| family.histogram(&[name], times));
        let mut family = page.family(errors);
        seen.iter().for_each(|(name, _, errors)| family.value(&[name], *errors));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::meta;
    use crate::parse::parse;

    #[test]
    fn only_operations_that_there_were_are_written() {
        let requests = Requests::new(vec!["a", "b", "c"]);
        requests.answered(1, Duration::from_micros(1_500_000), false);
        requests.answered(1, Duration::from_nanos(900), true);
        let mut page = Page::new();
        requests.write(&mut page, &meta::REQUESTS, &meta::ERRORS);
        let families = parse(&page.finish()).unwrap();
        let sum = families[meta::REQUESTS.name].samples.iter().find(|sample| sample.suffix == "_sum").unwrap();
        assert_eq!((sum.labels["op"].as_str(), sum.value), ("b", 1.5));
        let errors = &families[meta::ERRORS.name].samples;
        assert_eq!((errors.len(), errors[0].value), (1, 1.0));
    }
}
