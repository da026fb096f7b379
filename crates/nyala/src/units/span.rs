// SPDX-License-Identifier: Apache-2.0

//! Lengths of time: `500ms`, `3s`, `10m`, `1h`, `30d`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time, whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// A length of time that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanError(String);

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a length of time; write a whole number with ms, s, m, h or d, as in 500ms or 3s", self.0)
    }
}

impl std::error::Error for SpanError {}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Span, SpanError> {
        let bad = || SpanError(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = trimmed[..digits].parse().map_err(|_| bad())?;
        let unit = trimmed[digits..].trim();
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ms)| *ms);
        // Zero needs no unit; any other bare number would be a guess.
        let factor = factor.or((number == 0 && unit.is_empty()).then_some(0)).ok_or_else(bad)?;
        number.checked_mul(factor).map(|ms| Span(Duration::from_millis(ms))).ok_or_else(bad)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        if ms.is_multiple_of(1000) { write!(f, "{}s", ms / 1000) } else { write!(f, "{ms}ms") }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, ms) in [("500ms", 500), ("3s", 3000), ("2m", 120_000), ("1h", 3_600_000), ("0", 0), (" 7 s", 7000)] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(ms))), "{text}");
        }
        assert_eq!("30d".parse(), Ok(Span(Duration::from_secs(30 * 24 * 3600))));
        for bad in ["", "s", "5", "1.5s", "-1s", "3 days", "99999999999999999999s", "9999999999999999999h"] {
            let error = bad.parse::<Span>().expect_err(bad);
            assert!(error.to_string().contains("500ms"), "{error}");
        }
        for ms in [0, 1, 999, 1000, 60_000, 61_500] {
            let span = Span(Duration::from_millis(ms));
            assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
