// SPDX-License-Identifier: Apache-2.0

//! The text of a settings file: every key with its explanation, those that were chosen set, the others as comments. Pure.
//!
//! The explanations are those of the flags, so that file, flags and variables say the same. A file that exists keeps its
//! comments and order: only keys that are named change.

use crate::config::{Settings, TargetArg};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

/// Widest line of a comment.
const WIDTH: usize = 100;
/// The settings that are lists of tables.
const TARGETS: &str = "targets";
const EXPORTS: &str = "drive-exports";

/// A settings file that says nothing: all keys are comments.
pub fn template<S: Settings + clap::Args>() -> String {
    let role = S::ROLE;
    let mut text = comment(&format!(
        "Settings of `nyala {}`. `nyala config check FILE` checks them. A flag (--KEY) and a variable win over what is here; a key \
         that is a comment has its default.",
        if role == "client" { "mount` and of commands, for this `client" } else { role }
    ));
    let command = S::augment_args(clap::Command::new(role));
    for argument in command.get_arguments() {
        let key = argument.get_id().as_str().replace('_', "-");
        if key == TARGETS || key == EXPORTS {
            continue;
        }
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let name = argument.get_value_names().and_then(<[_]>::first).map_or("…", |name| name.as_str());
        text += &format!("\n{}# {key} = {}\n", comment(&help), literal(default_of(&help).unwrap_or(name)));
    }
    if command.get_arguments().any(|argument| argument.get_id() == TARGETS) {
        let said = "Storage targets: a [[targets]] table for each, with its directory, and if wished id, alias and limit (most bytes).";
        text += &format!("\n{}", comment(said));
        let said = "Drives that targets of other hosts may lie on: a [[drive-exports]] table for each, with its name and directory.";
        text += &format!("\n{}", comment(said));
    }
    text
}

/// What an explanation names as default, if that is a value.
fn default_of(help: &str) -> Option<&str> {
    let default = help.rsplit_once("[default: ")?.1.strip_suffix(']')?;
    (!default.contains([' ', ','])).then_some(default)
}

/// A value as TOML has it.
fn literal(value: &str) -> String {
    let bare = value.parse::<bool>().is_ok() || value.parse::<u32>().is_ok();
    if bare { value.to_owned() } else { Value::from(value).to_string() }
}

/// Lines of a comment.
fn comment(text: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut().filter(|line| line.len() + 1 + word.len() <= WIDTH) {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!("# {word}"));
        }
    }
    lines.join("\n") + "\n"
}

/// The file with these keys set and these targets added; `old` is the file as it is, if there is one.
pub fn settled<S: Settings + clap::Args>(
    old: Option<&str>,
    keys: &[(String, toml::Value)],
    targets: &[TargetArg],
) -> Result<String, String> {
    let mut text = old.map_or_else(template::<S>, str::to_owned);
    let before: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    for (key, value) in keys.iter().filter(|(key, _)| !before.contains_key(key)) {
        text = uncommented(&text, key, value);
    }
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    for (key, value) in keys {
        let value: Value = value.to_string().parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        match document.get_mut(key).and_then(Item::as_value_mut) {
            // What stands around the value, such as a comment behind it, stays.
            Some(old) => {
                let decor = old.decor().clone();
                *old = value;
                *old.decor_mut() = decor;
            }
            None => document[key.as_str()] = Item::Value(value),
        }
    }
    for target in targets {
        add_target(&mut document, target)?;
    }
    Ok(document.to_string())
}

/// The text with the comment that shows a key replaced by the key.
fn uncommented(text: &str, key: &str, value: &toml::Value) -> String {
    let shown = format!("# {key} =");
    let mut searching = true;
    let line = |line: &str| {
        searching &= !line.starts_with('[');
        if searching && line.starts_with(&shown) {
            searching = false;
            return format!("{key} = {value}\n");
        }
        format!("{line}\n")
    };
    text.lines().map(line).collect()
}

/// Adds a target, unless the same one is there.
fn add_target(document: &mut DocumentMut, target: &TargetArg) -> Result<(), String> {
    let dir = target.dir.to_str().ok_or_else(|| format!("{} is not a name in UTF-8", target.dir.display()))?;
    let mut fields = vec![("dir", Value::from(dir))];
    fields.extend(target.id.map(|id| ("id", Value::from(i64::from(id.0)))));
    fields.extend(target.alias.as_ref().map(|alias| ("alias", Value::from(alias))));
    fields.extend(target.limit.map(|limit| ("limit", Value::from(limit.to_string()))));
    let there = document.entry(TARGETS).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    match there {
        Item::ArrayOfTables(tables) => {
            let mut table = Table::new();
            table.extend(fields);
            tables.push(table);
        }
        Item::Value(Value::Array(array)) => Array::push(array, fields.into_iter().collect::<InlineTable>()),
        _ => return Err("the key targets is not a list of tables".into()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClientSettings, MetaSettings, MgmtdSettings, MonSettings, StorageSettings};

    fn keys(pairs: &[(&str, &str)]) -> Vec<(String, toml::Value)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), toml::Value::String((*value).to_owned()))).collect()
    }

    /// Every key that shows its default means that when it is uncommented.
    fn defaults_hold<S: Settings + clap::Args + PartialEq + std::fmt::Debug>(least: usize) {
        let text = template::<S>();
        assert_eq!(toml::from_str::<S>(&text).unwrap(), S::default());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let mut shown = 0;
        for argument in S::augment_args(clap::Command::new("x")).get_arguments() {
            let help = argument.get_help().unwrap().to_string();
            let key = argument.get_id().as_str().replace('_', "-");
            let Some(default) = default_of(&help) else { continue };
            let line = format!("{key} = {}\n", literal(default));
            assert!(text.contains(&format!("\n# {line}")), "{line} is not in {text}");
            let read = toml::from_str::<S>(&line);
            assert!(read.as_ref().is_ok_and(|read| *read != S::default()), "{line}: {read:?}");
            shown += 1;
        }
        assert!(shown >= least, "{shown} defaults in {text}");
    }

    #[test]
    fn the_template_explains_every_key() {
        defaults_hold::<MgmtdSettings>(12);
        defaults_hold::<MetaSettings>(5);
        defaults_hold::<StorageSettings>(6);
        defaults_hold::<ClientSettings>(7);
        defaults_hold::<MonSettings>(9);
    }

    #[test]
    fn keys_are_set_where_they_are_explained() {
        let text = settled::<MetaSettings>(None, &keys(&[("dir", "/data/meta"), ("mgmt", "n1")]), &[]).unwrap();
        assert!(text.contains("/var/lib/nyala/meta]\ndir = \"/data/meta\"\n"), "{text}");
        let settings: MetaSettings = toml::from_str(&text).unwrap();
        assert_eq!((settings.dir, settings.mgmt), (Some("/data/meta".into()), Some("n1".parse().unwrap())));
        assert_eq!(settings.alias, None);
    }

    #[test]
    fn what_an_administrator_wrote_stays() {
        let old = "# mine\nalias = \"m\" # keep\ndir = \"/old\" # why\n";
        let text = settled::<MetaSettings>(Some(old), &keys(&[("dir", "/new"), ("mgmt", "h")]), &[]).unwrap();
        assert_eq!(text, "# mine\nalias = \"m\" # keep\ndir = \"/new\" # why\nmgmt = \"h\"\n");
        assert_eq!(settled::<MetaSettings>(Some(&text), &keys(&[("mgmt", "h")]), &[]).unwrap(), text);
        assert!(settled::<MetaSettings>(Some("dir = "), &[], &[]).is_err());
    }

    #[test]
    fn targets_are_added_to_either_form() {
        let first: TargetArg = "/t1,id=101,limit=4g".parse().unwrap();
        let second: TargetArg = "/t2,alias=two".parse().unwrap();
        let one = settled::<StorageSettings>(None, &keys(&[("mgmt", "h")]), std::slice::from_ref(&first)).unwrap();
        let two = settled::<StorageSettings>(Some(&one), &[], std::slice::from_ref(&second)).unwrap();
        let read: StorageSettings = toml::from_str(&two).unwrap();
        assert_eq!(read.targets, Some(vec![first.clone(), second.clone()]), "{two}");
        let inline = settled::<StorageSettings>(Some("targets = [{ dir = \"/t1\" }]\n"), &[], &[second]).unwrap();
        assert_eq!(toml::from_str::<StorageSettings>(&inline).unwrap().targets.map(|all| all.len()), Some(2));
        assert!(settled::<StorageSettings>(Some("targets = 3\n"), &[], &[first]).is_err());
    }
}
