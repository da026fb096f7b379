// SPDX-License-Identifier: Apache-2.0

//! Numbers as people read them.

/// Bytes: `1.2 GiB`.
pub fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// Bytes in a second.
pub fn byte_rate(value: f64) -> String {
    format!("{}/s", bytes(value))
}

/// A number: `12.3 k`.
pub fn number(value: f64) -> String {
    scaled(value, 1000.0, &["", "k", "M", "G", "T"]).trim_end().to_owned()
}

/// A number in a second.
pub fn rate(value: f64) -> String {
    format!("{}/s", number(value))
}

/// A time in seconds: `3.1 ms`.
pub fn seconds(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0 s".to_owned(),
        v if v < 1e-3 => format!("{} µs", digits(v * 1e6)),
        v if v < 1.0 => format!("{} ms", digits(v * 1e3)),
        v => format!("{} s", digits(v)),
    }
}

/// A part of one: `42%`.
pub fn percent(part: f64) -> String {
    format!("{:.0}%", part * 100.0)
}

/// A time to go: `3 min`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "unknown".to_owned(),
        s if s < 60.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// A moment, UTC: `2026-11-26 01:12:05`.
pub fn moment(ms: u64) -> String {
    nyala_wire::time::utc(ms / 1000)
}

/// The same for programs, with milliseconds: `2026-11-26T01:12:05.250Z`.
pub fn exact_moment(ms: u64) -> String {
    format!("{}.{:03}Z", moment(ms).replace(' ', "T"), ms % 1000)
}

fn scaled(value: f64, base: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value.max(0.0), 0);
    while value >= base && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    let text = if unit == 0 && value >= 10.0 { format!("{value:.0}") } else { digits(value) };
    format!("{text} {}", units[unit])
}

fn digits(value: f64) -> String {
    let text = if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") };
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let said = [bytes(0.0), bytes(1536.0), bytes(5e12), number(0.25), number(12_345.0), number(7.0), rate(950.0)];
        assert_eq!(said, ["0 B", "1.5 KiB", "4.5 TiB", "0.2", "12 k", "7", "950/s"]);
        let times = [seconds(0.0), seconds(42e-6), seconds(0.0031), seconds(2.5)];
        assert_eq!(times, ["0 s", "42 µs", "3.1 ms", "2.5 s"]);
        assert_eq!([duration(5.0), duration(600.0), duration(f64::INFINITY)], ["5 s", "10 min", "unknown"]);
        assert_eq!(percent(0.424), "42%");
    }

    #[test]
    fn moments_are_dates() {
        assert_eq!(moment(0), "1970-01-01 00:00:00");
        assert_eq!(moment(951_782_400_000), "2000-02-29 00:00:00");
        assert_eq!(moment(1_795_655_525_000), "2026-11-26 01:12:05");
        assert_eq!(exact_moment(1_795_655_525_007), "2026-11-26T01:12:05.007Z");
    }
}
