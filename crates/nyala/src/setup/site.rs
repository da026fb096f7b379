// SPDX-License-Identifier: Apache-2.0

//! Where a service of this host has its settings, which keys flags stand for, and what follows from its being one of several.

use super::args::ServiceSetup;
use super::collisions::{self, Claims};
use super::interfaces;
use super::plan::Plan;
use super::units::Unit;
use super::values::{Keys, path, text};
use crate::config::{CONFIG_DIR, ConfigRole};
use crate::exit::Failure;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use toml::Value;

/// Where a service's things are.
pub struct Site {
    role: &'static str,
    /// Its settings file.
    pub config: PathBuf,
    instance: Option<String>,
}

impl Site {
    /// Of a role, as flags say.
    pub fn new(role: &'static str, args: &ServiceSetup) -> Site {
        let dir = match &args.instance {
            Some(instance) => Path::new(CONFIG_DIR).join(format!("{instance}.d")),
            None => PathBuf::from(CONFIG_DIR),
        };
        let config = args.common.config.clone().unwrap_or_else(|| dir.join(format!("{role}.toml")));
        Site { role, config, instance: args.instance.clone() }
    }

    /// Keys that every service has. A further instance gets a directory of its own; a file that exists keeps what it says.
    pub fn keys(&self, dir: Option<&Path>, args: &ServiceSetup) -> Result<Keys, Failure> {
        let mut keys = Keys::new();
        match (dir, &self.instance) {
            (Some(dir), _) => keys.push(path("dir", dir)?),
            (None, Some(instance)) if !self.config.exists() => {
                keys.push(text("dir", format!("/var/lib/nyala/{instance}/{}", self.role)));
            }
            (None, _) => {}
        }
        let addresses = interfaces::addresses(&args.interfaces)?;
        // A service that listens on IPv4 cannot be reached by IPv6; where there is nothing else, it listens on that.
        let only_v6 = !addresses.is_empty() && addresses.iter().all(IpAddr::is_ipv6);
        let any = if only_v6 { "[::]" } else { "0.0.0.0" };
        let default = ConfigRole::of_file(Path::new(self.role)).and_then(collisions::default_port);
        let port = args.port.or(default.filter(|_| only_v6));
        keys.extend(port.map(|port| text("listen", format!("{any}:{port}"))));
        let shown = |ip: &IpAddr| match ip {
            IpAddr::V4(ip) => Some(Value::String(ip.to_string())),
            IpAddr::V6(ip) => only_v6.then(|| Value::String(format!("[{ip}]"))),
        };
        if !addresses.is_empty() {
            keys.push(("advertise".to_owned(), Value::Array(addresses.iter().filter_map(shown).collect())));
        }
        Ok(keys)
    }

    /// Ports and directories that others have, and the unit.
    pub fn finish(
        &self,
        plan: &mut Plan,
        args: &ServiceSetup,
        role: ConfigRole,
        text: &str,
        secret: &Path,
    ) -> Result<(), Failure> {
        if let Some(own) = Claims::of(&self.config, role, text) {
            own.check_own()?;
            collisions::others(&self.config).iter().try_for_each(|other| own.check(other))?;
        }
        let ours = Path::new(CONFIG_DIR);
        let dir = self.instance.as_ref().map_or_else(|| ours.to_owned(), |name| ours.join(format!("{name}.d")));
        if self.config != dir.join(format!("{}.toml", self.role)) {
            if args.common.start {
                return Err(Failure::usage("--start goes with the default place of settings; leave out --config"));
            }
            plan.next.push(format!("nyala {} --config {}", self.role, self.config.display()));
            return Ok(());
        }
        let unit = Unit::of(self.role, self.instance.as_deref());
        let changes = !plan.steps.is_empty();
        plan.steps.extend(unit.steps(args.common.start, changes, &[self.config.clone(), secret.to_owned()])?);
        if !args.common.start {
            plan.next.push(format!("systemctl enable --now {}", unit.name));
        }
        Ok(())
    }
}
