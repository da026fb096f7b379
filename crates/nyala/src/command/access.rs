// SPDX-License-Identifier: Apache-2.0

//! `nyala access list`, `set` and `delete`: which clients are let in, and to what.
//!
//! **Failure model.** A rule is in force at a server when the map with it arrives there, a moment after the command: also for connections
//! that exist. A server that management does not reach goes on with the map that it has, until its lease ends. The directory that
//! `--root` names is looked up when the rule is set; it keeps its number when it is renamed, and when it is removed nothing is left to see.

use super::access_args::{AccessCommand, AccessListArgs, AccessSetArgs};
use super::access_table::table;
use super::key::only_clients;
use crate::cluster::Cluster;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::FileKind;
use nyala_wire::access_rules::{ANY_KEY, AccessRule, Subtree};
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::restriction::{Asker, access_rule, restriction};
use nyala_wire::rule_checks::access_rule_exists;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Said where a directory alone would not hold clients to it.
const SHARED_KEY: &str = "clients hold a key that servers prove each other with, so one that lies can leave its subtree; give servers keys \
     of their own (nyala secret add --role server)\n";

/// Does what the command says.
pub fn run(command: AccessCommand, output: Output) -> Outcome {
    let (rules, note) = block_on(async {
        match command {
            AccessCommand::List(args) => list(args).await,
            AccessCommand::Set(args) => set(args).await,
            AccessCommand::Delete(args) => {
                let cluster = args.cluster.find()?;
                let map = cluster.map().await?;
                access_rule_exists(&map, &args.key, args.from).map_err(Failure::failed)?;
                let mut kept = map.access_rules;
                kept.retain(|rule| rule.clients() != (&args.key, args.from));
                let request = MgmtRequest::RemoveAccessRule { key: args.key, network: args.from };
                order(&cluster, request, kept, args.yes).await
            }
        }
    })?;
    show(output, &rules, |rules| table(rules) + &note)
}

async fn list(args: AccessListArgs) -> Result<(Vec<AccessRule>, String), Failure> {
    let map = args.cluster.find()?.map().await?;
    let (Some(key), Some(address)) = (args.key, args.address) else { return Ok((map.access_rules, String::new())) };
    let asker = Asker { key: &key, operator: false, address };
    let counts = access_rule(&map, asker).cloned();
    let note = match (&counts, restriction(&map, asker)) {
        (None, Some(_)) => format!(
            "no access rule counts for these clients, but that of their key: nyala key list shows it for {key}\n"
        ),
        (None, None) => "these clients are held to nothing\n".to_owned(),
        (Some(_), _) => String::new(),
    };
    Ok((counts.into_iter().collect(), note))
}

async fn set(args: AccessSetArgs) -> Result<(Vec<AccessRule>, String), Failure> {
    let cluster = args.cluster.find()?;
    if args.key != ANY_KEY {
        only_clients(&cluster, &args.key)?;
    }
    let subtree = match &args.root {
        Some(path) => Some(directory(&cluster, path).await?),
        None => None,
    };
    let shared = cluster.secret.grants().iter().any(|grant| grant.roles.server && grant.roles.client);
    let warning = if subtree.is_some() && shared { SHARED_KEY } else { "" };
    let rule = args.rule(subtree)?;
    let mut rules = cluster.map().await?.access_rules;
    rules.retain(|other| !other.has_clients_of(&rule));
    rules.push(rule.clone());
    rules.sort_by(|a, b| a.clients().cmp(&b.clients()));
    let (rules, note) = order(&cluster, MgmtRequest::SetAccessRule(rule), rules, args.yes).await?;
    Ok((rules, note + warning))
}

/// Orders it; or says what would then hold.
async fn order(
    cluster: &Cluster,
    request: MgmtRequest,
    after: Vec<AccessRule>,
    yes: bool,
) -> Result<(Vec<AccessRule>, String), Failure> {
    match yes {
        true => {
            cluster.order(request).await?;
            Ok((cluster.map().await?.access_rules, String::new()))
        }
        false => Ok((after, "nothing was changed; with --yes these rules hold\n".to_owned())),
    }
}

/// The directory at a path of the file system.
async fn directory(cluster: &Cluster, path: &Path) -> Result<Subtree, Failure> {
    let shown = path.to_str().filter(|path| path.starts_with('/'));
    let shown = shown
        .ok_or_else(|| Failure::usage("--root takes a path from the root of the file system, such as /projects"))?;
    let client = cluster.client().await?;
    let found = client.resolve(path.as_os_str().as_bytes(), true).await;
    // What it asked for is known; a failing goodbye changes nothing.
    let _ = client.shutdown().await;
    let attr = found.map_err(|error| Failure::from(error).context(path.display()))?;
    match attr.kind {
        FileKind::Directory => Ok(Subtree { inode: attr.inode, path: shown.to_owned() }),
        _ => Err(Failure::failed(format!("{shown} is no directory"))),
    }
}
