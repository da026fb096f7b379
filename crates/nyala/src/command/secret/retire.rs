// SPDX-License-Identifier: Apache-2.0

//! `nyala secret retire`.

use super::keys::{FileArgs, read, replace};
use super::list::{now, rows, table};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use nyala_transport::KeyRoles;
use nyala_transport::secret::key_file::KeyFile;

/// Flags of `nyala secret retire`.
#[derive(Clone, Debug, clap::Args)]
pub struct RetireArgs {
    /// The key's id
    #[arg(value_name = "KEY")]
    pub id: String,
    /// Every host that needs it has a newer one
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub file: FileArgs,
}

/// Removes a key, and lists the others.
pub fn run(args: &RetireArgs, output: Output) -> Outcome {
    let (mut keys, was) = read(&args.file.file)?;
    let (id, file) = (&args.id, args.file.file.display());
    let at = keys.keys.iter().position(|key| *key.grant.key == **id);
    let at =
        at.ok_or_else(|| Failure::failed(format!("{file} has no key {id}; see nyala secret list --file {file}")))?;
    let gone = keys.keys.remove(at);
    if let Some(role) = lost(gone.grant.roles, &keys) {
        return Err(Failure::failed(format!(
            "{id} is the only key for the role {role} in {file}; first nyala secret add --role {role}, and copy the file to \
             where it is needed"
        )));
    }
    if !args.yes {
        return Err(Failure::usage(format!(
            "servers that read {file} refuse everybody who has no key but {id}, and end the connections that it proved; if every \
             host has a newer one: nyala secret retire {id} --yes"
        )));
    }
    replace(&args.file.file, &keys, was)?;
    show(output, &rows(&keys), |rows| table(rows, now()))
}

/// A role for which there is no key left.
fn lost(gone: KeyRoles, left: &KeyFile) -> Option<&'static str> {
    let has = left.keys.iter().map(|key| key.grant.roles).fold(KeyRoles::default(), |all, one| KeyRoles {
        client: all.client || one.client,
        server: all.server || one.server,
        admin: all.admin || one.admin,
    });
    let lost = [
        ("server", gone.server && !has.server),
        ("admin", gone.admin && !has.admin),
        ("client", gone.client && !has.client),
    ];
    lost.into_iter().find_map(|(name, lost)| lost.then_some(name))
}
