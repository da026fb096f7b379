// SPDX-License-Identifier: Apache-2.0

//! `nyala mgmt recover`: the majority of management is lost for good; the node of this host goes on alone, with what it holds.
//!
//! **Failure model.** The others may not be lost at all: each is asked first, and one that answers is a reason to change nothing. One
//! that only this host does not reach is not noticed; the operator's word counts. What the lost ones decided without this
//! node cannot be known here, only how old this node's last entry is. The rest is in [`nyala_mgmt::recover`].

use super::mgmt_recover_text::{Report, done, text};
use crate::cluster::ask_node;
use crate::config::{MgmtdSettings, Settings, load, load_default};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_mgmt::Remains;
use nyala_transport::{HandshakeConfig, Role, Secret};
use std::path::PathBuf;

/// Flags of `nyala mgmt recover`.
#[derive(Clone, Debug, clap::Args)]
pub struct MgmtRecoverArgs {
    /// Directory of the management service that goes on [default: what its configuration file says, or /var/lib/nyala/mgmtd]
    #[arg(long, env = "NYALA_MGMTD_DIR", value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The cluster's secret file [default: what its configuration file says, or /etc/nyala/secret]
    #[arg(long, env = "NYALA_MGMTD_SECRET", value_name = "FILE")]
    secret: Option<PathBuf>,
    /// Configuration file of that service [default: /etc/nyala/mgmtd.toml, if there is one]
    #[arg(long, env = "NYALA_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The others are lost for good, and I know what may be lost with them
    #[arg(long)]
    yes: bool,
}

/// Looks, and recovers if that is wished.
pub fn run(args: MgmtRecoverArgs, output: Output) -> Outcome {
    let flags = MgmtdSettings { dir: args.dir, secret: args.secret, ..MgmtdSettings::default() };
    let file: MgmtdSettings = args.config.as_deref().map_or_else(load_default, load)?;
    let config = flags.over(file).resolve()?;
    let remains = nyala_mgmt::look_at_remains(&config.dir)?;
    let secret = Secret::load(&config.secret_file)?;
    let answering = block_on(async { answering(secret, config.encrypt, &remains).await })?;
    if !args.yes {
        return show(output, &Report { remains, answering, recovered: false }, text);
    }
    if !answering.is_empty() {
        return Err(Failure::failed(format!(
            "management is not lost: {} answers; start this service, or stop that one for good first",
            answering.join(" and ")
        )));
    }
    let (key, host) = (user(), rustix::system::uname().nodename().to_string_lossy().into_owned());
    let remains = nyala_mgmt::recover(&config.dir, key, host)?;
    show(output, &Report { remains, answering, recovered: true }, done)
}

/// Who ordered it: no key proves it, but the right to write the directory.
pub fn user() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

/// The management nodes that answer where they were, with this cluster's secret; the node of the directory, too, of which another directory
/// may be in use.
pub async fn answering(secret: Secret, encrypt: bool, remains: &Remains) -> Result<Vec<String>, Failure> {
    let cluster = u128::from_le_bytes(remains.cluster.0);
    let handshake = HandshakeConfig { encrypt, ..HandshakeConfig::new(secret, cluster, Role::Mgmt, 0) };
    let mut answering = Vec::new();
    let others = remains.others.iter().map(|other| (&other.alias, &other.addresses));
    for (alias, addresses) in others.chain([(&remains.alias, &remains.addresses)]) {
        if let Some((address, _)) = ask_node(addresses, &handshake).await.reached {
            answering.push(format!("{alias} ({address})"));
        }
    }
    Ok(answering)
}
