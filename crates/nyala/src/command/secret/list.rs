// SPDX-License-Identifier: Apache-2.0

//! `nyala secret list`.

use super::keys::{FileArgs, read};
use crate::exit::Outcome;
use crate::output::{Output, Table, show};
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{Role, Secret};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// Flags of `nyala secret list`.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub file: FileArgs,
}

/// A key as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    id: String,
    roles: String,
    rules: String,
    /// When it was made, seconds since 1970; 0 where nobody knows.
    made: u64,
    /// For which roles a host with this file shows it when it connects.
    shown_for: String,
}

/// Now, in seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The keys as rows, the newest last.
pub(super) fn rows(file: &KeyFile) -> Vec<Row> {
    let secret = Secret::from_keys(file);
    let roles = [("client", Role::Client), ("server", Role::Meta), ("admin", Role::Cli)];
    let shown = roles.map(|(name, role)| (name, secret.offered(role).ok().map(|grant| grant.key)));
    let row = |key: &KeyEntry| {
        let shown = shown.iter().filter(|(_, id)| id.as_ref() == Some(&key.grant.key)).map(|(name, _)| *name);
        Row {
            id: key.grant.key.to_string(),
            roles: key.grant.roles.to_string(),
            rules: key.grant.rules.to_string(),
            made: key.made,
            shown_for: shown.collect::<Vec<_>>().join(","),
        }
    };
    file.keys.iter().map(row).collect()
}

/// Rows as a table, with ages.
pub(super) fn table(rows: &[Row], now: u64) -> String {
    let mut table = Table::new(&["KEY", "ROLES", "RULES", "AGE", "SHOWN_FOR"]);
    let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    for row in rows {
        let age = if row.made == 0 { "-".to_owned() } else { age(now.saturating_sub(row.made)) };
        table.row([row.id.clone(), row.roles.clone(), dash(&row.rules), age, dash(&row.shown_for)]);
    }
    table.render()
}

fn age(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7199 => format!("{}min", seconds / 60),
        7200..=172_799 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Lists the keys.
pub fn run(args: &ListArgs, output: Output) -> Outcome {
    let (keys, _) = read(&args.file.file)?;
    show(output, &rows(&keys), |rows| table(rows, now()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_transport::{Grant, KeyRules};

    #[test]
    fn the_list_says_which_key_is_shown_for_what_and_nothing_secret() {
        let key = |id: &str, roles: &str, read_only, made| KeyEntry {
            grant: Grant { key: id.into(), roles: roles.parse().unwrap(), rules: KeyRules { read_only } },
            made,
            secret: vec![0x5e; 32],
        };
        let file = KeyFile { keys: vec![key("plain", "all", false, 0), key("web", "client", true, 1000)] };
        let shown = table(&rows(&file), 1000 + 3 * 86_400);
        let want = "KEY    ROLES                RULES      AGE  SHOWN_FOR\n\
                    =====  ===================  =========  ===  ===================\n\
                    plain  client,server,admin  -            -  client,server,admin\n\
                    web    client               read-only   3d  -\n";
        assert_eq!(shown, want);
        assert!(!serde_json::to_string(&rows(&file)).unwrap().contains("5e5e"));
        assert_eq!([5, 300, 7200, 200_000].map(age), ["5s", "5min", "2h", "2d"]);
    }
}
