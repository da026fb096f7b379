// SPDX-License-Identifier: Apache-2.0

//! Every level beside a plain array of bytes: losses, crashes at every effect, damage.

mod crash;
mod damage;
mod drives;
mod plain;
mod set;

use nyala_raid::{Geometry, Level};

/// A set of each level, small.
fn geometries() -> Vec<Geometry> {
    let levels = [
        (Level::Raid0, 3),
        (Level::Raid1, 2),
        (Level::Raid1, 3),
        (Level::Raid10, 4),
        (Level::Raid5, 4),
        (Level::Raid6, 5),
        (Level::Raid73, 6),
        (Level::NPlusM { parity: 4 }, 7),
        (Level::Raid50 { groups: 2 }, 6),
        (Level::Raid60 { groups: 2 }, 8),
        (Level::Raid70 { groups: 2 }, 10),
        // Wide enough that parity follows from a difference.
        (Level::Raid6, 9),
    ];
    levels.into_iter().map(|(level, drives)| Geometry::new(level, drives, set::STRIP).unwrap()).collect()
}
