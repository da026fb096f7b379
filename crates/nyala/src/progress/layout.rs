// SPDX-License-Identifier: Apache-2.0

//! How the line on a terminal is laid out, so that it fits.

use indicatif::ProgressStyle;

/// The line on a terminal, cut to its width: how long it takes so far, and how far it is.
pub const LINE: &str = "{spinner} {elapsed_precise} {wide_msg}";
/// The same where the end is known.
pub const BAR: &str = "{elapsed_precise} [{bar:16}] {wide_msg}";
/// Columns that these take besides the message.
const LINE_COLUMNS: usize = "- 00:00:00 ".len();
const BAR_COLUMNS: usize = "00:00:00 [################] ".len();

/// What fits a terminal: whether with a bar, and which message.
pub fn fitting(columns: usize, line: String, brief: String) -> (bool, String) {
    for message in [&line, &brief] {
        if BAR_COLUMNS + message.chars().count() <= columns {
            return (true, message.clone());
        }
    }
    (false, if LINE_COLUMNS + line.chars().count() <= columns { line } else { brief })
}

/// What is shown does not depend on a style that the library does not take.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Counted, Pace};
    use std::time::Duration;

    #[test]
    fn the_library_takes_the_styles() {
        for template in [LINE, BAR] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    /// What is longest: every name of what takes long, in large file systems.
    #[test]
    fn what_is_left_is_seen_at_80_columns() {
        let (far, minute) = (Duration::from_secs(60), Duration::from_secs(1));
        for (what, unit, total) in [
            ("scrub", Counted::Bytes, 900 << 40),
            ("mirror check", Counted::Bytes, 900 << 40),
            ("resync", Counted::Bytes, 900 << 40),
            ("rebuild", Counted::Bytes, 900 << 40),
            ("check", Counted::Things("stripes"), 1 << 40),
            ("moves", Counted::Things("slots"), 65_536),
            ("search", Counted::Things("entries"), 30_000_000_000),
            ("bench all, meta and data", Counted::Things("phases"), 400),
        ] {
            let mut pace = Pace::default();
            pace.note(far, 0);
            pace.note(far + minute, total / 1300);
            let (_, message) = fitting(80, pace.line(what, unit, Some(total)), pace.brief(what, unit, total));
            assert!(LINE_COLUMNS + message.chars().count() <= 80, "{message}");
            assert!(message.ends_with(" left") || pace.remaining(total).is_none(), "{message}");
        }
        assert_eq!(fitting(80, "l".repeat(52), "b".into()), (true, "l".repeat(52)));
        assert_eq!(fitting(80, "l".repeat(53), "b".into()), (true, "b".into()));
        assert_eq!(fitting(80, "l".repeat(69), "b".repeat(53)), (false, "l".repeat(69)));
        assert_eq!(fitting(80, "l".repeat(70), "b".repeat(53)), (false, "b".repeat(53)));
    }
}
