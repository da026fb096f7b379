// SPDX-License-Identifier: Apache-2.0

//! Values of flags: settings and names of instances. Pure.

use crate::exit::Failure;
use crate::units::Hosts;
use std::path::Path;

/// Keys of the settings file that flags name.
pub type Keys = Vec<(String, toml::Value)>;

/// A key with a text.
pub fn text(key: &str, value: impl ToString) -> (String, toml::Value) {
    (key.to_owned(), toml::Value::String(value.to_string()))
}

/// A key with a list of hosts.
pub fn list(key: &str, hosts: &Hosts) -> (String, toml::Value) {
    (key.to_owned(), toml::Value::Array(hosts.0.iter().map(|host| toml::Value::String(host.to_string())).collect()))
}

/// A key with a path, which TOML has to be able to write.
pub fn path(key: &str, path: &Path) -> Result<(String, toml::Value), Failure> {
    let utf8 = path.to_str().ok_or_else(|| Failure::usage(format!("{} is not a name in UTF-8", path.display())))?;
    Ok(text(key, utf8))
}

/// `KEY=VALUE`; a value that is no TOML value is a text.
pub fn read_setting(text: &str) -> Result<(String, toml::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, as in sync-interval=500ms")?;
    let as_toml = toml::from_str::<toml::Table>(&format!("value = {value}\n"));
    let value = as_toml.ok().and_then(|mut table| table.remove("value"));
    Ok((key.trim().to_owned(), value.unwrap_or_else(|| toml::Value::String(text[key.len() + 1..].to_owned()))))
}

/// A name that can be part of a directory's and a unit's name.
pub fn read_instance(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.is_empty() || text.len() > 32 || !text.chars().all(fits) {
        return Err("an instance is named with up to 32 letters, digits and underscores, as in inst1".into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_toml_values_or_texts() {
        let value = |text: &str| read_setting(text).unwrap().1;
        assert_eq!(value("cores=4"), toml::Value::Integer(4));
        assert_eq!(value("spare=true"), toml::Value::Boolean(true));
        assert_eq!(value("sync-interval=500ms"), toml::Value::String("500ms".into()));
        assert_eq!(value("mgmt=[\"a\", \"b\"]").as_array().map(Vec::len), Some(2));
        assert!(read_setting("cores").unwrap_err().contains("KEY=VALUE"));
    }

    #[test]
    fn instances_have_names_of_units() {
        assert_eq!(read_instance("inst1").as_deref(), Ok("inst1"));
        for bad in ["", "a/b", "..", "a b", "a-b", &"x".repeat(33)] {
            assert!(read_instance(bad).is_err(), "{bad}");
        }
    }
}
