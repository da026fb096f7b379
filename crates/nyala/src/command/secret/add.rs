// SPDX-License-Identifier: Apache-2.0

//! `nyala secret add`.

use super::keys::{FileArgs, read, replace};
use super::list::{now, rows, table};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use nyala_transport::secret::file::random;
use nyala_transport::secret::key_file::{KeyEntry, KeyFile, MAX_KEYS, check_id};
use nyala_transport::{Grant, KeyRoles, KeyRules};

/// Flags of `nyala secret add`.
#[derive(Clone, Debug, clap::Args)]
pub struct AddArgs {
    /// Its id; else the next free one of k1, k2, …
    #[arg(long)]
    pub id: Option<String>,
    /// What its holders may connect as: client, server, admin, several of them with commas, or all
    #[arg(long, default_value = "all")]
    pub role: KeyRoles,
    /// Servers refuse every change by a client that shows this key
    #[arg(long)]
    pub read_only: bool,
    #[command(flatten)]
    pub file: FileArgs,
}

/// Adds a key, and lists all.
pub fn run(args: &AddArgs, output: Output) -> Outcome {
    let (mut keys, was) = read(&args.file.file)?;
    if keys.keys.len() >= MAX_KEYS {
        return Err(Failure::failed(format!("the file holds {MAX_KEYS} keys, and no more fit; retire some")));
    }
    if args.read_only && args.role != (KeyRoles { client: true, ..KeyRoles::default() }) {
        return Err(Failure::usage("--read-only is for keys of clients alone: give --role client with it"));
    }
    let id = match &args.id {
        Some(id) => free(&keys, id)?,
        None => next_id(&keys),
    };
    let grant = Grant { key: id.into(), roles: args.role, rules: KeyRules { read_only: args.read_only } };
    keys.keys.push(KeyEntry { grant, made: now(), secret: random::<32>()?.to_vec() });
    replace(&args.file.file, &keys, was)?;
    show(output, &rows(&keys), |rows| table(rows, now()))
}

fn free(keys: &KeyFile, id: &str) -> Result<String, Failure> {
    check_id(id).map_err(Failure::usage)?;
    match keys.keys.iter().any(|key| &*key.grant.key == id) {
        true => Err(Failure::failed(format!("the file already has a key {id}; give another --id"))),
        false => Ok(id.to_owned()),
    }
}

fn next_id(keys: &KeyFile) -> String {
    let number = |key: &KeyEntry| key.grant.key.strip_prefix('k').and_then(|number| number.parse::<u32>().ok());
    let last = keys.keys.iter().filter_map(number).max().unwrap_or(0);
    format!("k{}", last.saturating_add(1))
}
