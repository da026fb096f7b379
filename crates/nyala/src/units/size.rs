// SPDX-License-Identifier: Apache-2.0

//! Sizes in bytes: `512k`, `1m`, `4GiB`; every unit is a power of 1024.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

const UNITS: [&str; 6] = ["", "k", "m", "g", "t", "p"];

/// A size that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeError(String);

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a size; write a whole number with k, m, g, t or p (of 1024), as in 512k or 4GiB", self.0)
    }
}

impl std::error::Error for SizeError {}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Size, SizeError> {
        let bad = || SizeError(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = trimmed[..digits].parse().map_err(|_| bad())?;
        let unit = trimmed[digits..].trim_start().to_ascii_lowercase();
        let power = UNITS.iter().position(|known| {
            let rest = unit.strip_prefix(known).filter(|_| !known.is_empty() || unit.is_empty() || unit == "b");
            rest.is_some_and(|rest| rest.is_empty() || rest == "ib" || (rest == "b" && unit == "b"))
        });
        let factor = 1024_u64.pow(power.ok_or_else(bad)? as u32);
        number.checked_mul(factor).map(Size).ok_or_else(bad)
    }
}

impl fmt::Display for Size {
    /// The shortest exact form: `512k`, `1m`, `1000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut power = 0;
        let mut rest = self.0;
        while rest > 0 && rest.is_multiple_of(1024) && power + 1 < UNITS.len() {
            rest /= 1024;
            power += 1;
        }
        write!(f, "{rest}{}", UNITS[power])
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    /// A text with a unit, or a bare number of bytes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a size such as \"512k\", or a number of bytes")]
        enum Either {
            Bytes(u64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Bytes(bytes) => Ok(Size(bytes)),
            Either::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

fn scaled(value: u64, base: f64, units: &[&str]) -> String {
    let mut value = value as f64;
    let mut unit = 0;
    while value >= base && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    if unit == 0 { format!("{value}{}", units[0]) } else { format!("{value:.1}{}", units[unit]) }
}

/// Bytes for a table: `10728.4GiB` as the field shows it stays readable up to `PiB`.
pub fn human_bytes(bytes: u64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// A count for a table: `1125.2M`.
pub fn human_count(count: u64) -> String {
    scaled(count, 1000.0, &["", "k", "M", "G"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096b", 4096),
            ("512k", 512 << 10),
            ("512K", 512 << 10),
            ("1m", 1 << 20),
            ("1MiB", 1 << 20),
            ("4GiB", 4 << 30),
            (" 2 t ", 2 << 40),
            ("1p", 1 << 50),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for bad in ["", "k", "-1", "1.5m", "1x", "1kb", "1kk", "18446744073709551616", "99999999p", "1 m m", "ib"] {
            let error = bad.parse::<Size>().expect_err(bad);
            assert!(error.to_string().contains("512k"), "{error}");
        }
    }

    #[test]
    fn sizes_are_written_so_that_they_read_the_same() {
        for bytes in [0, 1, 1000, 1024, 1 << 20, 3 << 30, 1025 << 10, u64::MAX] {
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }
        assert_eq!(Size(512 << 10).to_string(), "512k");
        assert_eq!(human_bytes(1536), "1.5KiB");
        assert_eq!(human_bytes(12), "12B");
        assert_eq!(human_count(1_125_200_000), "1.1G");
        assert_eq!(human_count(999), "999");
    }
}
