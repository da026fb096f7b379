// SPDX-License-Identifier: Apache-2.0

//! Groups of drives.

use serde::Serialize;
use std::str::FromStr;

/// Most drives of a group that hold data, and most that hold parity.
const MOST_DRIVES: u32 = 256;

/// Drives of a RAID group: those that hold data, and those that hold parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Raid {
    /// Drives' worth of data.
    pub data: u32,
    /// Drives' worth of parity, or copies.
    pub parity: u32,
}

impl Raid {
    /// The share of the drives that holds data.
    pub fn share(self) -> f64 {
        f64::from(self.data) / f64::from(self.data + self.parity)
    }
}

impl FromStr for Raid {
    type Err = String;

    /// `8+2`.
    fn from_str(text: &str) -> Result<Raid, String> {
        let shape = || "write DATA+PARITY, as in 8+2 for RAID 6 of ten drives, 1+1 for pairs, 1+0 for none".to_owned();
        let (data, parity) = text.split_once('+').ok_or_else(shape)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| shape());
        let (data, parity) = (number(data)?, number(parity)?);
        if !(1..=MOST_DRIVES).contains(&data) {
            return Err(format!("a group needs 1 to {MOST_DRIVES} drives for data: write for instance 8+2"));
        }
        if parity > MOST_DRIVES {
            return Err(format!("a group has 0 to {MOST_DRIVES} drives for parity or copies: write for instance 8+2"));
        }
        Ok(Raid { data, parity })
    }
}
