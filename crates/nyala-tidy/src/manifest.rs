// SPDX-License-Identifier: Apache-2.0

//! What a crate's manifest names.

use std::collections::BTreeSet;

/// Names in these tables, also those under `[target.….dependencies]`; what `package = "…"` says counts.
pub fn dependencies(manifest: &toml::Table, tables: &[&str]) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let places = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table).chain([manifest]);
    let entries = places.flat_map(|place| tables.iter().filter_map(|table| place.get(*table)?.as_table()));
    let name = |(key, value): (&String, &toml::Value)| {
        value.get("package").and_then(toml::Value::as_str).unwrap_or(key).to_owned()
    };
    entries.flatten().map(name).collect()
}
