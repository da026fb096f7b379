// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala setup …`.

use crate::config::TargetArg;
use crate::units::Hosts;
use std::path::PathBuf;

/// `nyala setup …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum SetupCommand {
    /// Set up a management service on this host
    Mgmtd(MgmtdSetup),
    /// Set up a metadata service on this host
    Meta(MetaSetup),
    /// Set up a storage service on this host, or add targets to it
    Storage(StorageSetup),
    /// Set up this host for commands and mounts
    Client(ClientSetup),
}

impl SetupCommand {
    /// Whether it may go on without asking.
    pub fn yes(&self) -> bool {
        match self {
            SetupCommand::Mgmtd(args) => args.service.common.yes,
            SetupCommand::Meta(args) => args.service.common.yes,
            SetupCommand::Storage(args) => args.service.common.yes,
            SetupCommand::Client(args) => args.common.yes,
        }
    }
}

/// Flags of every role.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CommonSetup {
    /// Settings file to write [default: /etc/nyala/ROLE.toml, or /etc/nyala/INSTANCE.d/ROLE.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The cluster's secret file [default: /etc/nyala/secret]
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
    /// Encrypt all traffic; the same on every node of the cluster
    #[arg(long)]
    pub encrypt: bool,
    /// Another key of the settings file; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = read_setting)]
    pub set: Vec<(String, toml::Value)>,
    /// Enable and start it with systemd; for a client: mount it
    #[arg(long)]
    pub start: bool,
    /// Do it without asking
    #[arg(short = 'y', long)]
    pub yes: bool,
}

/// Flags of every service.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServiceSetup {
    /// Name of a further service of its kind on this host
    #[arg(long, value_name = "NAME", value_parser = read_instance)]
    pub instance: Option<String>,
    /// Network interfaces that others are to use, best first [default: the one that faces management]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub interfaces: Vec<String>,
    /// Port to listen on, on all addresses [default: the role's]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// What every role has.
    #[command(flatten)]
    pub common: CommonSetup,
}

/// Flags of `nyala setup mgmtd`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MgmtdSetup {
    /// Directory of the cluster state [default: /var/lib/nyala/mgmtd]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Become a further management node of the cluster whose management is here
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub join: Option<Hosts>,
    /// Wait for `nyala mgmt add` instead of making a cluster
    #[arg(long, conflicts_with = "join")]
    pub standby: bool,
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceSetup,
}

/// Flags of `nyala setup meta`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MetaSetup {
    /// Management services
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub mgmt: Option<Hosts>,
    /// Directory of the metadata target [default: /var/lib/nyala/meta]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Wished name [default: management chooses]
    #[arg(long, value_name = "NAME")]
    pub alias: Option<String>,
    /// A spare: it gets no part of the name space and becomes a member of a mirror group
    #[arg(long)]
    pub spare: bool,
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceSetup,
}

/// Flags of `nyala setup storage`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StorageSetup {
    /// Management services
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub mgmt: Option<Hosts>,
    /// The service's own directory [default: /var/lib/nyala/storage]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// A storage target; may be given several times, and later again to add one
    #[arg(long = "target", value_name = "DIR[,id=N][,alias=NAME][,limit=SIZE]")]
    pub targets: Vec<TargetArg>,
    /// Wished name [default: management chooses]
    #[arg(long, value_name = "NAME")]
    pub alias: Option<String>,
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceSetup,
}

/// Flags of `nyala setup client`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ClientSetup {
    /// Management services
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub mgmt: Option<Hosts>,
    /// Mount the file system here at every boot: adds a line to /etc/fstab
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,
    /// Mount options of that line
    #[arg(long, value_name = "OPTIONS", requires = "mount", default_value = "_netdev,nofail")]
    pub options: String,
    /// What every role has.
    #[command(flatten)]
    pub common: CommonSetup,
}

/// `KEY=VALUE`; a value that is no TOML value is a text.
fn read_setting(text: &str) -> Result<(String, toml::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, as in sync-interval=500ms")?;
    let as_toml = toml::from_str::<toml::Table>(&format!("value = {value}\n"));
    let value = as_toml.ok().and_then(|mut table| table.remove("value"));
    Ok((key.trim().to_owned(), value.unwrap_or_else(|| toml::Value::String(text[key.len() + 1..].to_owned()))))
}

/// A name that can be part of a directory's and a unit's name.
fn read_instance(text: &str) -> Result<String, String> {
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
