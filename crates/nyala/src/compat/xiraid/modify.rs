// SPDX-License-Identifier: Apache-2.0

//! `xicli raid modify`: what a set may be told while it is in use. Most of what the old command changed asks for nothing here.

use super::named;
use super::options::Options;
use super::pool;
use super::pools::{self, Pools};
use crate::compat::notice::notice;
use crate::exit::{Exit, Failure, Outcome};
use crate::role::block_on;
use nyala_wire::raid::RaidOrder;

/// Options that ask for nothing here, and why.
pub(super) const WITHOUT_MEANING: [(&str, &str); 12] = [
    ("merge_enabled", "clients join writes before they send them"),
    ("merge_write_enabled", "clients join writes before they send them"),
    ("merge_read_enabled", "clients read ahead in large pieces"),
    ("adaptive_merge", "clients join writes before they send them"),
    ("merge_wait", "no write waits for others"),
    ("merge_max", "no write waits for others"),
    ("sched_enabled", "each drive has a thread of its own"),
    ("init_prio", "a set needs no initialization"),
    ("restripe_prio", "a set is not restriped"),
    ("memory_limit", "a set has no cache of its own"),
    ("request_limit", "each drive does one request after the other"),
    ("cpu_allowed", "threads run on any core"),
];

/// Changes what can be changed. The cluster is asked only if there is something.
pub fn run(line: &Options) -> Outcome {
    let name = line.need("name")?;
    if let Some(fixed) =
        ["level", "strip_size", "block_size", "drives", "group_size", "synd_cnt"].iter().find(|name| line.has(name))
    {
        return Err(Failure::usage(format!(
            "--{fixed}: the shape of a set never changes; make another set, and move the data there (nyala entry migrate)"
        )));
    }
    let mut known = vec!["name", "recon_prio", "sparepool", "force_online"];
    known.extend(WITHOUT_MEANING.iter().map(|(name, _)| *name));
    line.only(&known)?;
    let rate = line.number("recon_prio")?.map(rate).transpose()?;
    let pool = line.value("sparepool")?.map(|pool| (pool != "null").then_some(pool));
    say_what_means_nothing(line);
    if let Some(order) = rate {
        block_on(async { named::order(name, order).await })?;
    }
    pool.map_or(Ok(Exit::Ok), |pool| give_pool(name, pool))
}

/// Gives a set the spares of a pool, in the place of those of the pool that it had.
fn give_pool(name: &str, pool: Option<&str>) -> Outcome {
    let mut pools = Pools::load(&pools::file())?;
    let removed = pools.give(name, pool)?;
    let added = pool.map_or(Ok(vec![]), |pool| pools.named(pool).map(|pool| pool.drives.clone()))?;
    pools.save(&pools::file())?;
    pool::tell(&[name.to_owned()], &added, &removed)
}

/// A notice for each option that asks for nothing.
pub(super) fn say_what_means_nothing(line: &Options) {
    let reason = |name: &str| WITHOUT_MEANING.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
    line.names()
        .filter_map(|name| Some((name, reason(name)?)))
        .for_each(|(name, why)| notice(&format!("--{name}: {why}")));
}

/// The rate stays with the set.
fn lasting_rate(bytes_per_s: u64) -> RaidOrder {
    let (errors, within_ms) = (None, None);
    RaidOrder::Modify { bytes_per_s: Some(bytes_per_s), errors, within_ms, add_spares: vec![], remove_spares: vec![] }
}

/// A priority is all, or what clients leave.
fn rate(percent: u64) -> Result<RaidOrder, Failure> {
    match percent {
        100 => Ok(lasting_rate(0)),
        0..100 => {
            notice(
                "--recon_prio: below 100, a rebuild takes what clients leave; bytes a second are set with nyala raid modify --rate",
            );
            Ok(lasting_rate(u64::MAX))
        }
        more => Err(Failure::usage(format!("Invalid value of --recon_prio: {more}; it has to be from 0 to 100"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::read;
    use super::*;

    #[test]
    fn what_the_papers_set_asks_for_nothing_and_needs_no_cluster() {
        assert_eq!(run(&read("-n era1 -me 1 -mw 9000 -mm 9000 -se 1")), Ok(Exit::Ok));
        let said = |line: &str| run(&read(line)).unwrap_err().message;
        assert!(said("-me 1").contains("--name"));
        assert!(said("-n era1 -l 6").contains("never changes"));
        assert!(said("-n era1 -sp no-such-pool").contains("no spare pool"));
        assert!(said("-n era1 -sp").contains("--sparepool"));
        assert!(said("-n era1 --colour blue").contains("--colour"));
        assert!(said("-n era1 -rp 101").contains("from 0 to 100"));
    }

    #[test]
    fn priorities_are_rates() {
        assert_eq!(rate(100), Ok(lasting_rate(0)));
        assert_eq!(rate(50), Ok(lasting_rate(u64::MAX)));
    }
}
