// SPDX-License-Identifier: Apache-2.0

//! `docs/settings.md`, made from the types of the settings, and the tables of `docs/operating.md` held to them.

use super::{ClientSettings, MetaSettings, MgmtdSettings, MonSettings, Settings, StorageSettings};
use std::collections::BTreeMap;
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
const OPERATING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
const BEGIN: &str = "<!-- From the types of the settings: UPDATE_DOCS=1 cargo test -p nyala reference -->\n";
const END: &str = "<!-- Until here. -->\n";

/// What a key's explanation says.
struct Key {
    name: String,
    default: String,
    meaning: String,
    variable: String,
}

fn keys<S: Settings + clap::Args>() -> Vec<Key> {
    let command = S::augment_args(clap::Command::new(S::ROLE));
    let each = command.get_arguments().map(|argument| {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let (meaning, default) = match help.rsplit_once(" [default: ") {
            Some((meaning, default)) => (meaning.to_owned(), default.trim_end_matches(']').to_owned()),
            None => (help, String::new()),
        };
        let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
        let name = argument.get_id().as_str().replace('_', "-");
        Key { name, default, meaning, variable: variable.unwrap_or_default() }
    });
    each.collect()
}

fn table<S: Settings + clap::Args>(what: &str) -> String {
    let mut text =
        format!("## {}.toml\n\n{what}\n\n| Key | Default | Meaning | Variable |\n|---|---|---|---|\n", S::ROLE);
    for key in keys::<S>() {
        let shown = |value: &str| if value.is_empty() { "-".to_owned() } else { format!("`{value}`") };
        // A default in words is no value.
        let default = if key.default.contains(' ') { key.default.clone() } else { shown(&key.default) };
        writeln!(text, "| `{}` | {default} | {} | {} |", key.name, key.meaning, shown(&key.variable)).unwrap();
    }
    text + "\n"
}

fn rendered() -> String {
    [
        table::<MgmtdSettings>("Of a management service (`nyala mgmtd`)."),
        table::<MetaSettings>("Of a metadata service (`nyala meta`)."),
        table::<StorageSettings>(
            "Of a storage service (`nyala storage`). `targets` and `drive-exports` are lists of tables: `[[targets]]` has `dir`, or `drives` with \
             `level`, `strip`, `groups`, `parity`, `spares` and `spare-after` ([drive sets](drives.md)), and if wished `id`, `alias` and `limit`; `[[drive-exports]]` \
             has `name` and `dir` ([across servers](drives.md#across-servers)).",
        ),
        table::<ClientSettings>(
            "Of mounts and commands on this host. A mount takes each key as `-o KEY=VALUE` too ([mounts](cli.md#mounts)).",
        ),
        table::<MonSettings>("Of the monitoring service (`nyala mon`); [monitoring](monitoring.md#settings) says more."),
    ]
    .concat()
}

#[test]
fn the_page_has_every_key() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("docs/settings.md has the line where the generated part begins");
    let (there, after) = rest.split_once(END).expect("docs/settings.md has the line where the generated part ends");
    let fresh = format!("\n{}", rendered());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, format!("{before}{BEGIN}{fresh}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(there, fresh, "docs/settings.md is behind: UPDATE_DOCS=1 cargo test -p nyala reference");
    assert!(fresh.contains("| `sync-interval` | `1s` |") && fresh.contains("`NYALA_META_SYNC_INTERVAL`"), "{fresh}");
}

/// Words between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_operating_page_names_keys_that_there_are_and_their_defaults() {
    let roles: BTreeMap<&str, Vec<Key>> = [
        ("mgmtd", keys::<MgmtdSettings>()),
        ("meta", keys::<MetaSettings>()),
        ("storage", keys::<StorageSettings>()),
        ("client", keys::<ClientSettings>()),
    ]
    .into();
    let page = std::fs::read_to_string(OPERATING).unwrap();
    let part =
        page.split("\n## Settings\n").nth(1).and_then(|part| part.split("\n## ").next()).expect("it has settings");
    let (mut role, mut compared) = ("", 0);
    for line in part.lines() {
        if let Some(name) = line.strip_prefix("**").and_then(|rest| rest.split("**").next()) {
            role = name;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(known), true) = (roles.get(role), cells.len() > 3) else { continue };
        let (names, defaults) = (quoted(cells[1]), quoted(cells[2]));
        for (at, name) in names.iter().enumerate() {
            let key = known.iter().find(|key| key.name == *name);
            let key = key.unwrap_or_else(|| panic!("{role} has no key {name}: {line}"));
            // As many defaults as keys, and all of them values.
            if defaults.len() == names.len() && !key.default.is_empty() && !key.default.contains(' ') {
                assert_eq!(defaults[at], key.default, "{role}, {name}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 15, "{compared} defaults were compared");
}
