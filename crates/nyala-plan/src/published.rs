// SPDX-License-Identifier: Apache-2.0

//! A published sizing table: arrays of 84 drives (80 in RAID 6 of 8+2, 4 spares) behind pairs of servers with one HDR100 port each.
//! Small, medium and large (1, 2, 4 arrays) were measured by its authors; larger ones are sums of those, which is their assumption.

use crate::estimate::Estimate;
use crate::raid::Raid;
use crate::site::Site;
use serde::Serialize;

/// A measured building block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Block {
    /// Its name.
    pub name: &'static str,
    /// Arrays.
    pub arrays: u32,
    /// Storage servers.
    pub servers: u32,
    /// Peak of reading, MB/s.
    pub read: u32,
    /// Peak of writing, MB/s.
    pub write: u32,
    /// What lasts, MB/s.
    pub sustained: u32,
}

/// The measured blocks: small, medium, large.
pub const BLOCKS: [Block; 3] = [
    Block { name: "S", arrays: 1, servers: 2, read: 6800, write: 5700, sustained: 5000 },
    Block { name: "M", arrays: 2, servers: 2, read: 13_900, write: 11_500, sustained: 11_000 },
    Block { name: "L", arrays: 4, servers: 2, read: 23_700, write: 22_100, sustained: 22_000 },
];

/// The configurations of the table, as sums of blocks.
pub const CONFIGURATIONS: [(&str, &[usize]); 6] =
    [("S", &[0]), ("M", &[1]), ("L", &[2]), ("L + S", &[2, 0]), ("L + M", &[2, 1]), ("2x L", &[2, 2])];

/// Drives that the arrays take, TB.
pub const DRIVES_TB: [u32; 4] = [4, 8, 12, 16];

/// A row of the table, turned: one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Arrays.
    pub arrays: u32,
    /// Usable space for each size of drives, TiB.
    pub usable_tib: Vec<u64>,
    /// GB/s of reading, writing, and what lasts.
    pub read_gb_s: f64,
    /// The same for writing.
    pub write_gb_s: f64,
    /// The same for what lasts.
    pub sustained_gb_s: f64,
    /// Whether it was measured; the others are sums.
    pub measured: bool,
}

/// So many arrays with drives of that size, as a site with one pair of servers for each four of them.
pub fn site(arrays: u32, drive_tb: f64) -> Site {
    Site {
        servers: 2 * arrays.div_ceil(4),
        enclosures: arrays,
        drives: 80,
        drive_tb,
        raid: Raid { data: 8, parity: 2 },
        copies: 1,
        overhead: 0.01,
        enclosure_read: 6.84,
        enclosure_write: 5.74,
        network_gbit: 100.0,
        server_read: None,
        server_write: None,
        clients: 0,
        client_gbit: 100.0,
    }
}

/// The table.
pub fn table() -> Vec<Row> {
    let row = |(name, blocks): &(&'static str, &[usize])| {
        let blocks: Vec<Block> = blocks.iter().map(|at| BLOCKS[*at]).collect();
        let arrays = blocks.iter().map(|block| block.arrays).sum();
        let sum = |of: fn(&Block) -> u32| f64::from(blocks.iter().map(of).sum::<u32>()) / 1000.0;
        let usable = |tb: &u32| {
            Estimate::of(&site(arrays, f64::from(*tb))).map_or(0, |estimate| estimate.usable_tib.round() as u64)
        };
        Row {
            name,
            arrays,
            usable_tib: DRIVES_TB.iter().map(usable).collect(),
            read_gb_s: sum(|block| block.read),
            write_gb_s: sum(|block| block.write),
            sustained_gb_s: sum(|block| block.sustained),
            measured: blocks.len() == 1,
        }
    };
    CONFIGURATIONS.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Usable space as printed, TiB: a line for each size of drives, a column for each configuration.
    const SPACE: [[u64; 6]; 4] = [
        [231, 461, 922, 1153, 1383, 1844],
        [461, 922, 1844, 2305, 2766, 3688],
        [691, 1383, 2766, 3458, 4149, 5532],
        [922, 1844, 3688, 4610, 5532, 7376],
    ];
    /// As printed, GB/s.
    const READ: [f64; 6] = [6.8, 13.9, 23.7, 30.5, 37.6, 47.4];
    const WRITE: [f64; 6] = [5.7, 11.5, 22.1, 27.8, 33.6, 44.2];
    const SUSTAINED: [f64; 6] = [5.0, 11.0, 22.0, 27.0, 33.0, 44.0];

    #[test]
    fn the_table_is_what_was_printed() {
        let mut differ = Vec::new();
        for (at, row) in table().iter().enumerate() {
            assert_eq!(
                (row.read_gb_s, row.write_gb_s, row.sustained_gb_s),
                (READ[at], WRITE[at], SUSTAINED[at]),
                "{}",
                row.name
            );
            for (size, printed) in SPACE.iter().enumerate() {
                if row.usable_tib[size] != printed[at] {
                    differ.push((row.name, DRIVES_TB[size], row.usable_tib[size], printed[at]));
                }
            }
        }
        // The printed formula gives 691.51 for one array of 12 TB drives; the table rounds that down, and the others (3457.5) up.
        assert_eq!(differ, [("S", 12, 692, 691)]);
    }

    #[test]
    fn the_model_explains_what_was_measured() {
        // Measured peaks, GB/s; within 3 %.
        for (arrays, read, write) in [(1, 6.84, 5.74), (2, 13.97, 11.49), (4, 23.70, 22.07)] {
            let estimate = Estimate::of(&site(arrays, 8.0)).unwrap();
            assert!((estimate.read_gb_s / read - 1.0).abs() < 0.03, "{arrays}: {estimate:?}");
            assert!((estimate.write_gb_s / write - 1.0).abs() < 0.03, "{arrays}: {estimate:?}");
        }
    }
}
