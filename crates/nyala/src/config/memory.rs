// SPDX-License-Identifier: Apache-2.0

//! Limits that follow the machine's memory.

/// Most that is taken for attributes and names, whatever the machine has.
const MOST: usize = 2 << 30;
/// Taken where the machine does not say what it has.
const UNKNOWN: usize = 128 << 20;

/// Bytes for attributes and names that a mount keeps.
pub fn share_for_metadata() -> usize {
    let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    total(&table).map_or(UNKNOWN, |bytes| (bytes / 32).min(MOST))
}

/// The machine's memory in bytes, from the text of `/proc/meminfo`.
fn total(table: &str) -> Option<usize> {
    let line = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_meminfo_counts() {
        assert_eq!(total("MemTotal:       24689012 kB\nMemFree:  1 kB\n"), Some(24_689_012 * 1024));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: many kB\n"), None);
        assert!(share_for_metadata() <= MOST);
    }
}
