// SPDX-License-Identifier: Apache-2.0

//! The units of systemd. The package has them; where Nyala was copied to a host by hand, set-up writes the one that it needs.

use super::manager::{UnitState, newest};
use super::step::Step;
use crate::exit::Failure;
use std::path::{Path, PathBuf};

/// Where units are looked for.
const UNIT_DIRS: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
/// What the units of the package run.
const PACKAGED: &str = "/usr/bin/nyala";

macro_rules! units {
    ($($name:literal),*) => {
        const UNITS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../../packaging/systemd/", $name)))),*];
    };
}
units!(
    "nyala-mgmtd.service",
    "nyala-mgmtd@.service",
    "nyala-meta.service",
    "nyala-meta@.service",
    "nyala-storage.service",
    "nyala-storage@.service",
    "nyala-mon.service",
    "nyala-mon@.service"
);

/// The unit of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// As systemctl takes it, such as `nyala-meta@inst1`.
    pub name: String,
    file: String,
}

impl Unit {
    /// Of a role, and an instance if there are several.
    pub fn of(role: &str, instance: Option<&str>) -> Unit {
        match instance {
            Some(instance) => Unit { name: format!("nyala-{role}@{instance}"), file: format!("nyala-{role}@.service") },
            None => Unit { name: format!("nyala-{role}"), file: format!("nyala-{role}.service") },
        }
    }

    /// What makes it known to systemd, and, if asked for, starts it. A service that runs is started again only if `changes` says that
    /// set-up changes what it reads, or if one of the files that it `reads` is younger than its process.
    pub fn steps(&self, start: bool, changes: bool, reads: &[PathBuf]) -> Result<Vec<Step>, Failure> {
        let managed = Path::new("/run/systemd/system").is_dir();
        if start && !managed {
            return Err(Failure::usage("--start: this host does not run systemd; start the service by other means"));
        }
        let mut steps = Vec::new();
        let known = UNIT_DIRS.iter().any(|place| Path::new(place).join(&self.file).exists());
        if !known && UNIT_DIRS.iter().any(|place| Path::new(place).is_dir()) {
            let path = PathBuf::from(UNIT_DIRS[0]).join(&self.file);
            steps.push(Step::Write { path, text: self.text(), mode: 0o644, shown: Vec::new(), replaces: false });
            if managed {
                steps.push(Step::run(&["systemctl", "daemon-reload"]));
            }
        }
        if start {
            steps.extend(UnitState::ask(&self.name).steps(&self.name, changes, newest(reads)));
        }
        Ok(steps)
    }

    /// Its text, for the program that runs now.
    fn text(&self) -> String {
        let text = UNITS.iter().find(|(name, _)| *name == self.file).map_or("", |(_, text)| *text);
        match std::env::current_exe().ok().as_deref().and_then(Path::to_str) {
            Some(own) => text.replace(PACKAGED, own),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_its_units() {
        let own = std::env::current_exe().unwrap();
        for role in ["mgmtd", "meta", "storage", "mon"] {
            let one = Unit::of(role, None);
            let text = one.text();
            assert!(text.contains(&format!("{} {role} --config /etc/nyala/{role}.toml\n", own.display())), "{text}");
            let further = Unit::of(role, Some("inst1"));
            assert_eq!(further.name, format!("nyala-{role}@inst1"));
            assert!(further.text().contains(&format!("--config /etc/nyala/%i.d/{role}.toml\n")));
            for word in ["Type=notify", "WatchdogSec=", "Restart=always", "LimitNOFILE=", "WantedBy="] {
                assert!(text.contains(word) && further.text().contains(word), "{word}");
            }
        }
    }
}
