// SPDX-License-Identifier: Apache-2.0

//! Other services of this host: what their settings files take, nobody else may have.

use crate::config::{CONFIG_DIR, ConfigRole, META_PORT, MGMT_PORT, MON_PORT, STORAGE_PORT};
use crate::exit::Failure;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where services of a role listen unless something else is said; clients do not.
pub fn default_port(role: ConfigRole) -> Option<u16> {
    match role {
        ConfigRole::Mgmtd => Some(MGMT_PORT),
        ConfigRole::Meta => Some(META_PORT),
        ConfigRole::Storage => Some(STORAGE_PORT),
        ConfigRole::Mon => Some(MON_PORT),
        ConfigRole::Client => None,
    }
}

/// What a service takes for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Its settings file.
    pub file: PathBuf,
    /// What it is.
    pub role: ConfigRole,
    /// Where it listens.
    pub listen: Option<SocketAddr>,
    /// Its directories.
    pub dirs: Vec<PathBuf>,
}

impl Claims {
    /// Of a settings file's text, with the role's defaults.
    pub fn of(file: &Path, role: ConfigRole, text: &str) -> Option<Claims> {
        let table: toml::Table = toml::from_str(text).ok()?;
        let port = default_port(role)?;
        let dir = match role {
            ConfigRole::Mgmtd => "/var/lib/nyala/mgmtd",
            ConfigRole::Meta => "/var/lib/nyala/meta",
            ConfigRole::Storage => "/var/lib/nyala/storage",
            ConfigRole::Mon => "/var/lib/nyala/mon",
            ConfigRole::Client => return None,
        };
        let text = |value: &toml::Value| value.as_str().map(str::to_owned);
        let listen = table.get("listen").and_then(text).and_then(|text| text.parse().ok());
        let mut dirs = vec![PathBuf::from(table.get("dir").and_then(text).unwrap_or_else(|| dir.to_owned()))];
        let targets = table.get("targets").and_then(toml::Value::as_array).into_iter().flatten();
        dirs.extend(targets.filter_map(|target| target.get("dir").and_then(text)).map(PathBuf::from));
        let listen = Some(listen.unwrap_or_else(|| ([0, 0, 0, 0], port).into()));
        Some(Claims { file: file.to_owned(), role, listen, dirs })
    }

    /// Whether both can be at once.
    pub fn check(&self, other: &Claims) -> Result<(), Failure> {
        let there = other.file.display();
        if let (Some(own), Some(others)) = (self.listen, other.listen) {
            let same_ip = own.ip() == others.ip() || own.ip().is_unspecified() || others.ip().is_unspecified();
            if own.port() == others.port() && same_ip {
                return Err(Failure::usage(format!(
                    "port {} is the one of {there}; give this service another one with --port",
                    own.port()
                )));
            }
        }
        for own in &self.dirs {
            if let Some(theirs) = other.dirs.iter().find(|theirs| own.starts_with(theirs) || theirs.starts_with(own)) {
                let what = if own == theirs { "is the directory of" } else { "and a directory lie in each other:" };
                let named = if own == theirs { String::new() } else { format!("{} of ", theirs.display()) };
                return Err(Failure::usage(format!(
                    "{} {what} {named}{there}; each service and target has one of its own",
                    own.display()
                )));
            }
        }
        Ok(())
    }

    /// Whether its own directories lie apart from each other.
    pub fn check_own(&self) -> Result<(), Failure> {
        for (at, one) in self.dirs.iter().enumerate() {
            if let Some(other) =
                self.dirs[at + 1..].iter().find(|other| one.starts_with(other) || other.starts_with(one))
            {
                return Err(Failure::usage(format!(
                    "{} and {} are one directory, or lie in each other; each target has one of its own",
                    one.display(),
                    other.display()
                )));
            }
        }
        Ok(())
    }
}

/// What the services of this host take whose settings are where settings are, but for one of them.
pub fn others(except: &Path) -> Vec<Claims> {
    claims(Path::new(CONFIG_DIR)).into_iter().filter(|claims| claims.file != except).collect()
}

/// What the services take whose settings are in a directory; files that cannot be read take nothing.
pub fn claims(dir: &Path) -> Vec<Claims> {
    let mut files = settings_in(dir);
    let mut instances: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    instances.sort();
    instances.retain(|path| path.extension().is_some_and(|d| d == "d"));
    files.extend(instances.iter().flat_map(|dir| settings_in(dir)));
    let claims = |file: &PathBuf| {
        let role = ConfigRole::of_file(file)?;
        Claims::of(file, role, &std::fs::read_to_string(file).ok()?)
    };
    files.iter().filter_map(claims).collect()
}

/// The port for a service whose settings are to be written and whose default port is another service's; none where that is free.
pub fn other_port(role: &str, instance: Option<&str>) -> Option<u16> {
    let default = ConfigRole::of_file(Path::new(role)).and_then(default_port)?;
    let dir = Path::new(CONFIG_DIR);
    let dir = instance.map_or_else(|| dir.to_owned(), |name| dir.join(format!("{name}.d")));
    let own = dir.join(format!("{role}.toml"));
    let taken: Vec<u16> = others(&own).iter().filter_map(|other| other.listen).map(|listen| listen.port()).collect();
    if own.exists() || !taken.contains(&default) {
        return None;
    }
    (1..50).map(|step| default + step * 100).find(|port| !taken.contains(port))
}

fn settings_in(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(role: ConfigRole, text: &str) -> Claims {
        Claims::of(Path::new("/etc/nyala/x.toml"), role, text).unwrap()
    }

    #[test]
    fn two_services_have_ports_and_directories_of_their_own() {
        let meta = of(ConfigRole::Meta, "");
        assert_eq!(meta.listen, Some("0.0.0.0:8005".parse().unwrap()));
        let second = of(ConfigRole::Meta, "dir = \"/data/m2\"\nlisten = \"127.0.0.1:8005\"\n");
        let error = second.check(&meta).unwrap_err().message;
        assert!(error.contains("8005") && error.contains("--port") && error.contains("x.toml"), "{error}");
        let third = of(ConfigRole::Meta, "listen = \"0.0.0.0:8105\"\n");
        assert!(third.check(&meta).unwrap_err().message.contains("/var/lib/nyala/meta"));
        let storage = of(ConfigRole::Storage, "[[targets]]\ndir = \"/data/m2/t1\"\n");
        assert!(storage.check(&second).unwrap_err().message.contains("each other"));
        let apart = of(ConfigRole::Storage, "[[targets]]\ndir = \"/data/t1\"\n");
        assert_eq!((apart.check(&second), apart.check_own()), (Ok(()), Ok(())));
        let twice = of(ConfigRole::Storage, "[[targets]]\ndir = \"/t\"\n[[targets]]\ndir = \"/t/u\"\n");
        assert!(twice.check_own().is_err());
    }
}
