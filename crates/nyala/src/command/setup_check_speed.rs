// SPDX-License-Identifier: Apache-2.0

//! How much `nyala setup check` has servers send to each other.

use crate::host::SpeedTest;
use crate::units::{Size, Span};
use nyala_wire::link_test::{MAX_LINK_TEST_BYTES, MAX_LINK_TEST_MS};
use std::time::Duration;

/// Flags that bound it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SpeedArgs {
    /// What each host sends at most to each other one to measure the speed, up to 64m; 0: it is not measured
    #[arg(long, value_name = "SIZE", default_value = "16m", value_parser = speed_bytes)]
    speed_bytes: Size,
    /// How long it sends at most, up to 5s
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = speed_time)]
    speed_time: Span,
}

impl SpeedArgs {
    /// What servers are asked for.
    pub fn test(&self) -> SpeedTest {
        let within_ms = u32::try_from(self.speed_time.0.as_millis()).unwrap_or(MAX_LINK_TEST_MS);
        SpeedTest { bytes: self.speed_bytes.0, within_ms }
    }
}

/// A number of bytes that servers send for one test.
fn speed_bytes(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error| format!("{error}"))?;
    let most = Size(MAX_LINK_TEST_BYTES);
    if size > most { Err(format!("a server sends {most} at most for one test")) } else { Ok(size) }
}

/// A time for which servers send for one test.
fn speed_time(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    let most = Duration::from_millis(MAX_LINK_TEST_MS.into());
    if span.0 > most { Err(format!("a server sends for {} s at most for one test", most.as_secs())) } else { Ok(span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_bounds() {
        assert_eq!(speed_bytes("16m"), Ok(Size(16 << 20)));
        assert!(speed_bytes("65m").unwrap_err().contains("64m at most") && speed_bytes("x").is_err());
        assert_eq!(speed_time("200ms").map(|span| span.0), Ok(Duration::from_millis(200)));
        assert!(speed_time("6s").unwrap_err().contains("5 s at most") && speed_time("x").is_err());
    }
}
