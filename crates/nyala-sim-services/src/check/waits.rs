// SPDX-License-Identifier: Apache-2.0

//! Nobody waits for ever once all is well: each operation that a client has begun ends. Pure. Times are nanoseconds of the simulation.

use std::collections::BTreeMap;

/// The longest time that an operation takes once all is well: a client may stand still for two minutes of it, and then has to
/// learn that its sessions have ended.
pub const LONGEST: u64 = 250_000_000_000;

/// What clients are at.
#[derive(Default)]
pub struct Waits {
    at: BTreeMap<u32, (&'static str, u64)>,
    well_since: Option<u64>,
}

impl Waits {
    pub fn begin(&mut self, client: u32, what: &'static str, now: u64) {
        self.at.insert(client, (what, now));
    }

    /// It is done, or the client is gone.
    pub fn end(&mut self, client: u32) {
        self.at.remove(&client);
    }

    /// From now on nothing fails.
    pub fn all_is_well(&mut self, now: u64) {
        self.well_since = Some(now);
    }

    /// Who waits for longer than anybody should.
    pub fn judge(&self, now: u64) -> Option<String> {
        let well = self.well_since?;
        let late = self.at.iter().find(|(_, (_, since))| now.saturating_sub(well.max(*since)) > LONGEST);
        late.map(|(client, (what, since))| {
            format!("client {client} waits for {what} since {} s", since / 1_000_000_000)
        })
    }

    /// What clients are at, for people.
    pub fn describe(&self) -> String {
        let one = |(client, (what, since)): (&u32, &(&str, u64))| {
            format!("client {client} is at {what} since {} s", since / 1_000_000_000)
        };
        self.at.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_counts_from_when_all_is_well() {
        let mut waits = Waits::default();
        waits.begin(1, "sync", 5);
        assert_eq!(waits.judge(2 * LONGEST), None, "something fails");
        waits.all_is_well(LONGEST);
        assert_eq!(waits.judge(2 * LONGEST), None);
        assert!(waits.judge(2 * LONGEST + 1).is_some_and(|what| what.contains("sync")));
        waits.end(1);
        waits.begin(2, "read", 2 * LONGEST);
        assert_eq!(waits.judge(2 * LONGEST + 1), None);
    }
}
