// SPDX-License-Identifier: Apache-2.0

//! What `nyala setup check` shows of ways between servers and of clocks.

use crate::output::Table;
use crate::units::human_bytes;
use nyala_tune::links::{HostClock, Link};
use serde::Serialize;

/// Rows of the table at most; JSON has all.
const ROWS: usize = 24;

/// A way of a server to an address of another one.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRow {
    from: String,
    to: String,
    address: String,
    /// Why it was not reached.
    error: Option<String>,
    local: Option<String>,
    round_trip_us: Option<u64>,
    /// Bytes.
    mtu: Option<u32>,
    /// Packets of full size arrive.
    large: Option<bool>,
    bytes_per_s: Option<u64>,
}

/// The clock of a host.
#[derive(Clone, Debug, Serialize)]
pub struct ClockRow {
    server: String,
    /// Of this host's clock, microseconds.
    ahead_us: i64,
    /// By how much that may be wrong, microseconds.
    error_us: u64,
}

impl From<Link> for LinkRow {
    fn from(link: Link) -> LinkRow {
        let (found, error) = match link.found {
            Ok(found) => (Some(found), None),
            Err(error) => (None, Some(error)),
        };
        LinkRow {
            from: link.from,
            to: link.to,
            address: link.address,
            error,
            round_trip_us: found.as_ref().map(|found| found.round_trip_us),
            mtu: found.as_ref().map(|found| found.mtu).filter(|mtu| *mtu > 0),
            large: found.as_ref().map(|found| found.large),
            bytes_per_s: found.as_ref().and_then(|found| found.bytes_per_s),
            local: found.map(|found| found.local),
        }
    }
}

impl From<HostClock> for ClockRow {
    fn from(clock: HostClock) -> ClockRow {
        ClockRow { server: clock.name, ahead_us: clock.ahead_us, error_us: clock.error_us }
    }
}

/// A table of the measured ways, the slowest first, and how many there are; nothing where none was tried.
pub fn render_links(links: &[LinkRow]) -> String {
    if links.is_empty() {
        return String::new();
    }
    let reached = links.iter().filter(|link| link.error.is_none()).count();
    let mut text = format!("\nWays between servers: {reached} of {} are reached.\n", links.len());
    let mut measured: Vec<(u64, &LinkRow)> = links.iter().filter_map(|link| Some((link.bytes_per_s?, link))).collect();
    measured.sort_by_key(|(speed, link)| (*speed, &link.from, &link.to));
    if measured.is_empty() {
        return text;
    }
    let mut table = Table::new(&["FROM", "TO", "AT", "ROUND TRIP", "MTU", "SPEED"]);
    for (speed, link) in measured.iter().take(ROWS) {
        let mtu = link.mtu.map_or_else(|| "-".to_owned(), |mtu| mtu.to_string());
        let trip = format!("{} us", link.round_trip_us.unwrap_or_default());
        let speed = format!("{}/s", human_bytes(*speed));
        table.row([short(&link.from), short(&link.to), link.address.clone(), trip, mtu, speed]);
    }
    text += &table.render();
    if measured.len() > ROWS {
        text += &format!("The slowest {ROWS} of {} are shown; --output json has all.\n", measured.len());
    }
    text
}

/// A table of clocks; nothing where there is none to compare.
pub fn render_clocks(clocks: &[ClockRow]) -> String {
    if clocks.len() < 2 {
        return String::new();
    }
    let mut table = Table::new(&["CLOCK OF", "AHEAD OF THIS HOST", "WITHIN"]);
    for clock in clocks {
        let ahead = format!("{:.3} ms", clock.ahead_us as f64 / 1000.0);
        table.row([short(&clock.server), ahead, format!("{:.3} ms", clock.error_us as f64 / 1000.0)]);
    }
    format!("\n{}", table.render())
}

/// A server's name without its number.
fn short(name: &str) -> String {
    name.split(" [").next().unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_tune::links::LinkFigures;

    fn row(number: u64, bytes_per_s: Option<u64>) -> LinkRow {
        let (local, mtu, large) = ("10.0.0.1".to_owned(), 1500, true);
        let found = LinkFigures { local, round_trip_us: 90, mtu, large, bytes_per_s };
        let (from, to) = ("storage s1 [ID: 3]".to_owned(), format!("meta m{number} [ID: 4]"));
        LinkRow::from(Link { from, to, address: "10.0.0.2:8005".into(), found: Ok(found) })
    }

    #[test]
    fn ways_are_counted_and_the_slowest_shown_first() {
        assert_eq!(render_links(&[]), "");
        assert_eq!(render_links(&[row(1, None)]), "\nWays between servers: 1 of 1 are reached.\n");
        let refused = Link { from: "a".into(), to: "b".into(), address: "x:1".into(), found: Err("no".into()) };
        let text = render_links(&[row(1, Some(2 << 30)), row(2, Some(1 << 20)), LinkRow::from(refused)]);
        assert!(text.contains("2 of 3 are reached"), "{text}");
        let (slow, fast) = (text.find("meta m2").unwrap(), text.find("meta m1").unwrap());
        assert!(slow < fast && text.contains("1.0MiB/s") && !text.contains("ID:"), "{text}");
        let many: Vec<LinkRow> = (0..30).map(|number| row(number, Some(number))).collect();
        let text = render_links(&many);
        assert!(text.contains("The slowest 24 of 30") && !text.contains("meta m29"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn clocks_are_shown_where_there_are_two() {
        let clock = |ahead_us| ClockRow::from(HostClock { name: "meta m1 [ID: 3]".into(), ahead_us, error_us: 45 });
        assert_eq!(render_clocks(&[clock(3)]), "");
        let text = render_clocks(&[clock(-1500), clock(20)]);
        assert!(text.contains("-1.500 ms") && text.contains("0.045 ms"), "{text}");
    }
}
