// SPDX-License-Identifier: Apache-2.0

//! `nyala secret export`.

use super::keys::{FileArgs, read};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use nyala_transport::KeyRoles;
use nyala_transport::secret::file::{self, Existing};
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use std::path::PathBuf;

/// Flags of `nyala secret export`.
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub to: PathBuf,
    /// Keys that are for nothing but these: client, server, admin, several of them with commas, or all
    #[arg(long, default_value = "client")]
    pub role: KeyRoles,
    /// Of those, only the keys with these ids
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub key: Vec<String>,
    /// Overwrite a secret file that is there
    #[arg(long)]
    pub replace: bool,
    #[command(flatten)]
    pub file: FileArgs,
}

/// Writes the file.
pub fn run(args: &ExportArgs, output: Output) -> Outcome {
    let (all, _) = read(&args.file.file)?;
    let asked = |key: &KeyEntry| args.key.is_empty() || args.key.iter().any(|id| **id == *key.grant.key);
    let keys: Vec<KeyEntry> =
        all.keys.into_iter().filter(|key| within(key.grant.roles, args.role) && asked(key)).collect();
    let role = args.role;
    if let Some(id) = args.key.iter().find(|id| !keys.iter().any(|key| *key.grant.key == ***id)) {
        return Err(Failure::failed(format!(
            "there is no key {id} that is for {role} alone; see nyala secret list --file {}",
            args.file.file.display()
        )));
    }
    if keys.is_empty() {
        return Err(Failure::failed(format!(
            "no key of {} is for {role} alone; nyala secret add --role {role} makes one",
            args.file.file.display()
        )));
    }
    let existing = match (args.to.symlink_metadata(), args.replace) {
        (Ok(_), true) => Existing::Replaced(file::read(&args.to)?.1),
        (Ok(_), false) => {
            return Err(Failure::failed(format!("{} is there already; to overwrite it: --replace", args.to.display())));
        }
        (Err(_), _) => Existing::Kept,
    };
    let ids: Vec<&str> = keys.iter().map(|key| &*key.grant.key).collect();
    let says = format!("{} written (mode 0600), with {}\n", args.to.display(), ids.join(", "));
    let written = serde_json::json!({ "file": args.to.to_string_lossy(), "keys": ids });
    file::write(&args.to, &KeyFile { keys }.print(), existing).map_err(|error| Failure::failed(error.to_string()))?;
    show(output, &written, |_| says)
}

/// Whether the roles of a key are some of those.
fn within(key: KeyRoles, asked: KeyRoles) -> bool {
    (!key.client || asked.client) && (!key.server || asked.server) && (!key.admin || asked.admin)
}
