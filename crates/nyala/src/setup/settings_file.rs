// SPDX-License-Identifier: Apache-2.0

//! A settings file as it will be, checked as its service would check it.

use super::args::CommonSetup;
use super::document;
use super::step::Step;
use super::values::{Keys, path};
use crate::config::{Settings, StorageSettings, TargetArg, load};
use crate::exit::{Failure, io};
use std::path::Path;
use toml::Value;

/// A settings file as it will be.
pub struct SettingsFile<S> {
    /// What it says.
    pub settings: S,
    /// Its text.
    pub text: String,
    /// None where it says all of that already.
    pub step: Option<Step>,
    /// What the one before says, if there was one.
    pub old: Option<S>,
    /// Targets that it did not have.
    pub new: Vec<TargetArg>,
}

/// A settings file with these keys, checked as its service would.
pub fn settings_file<S>(
    config: &Path,
    mut keys: Keys,
    common: &CommonSetup,
    targets: &[TargetArg],
) -> Result<SettingsFile<S>, Failure>
where
    S: Settings + clap::Args,
{
    if let Some(file) = &common.secret {
        keys.push(path("secret", file)?);
    }
    keys.extend(common.encrypt.then(|| ("encrypt".to_owned(), Value::Boolean(true))));
    keys.extend(common.set.iter().cloned());
    let shown = config.display();
    let old = match std::fs::read_to_string(config) {
        Ok(old) => {
            // What is wrong is said with its line, as everywhere.
            Some((load::<S>(config)?, old))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(io(&shown)(error)),
    };
    let (old, old_text) = old.unzip();
    let new = new_targets(old_text.as_deref(), targets)?;
    let refused = |why: String| Failure::config(format!("configuration file {shown}: {why}"));
    let text = document::settled::<S>(old_text.as_deref(), &keys, &new).map_err(refused)?;
    let settings: S = toml::from_str(&text).map_err(|error| Failure::usage(error.message().to_owned()))?;
    let mut lines: Vec<String> = keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    lines.extend(new.iter().map(|target| format!("[[targets]] dir = \"{}\"", target.dir.display())));
    let step = Step::Write {
        path: config.to_owned(),
        text: text.clone(),
        mode: 0o644,
        shown: lines,
        replaces: old_text.is_some(),
    };
    let step = (old_text.as_deref() != Some(&text)).then_some(step);
    Ok(SettingsFile { settings, step, text, old, new })
}

/// Targets that the file does not have. One with other words than in the file is refused: it is the administrator's to say which.
fn new_targets(old: Option<&str>, targets: &[TargetArg]) -> Result<Vec<TargetArg>, Failure> {
    let old: StorageSettings = old.and_then(|old| toml::from_str(old).ok()).unwrap_or_default();
    let there = old.targets.unwrap_or_default();
    let mut new: Vec<TargetArg> = Vec::new();
    for target in targets {
        match there.iter().chain(&new).find(|known| known.dir == target.dir) {
            None => new.push(target.clone()),
            Some(known)
                if known == target
                    || *target == (TargetArg { id: None, alias: None, limit: None, ..known.clone() }) => {}
            Some(_) => {
                let dir = target.dir.display();
                return Err(Failure::usage(format!(
                    "the target {dir} is there already, with other words; edit the file"
                )));
            }
        }
    }
    Ok(new)
}
