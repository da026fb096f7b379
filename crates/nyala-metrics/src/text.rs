// SPDX-License-Identifier: Apache-2.0

//! Numbers and text as OpenMetrics writes them.

use std::fmt::{Display, Write};

/// Microseconds in seconds, exactly, as OpenMetrics wants bounds of buckets: with a point and no needless digit.
pub(crate) struct Seconds(pub u64);

impl Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = format!("{:06}", self.0 % 1_000_000);
        let part = part.trim_end_matches('0');
        write!(f, "{}.{}", self.0 / 1_000_000, if part.is_empty() { "0" } else { part })
    }
}

/// Text within a line and between quotes.
pub(crate) struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        struct Escape<'a, 'b>(&'a mut std::fmt::Formatter<'b>);
        impl Write for Escape<'_, '_> {
            fn write_str(&mut self, text: &str) -> std::fmt::Result {
                text.chars().try_for_each(|c| match c {
                    '\\' => self.0.write_str("\\\\"),
                    '"' => self.0.write_str("\\\""),
                    '\n' => self.0.write_str("\\n"),
                    c => self.0.write_char(c),
                })
            }
        }
        write!(Escape(f), "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        let of = |us| Seconds(us).to_string();
        assert_eq!([of(0), of(1), of(1_000_000), of(1_500_000)], ["0.0", "0.000001", "1.0", "1.5"]);
    }
}
