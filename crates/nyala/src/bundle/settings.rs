// SPDX-License-Identifier: Apache-2.0

//! What of a settings file may leave: known keys whose values have the shape that they should have. Everything else, comments too, stays. Pure.

use super::shown_keys::{OF_TARGET, SECRET_FILES, SHOWN, Shape};
use crate::units::{Hosts, Size, Span};
use std::fmt::Write;
use std::net::SocketAddr;
use toml::{Table, Value};

/// What of a settings file may be shown. One that is no TOML says where it is wrong, and nothing else.
pub fn shown(text: &str) -> String {
    match text.parse::<Table>() {
        Ok(table) => {
            let mut out = String::from("# Known keys only; comments are left out.\n");
            write(&mut out, &table, SHOWN);
            out
        }
        Err(error) => {
            let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            format!("# This file is no TOML: something is wrong in line {line} of {}.\n", text.lines().count())
        }
    }
}

/// Files with something secret in them that a settings file names.
pub fn secret_files(text: &str) -> Vec<String> {
    let table = text.parse::<Table>().unwrap_or_default();
    SECRET_FILES.iter().filter_map(|key| Some(table.get(*key)?.as_str()?.to_owned())).collect()
}

fn write(out: &mut String, table: &Table, known: &[(&str, Shape)]) {
    let (mut unknown, mut tables) = (0, String::new());
    for (key, value) in table {
        let line = match known.iter().find(|(name, _)| name == key) {
            None => {
                unknown += 1;
                continue;
            }
            Some((_, Shape::Targets)) => {
                for target in value.as_array().into_iter().flatten().filter_map(Value::as_table) {
                    tables += &format!("[[{key}]]\n");
                    write(&mut tables, target, OF_TARGET);
                }
                continue;
            }
            Some((_, shape)) => match fits(*shape, value) {
                Some(value) => format!("{key} = {value}\n"),
                None => format!("# {key}: not shown, since its value is of another kind\n"),
            },
        };
        *out += &line;
    }
    if unknown > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(out, "# and {unknown} of other keys, not shown");
    }
    *out += &tables;
}

/// The value as it is shown, if it is of the shape.
fn fits(shape: Shape, value: &Value) -> Option<Value> {
    let text = value.as_str();
    let word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let good = match shape {
        Shape::Path => text.is_some_and(|text| text.starts_with('/')),
        Shape::Address => text.is_some_and(|text| text.parse::<SocketAddr>().is_ok()),
        Shape::Hosts => hosts(value),
        Shape::Number => {
            value.is_integer() || text.is_some_and(|text| text.parse::<Size>().is_ok() || text.parse::<Span>().is_ok())
        }
        Shape::Flag => value.is_bool(),
        Shape::Word => text.is_some_and(word),
        Shape::Url => {
            let rest = text?.strip_prefix("http://")?;
            let authority = rest.split('/').next()?;
            let host = authority.rsplit('@').next()?;
            return hosts(&Value::from(host)).then(|| Value::from(format!("http://{host}")));
        }
        Shape::Targets => false,
    };
    good.then(|| value.clone())
}

/// Names or addresses with or without a port.
fn hosts(value: &Value) -> bool {
    let host = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:[]".contains(c));
    let several = |text: &str| text.parse::<Hosts>().is_ok() && text.split(',').all(|text| host(text.trim()));
    match value {
        Value::String(text) => several(text),
        Value::Array(all) => all.iter().all(|one| one.as_str().is_some_and(several)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::shown_keys::WITHHELD;
    use crate::config::{ClientSettings, MetaSettings, MgmtdSettings, MonSettings, StorageSettings};
    use std::collections::BTreeSet;

    fn keys<S: clap::Args>() -> Vec<String> {
        let command = S::augment_args(clap::Command::new("x"));
        command.get_arguments().map(|arg| arg.get_id().as_str().replace('_', "-")).collect()
    }

    #[test]
    fn every_key_is_shown_or_withheld_on_purpose() {
        let all = [
            keys::<MgmtdSettings>(),
            keys::<MetaSettings>(),
            keys::<StorageSettings>(),
            keys::<ClientSettings>(),
            keys::<MonSettings>(),
        ];
        let all: BTreeSet<String> = all.concat().into_iter().collect();
        let decided = SHOWN.iter().map(|(key, _)| *key).chain(WITHHELD);
        let decided: BTreeSet<String> = decided.map(str::to_owned).collect();
        assert_eq!(all, decided);
    }

    #[test]
    fn a_secret_in_any_place_of_a_settings_file_stays() {
        let text = r#"
            # hunter2 in a comment
            dir = "/var/lib/nyala/hunter" # hunter2
            listen = "hunter2"
            mgmt = ["node01:8008", "user:hunter2@node02"]
            join = "hunter2!x"
            encrypt = "hunter2"
            sync-interval = "hunter2"
            secret = "hunter2"
            alias = "hunter2 hunter2"
            influx-url = "http://u:hunter2@db:8086/x?password=hunter2"
            influx-user = "hunter2"
            password = "hunter2"
            hunter2 = 1
            [hunter2-table]
            key = "hunter2"
            [[targets]]
            dir = "/data/t1"
            limit = "4t"
            password = "hunter2"
            id = "hunter2"
        "#;
        let shown = shown(text);
        assert!(!shown.contains("hunter2"), "{shown}");
        for line in
            ["dir = \"/var/lib/nyala/hunter\"", "influx-url = \"http://db:8086\"", "[[targets]]\n", "limit = \"4t\""]
        {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        assert!(shown.contains("and 4 of other keys"), "{shown}");
        let broken = super::shown("dir = \"/d\"\npassword = hunter2\n");
        assert!(broken.contains("line 2 of 2") && !broken.contains("hunter2"), "{broken}");
    }

    #[test]
    fn settings_as_they_are_written_are_shown_in_full() {
        let text = "dir = \"/d\"\nlisten = \"0.0.0.0:1\"\nmgmt = [\"node01\", \"[::1]:8018\"]\nsync-interval = \"500ms\"\nmemory-limit = \"1g\"\n";
        let shown = shown(text);
        assert!(!shown.contains("not shown"), "{shown}");
        assert_eq!(shown.parse::<Table>().unwrap(), text.parse::<Table>().unwrap());
        let of = "secret = \"/s\"\ninflux-token-file = \"/t\"\n";
        assert_eq!(secret_files(of), ["/s", "/t"]);
    }
}
