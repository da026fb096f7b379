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
use nyala_transport::check_clients_key;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::rule_checks::{key_rule_counts, key_rule_exists};

/// Does what the command says.
pub fn run(command: KeyCommand, output: Output) -> Outcome {
    let (rules, note) = block_on(async {
        match command {
            KeyCommand::List(args) => Ok((args.cluster.find()?.map().await?.key_rules, "")),
            KeyCommand::Set(args) => {
                let rule = args.rule()?;
                let cluster = args.cluster.find()?;
                only_clients(&cluster, &args.id)?;
                key_rule_counts(&cluster.map().await?, &args.id).map_err(Failure::failed)?;
                set(&cluster, rule, args.yes).await
            }
            KeyCommand::Clear(args) => {
                let cluster = args.cluster.find()?;
                key_rule_exists(&cluster.map().await?, &args.id).map_err(Failure::failed)?;
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

/// The key must be one of the secret file, and for clients alone.
pub(super) fn only_clients(cluster: &Cluster, id: &str) -> Result<(), Failure> {
    check_clients_key(&cluster.secret.grants(), id).map_err(Failure::failed)
}
