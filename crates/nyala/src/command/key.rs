// SPDX-License-Identifier: Apache-2.0

//! `nyala key list`, `set` and `clear`: what servers hold the clients of a key to.
//!
//! **Failure model.** A rule is in force at a server when the map with it arrives there, a moment after the command: also for connections
//! that exist. A server that management does not reach goes on with the map that it has, until its lease ends.

use super::key_args::KeyCommand;
use super::key_table::table;
use crate::cluster::Cluster;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_transport::KeyRoles;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::mgmt::MgmtRequest;

/// Does what the command says.
pub fn run(command: KeyCommand, output: Output) -> Outcome {
    let (rules, note) = block_on(async {
        match command {
            KeyCommand::List(args) => Ok((args.cluster.find()?.map().await?.key_rules, "")),
            KeyCommand::Set(args) => {
                let rule = args.rule()?;
                let cluster = args.cluster.find()?;
                only_clients(&cluster, &args.id)?;
                if cluster.map().await?.access_rules.iter().any(|other| other.clients() == (&args.id, None)) {
                    return Err(Failure::failed(format!(
                        "key {0} has an access rule, which counts instead; change that: nyala access set {0}",
                        args.id
                    )));
                }
                set(&cluster, rule, args.yes).await
            }
            KeyCommand::Clear(args) => {
                let cluster = args.cluster.find()?;
                if cluster.map().await?.key_rule(&args.id).is_none() {
                    return Err(Failure::failed(format!("key {} has no rules; see nyala key list", args.id)));
                }
                set(&cluster, KeyRule::none(&args.id), args.yes).await
            }
        }
    })?;
    show(output, &rules, |rules| table(rules) + note)
}

/// Sets a rule; or says what would then hold.
async fn set(cluster: &Cluster, rule: KeyRule, yes: bool) -> Result<(Vec<KeyRule>, &'static str), Failure> {
    if yes {
        cluster.order(MgmtRequest::SetKeyRule(rule)).await?;
        return Ok((cluster.map().await?.key_rules, ""));
    }
    let mut rules = cluster.map().await?.key_rules;
    rules.retain(|other| other.key != rule.key);
    rules.extend(Some(rule).filter(|rule| !rule.is_none()));
    rules.sort_by(|a, b| a.key.cmp(&b.key));
    Ok((rules, "nothing was changed; with --yes these rules hold\n"))
}

/// Services and commands are held to nothing, so a rule of a key that is theirs as well would be a mistake.
pub(super) fn only_clients(cluster: &Cluster, id: &str) -> Result<(), Failure> {
    let grants = cluster.secret.grants();
    let Some(grant) = grants.iter().find(|grant| *grant.key == *id) else {
        return Err(Failure::failed(format!("the secret file has no key {id}; see nyala secret list")));
    };
    match grant.roles == (KeyRoles { client: true, ..KeyRoles::default() }) {
        true => Ok(()),
        false => Err(Failure::failed(format!(
            "key {id} is for {} and not for clients alone; make one with nyala secret add --role client",
            grant.roles
        ))),
    }
}
