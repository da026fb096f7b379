// SPDX-License-Identifier: Apache-2.0

//! What a machine was measured to do, in the place of the published figures of an enclosure and its servers.

use crate::site::Site;
use serde::Serialize;

/// GB of a GiB.
const GB: f64 = 1e9;

/// One phase of a measurement: the least that the work costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// Bytes that were moved.
    pub bytes: u64,
    /// How long that took, seconds.
    pub seconds: f64,
    /// Processor time of the storage side, seconds.
    pub cpu_s: f64,
}

impl Phase {
    /// GB/s.
    pub fn gb_s(&self) -> f64 {
        self.bytes as f64 / GB / self.seconds
    }
}

/// What was measured in one directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Directory {
    /// Its path.
    pub path: String,
    /// Blocks were read from files.
    pub read: Phase,
    /// Blocks were written to files.
    pub write: Phase,
}

/// What was measured on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Its processors.
    pub processors: u32,
    /// The directories: together they are one enclosure.
    pub directories: Vec<Directory>,
}

impl Measured {
    /// The site with enclosures like these directories together, and servers with processors like this machine's. Nothing where a phase
    /// moved nothing or took no time.
    pub fn of(&self, site: Site) -> Option<Site> {
        let rate = |of: fn(&Directory) -> &Phase| -> Option<f64> {
            let rates = self.directories.iter().map(|directory| of(directory).gb_s());
            Some(rates.sum::<f64>()).filter(|rate| rate.is_finite() && *rate > 0.0)
        };
        let processors = |of: fn(&Directory) -> &Phase| -> Option<f64> {
            let (bytes, cpu) = self
                .directories
                .iter()
                .map(of)
                .fold((0.0, 0.0), |(bytes, cpu), phase| (bytes + phase.bytes as f64, cpu + phase.cpu_s));
            Some(f64::from(self.processors) * bytes / GB / cpu).filter(|rate| rate.is_finite() && *rate > 0.0)
        };
        Some(Site {
            enclosure_read: rate(|directory| &directory.read)?,
            enclosure_write: rate(|directory| &directory.write)?,
            server_read: Some(processors(|directory| &directory.read)?),
            server_write: Some(processors(|directory| &directory.write)?),
            ..site
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Estimate, Limit};
    use crate::published;

    fn directory(read: Phase, write: Phase) -> Directory {
        Directory { path: "/data".to_owned(), read, write }
    }

    #[test]
    fn directories_add_up_and_processors_bound_a_server() {
        let read = Phase { bytes: 4_000_000_000, seconds: 2.0, cpu_s: 1.0 };
        let write = Phase { bytes: 2_000_000_000, seconds: 2.0, cpu_s: 4.0 };
        let measured = Measured { processors: 8, directories: vec![directory(read, write); 2] };
        let site = measured.of(published::site(4, 16.0)).unwrap();
        assert_eq!((site.enclosure_read, site.enclosure_write), (4.0, 2.0));
        assert_eq!((site.server_read, site.server_write), (Some(32.0), Some(4.0)));
        let estimate = Estimate::of(&site).unwrap();
        assert_eq!((estimate.read_limit, estimate.write_limit), (Limit::Drives, Limit::Drives));
        let estimate = Estimate::of(&Site { enclosures: 40, network_gbit: 800.0, ..site }).unwrap();
        assert_eq!((estimate.read_limit, estimate.write_limit), (Limit::Processors, Limit::Processors));
        assert!(estimate.assumptions.iter().any(|said| said.contains("this machine")));
    }

    #[test]
    fn what_measured_nothing_says_nothing() {
        let phase = Phase { bytes: 1 << 30, seconds: 1.0, cpu_s: 0.5 };
        for nothing in [Phase { bytes: 0, ..phase }, Phase { seconds: 0.0, ..phase }, Phase { cpu_s: 0.0, ..phase }] {
            let measured = Measured { processors: 2, directories: vec![directory(phase, nothing)] };
            assert_eq!(measured.of(published::site(1, 4.0)), None, "{nothing:?}");
        }
        assert_eq!(Measured { processors: 2, directories: Vec::new() }.of(published::site(1, 4.0)), None);
    }
}
