// SPDX-License-Identifier: Apache-2.0

//! Groups of drives.

use serde::Serialize;
use std::str::FromStr;

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
        let bad =
            || format!("{text:?} is not DATA+PARITY, as in 8+2 for RAID 6 of ten drives, 1+1 for pairs, 1+0 for none");
        let (data, parity) = text.split_once('+').ok_or_else(bad)?;
        let number = |text: &str| text.parse().ok().filter(|drives: &u32| *drives <= 256);
        let data = number(data).filter(|data| *data > 0).ok_or_else(bad)?;
        Ok(Raid { data, parity: number(parity).ok_or_else(bad)? })
    }
}
