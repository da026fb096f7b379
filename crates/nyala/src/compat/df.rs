// SPDX-License-Identifier: Apache-2.0

//! `beegfs-df`: space and inodes of metadata and storage targets.

use super::table::right_aligned;
use super::{cluster, command_line::CommandLine};
use crate::command::health_df::{TargetSpace, collect};
use crate::exit::Outcome;
use crate::output::print;
use crate::role::block_on;
use crate::units::{human_bytes, human_count};
use nyala_wire::map::TargetKind;

const HEADS: [(&str, usize); 8] = [
    ("TargetID", 0),
    ("Cap. Pool", 11),
    ("Total", 12),
    ("Free", 12),
    ("%", 4),
    ("ITotal", 11),
    ("IFree", 11),
    ("%", 4),
];

/// Prints both tables.
pub fn run(line: &CommandLine) -> Outcome {
    line.only(&[], "")?;
    let (spaces, map) = block_on(async {
        let cluster = cluster::find(line)?;
        Ok((collect(&cluster).await?, cluster.map().await?))
    })?;
    // A metadata server has its node's number here, as everywhere.
    let number = |space: &TargetSpace| map.target(space.id).map_or_else(|| space.id.to_string(), cluster::number);
    let section = |title: &str, kind| format!("{title}\n{}", right_aligned(&HEADS, &rows(&spaces, kind, &number)));
    let meta = section("METADATA SERVERS:", TargetKind::Meta);
    print(&format!("{meta}\n{}", section("STORAGE TARGETS:", TargetKind::Storage)))
}

fn rows(spaces: &[TargetSpace], kind: TargetKind, numbers: &dyn Fn(&TargetSpace) -> String) -> Vec<Vec<String>> {
    let row = |space: &TargetSpace| {
        let mut row = vec![numbers(space), crate::command::json_name::json_name(&space.capacity_pool)];
        match space.capacity {
            Some(c) => row.extend([
                human_bytes(c.total_bytes),
                human_bytes(c.free_bytes),
                percent(c.free_bytes, c.total_bytes),
                human_count(c.total_inodes),
                human_count(c.free_inodes),
                percent(c.free_inodes, c.total_inodes),
            ]),
            None => row.extend(std::iter::repeat_n("-".to_owned(), 6)),
        }
        row
    };
    spaces.iter().filter(|space| space.kind == kind).map(row).collect()
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{}%", u128::from(part) * 100 / u128::from(whole)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::TargetId;
    use nyala_wire::map::CapacityPool;
    use nyala_wire::mgmt::Capacity;

    #[test]
    fn a_row_as_it_is_printed() {
        let capacity = Capacity {
            total_bytes: 11_519_526_830_080,
            free_bytes: 11_450_000_000_000,
            total_inodes: 1_125_200_000,
            free_inodes: 1_125_100_000,
        };
        let space = TargetSpace {
            id: TargetId(1),
            kind: TargetKind::Meta,
            alias: "m".into(),
            node: "n".into(),
            capacity_pool: CapacityPool::Normal,
            capacity: Some(capacity),
        };
        let row = &rows(std::slice::from_ref(&space), TargetKind::Meta, &|_| "11".to_owned())[0];
        assert_eq!(row[..2], ["11", "normal"]);
        assert!(row[2].ends_with("TiB") && row[4] == "99%" && row[7] == "99%", "{row:?}");
        assert!(rows(&[space], TargetKind::Storage, &|_| String::new()).is_empty());
        assert_eq!(percent(1, 0), "-");
    }
}
