// SPDX-License-Identifier: Apache-2.0

//! Rows of those who ask: clients by address, and users.

use super::cell::Cell;
use super::change::{Change, label_of};
use nyala_mon::logic::series::{Field, Key};

/// What services count of addresses.
pub fn clients(change: &Change<'_>) -> Vec<Vec<Cell>> {
    let counted = ["nyala_meta_client_requests", "nyala_storage_client_requests"];
    let row = |client: &String| {
        let sum = |metric: &str| change.sum(metric, Field::Value, |key| label_of(key, "client") == Some(client));
        vec![
            Cell::Text(client.clone()),
            Cell::Number(counted.iter().map(|metric| sum(metric)).sum()),
            Cell::Bytes(sum("nyala_storage_client_read_bytes")),
            Cell::Bytes(sum("nyala_storage_client_written_bytes")),
        ]
    };
    change.labels(&counted, "client").iter().map(row).collect()
}

/// What metadata services count of a user, and what mounts do that say so.
pub fn users(change: &Change<'_>) -> Vec<Vec<Cell>> {
    let (asked, changed, mounted) = ("nyala_meta_user_requests", "nyala_meta_user_changes", "nyala_fuse_user_requests");
    let row = |user: &String| {
        let own = |key: &Key| label_of(key, "uid") == Some(user);
        let sum = |metric| Cell::Number(change.sum(metric, Field::Value, own));
        let mounts = change.of(mounted, Field::Value).filter(|(key, rate)| own(key) && *rate > 0.0).count();
        vec![Cell::Text(user.clone()), sum(asked), sum(changed), sum(mounted), Cell::Number(mounts as f64)]
    };
    change.labels(&[asked, mounted], "uid").iter().map(row).collect()
}
