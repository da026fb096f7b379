// SPDX-License-Identifier: Apache-2.0

//! `nyala stats server`, `client` and `user`: what services count, by service, by the address of who asked, and by the user whose program made it ask;
//! with `--watch`, in each second since the look before. Files and directories are in `stats_busy`.
//!
//! **Failure model.** Services may be away: see [`super::stats_looks`]. One that was started again counts from nothing: what it
//! has by then is what it did. Who has which number on this host is for the host to say: where it cannot, numbers are shown.

use super::json_name::json_name;
use super::stats_busy::{DirectoryArgs, FileArgs, directories, files};
use super::stats_counts::{All, add_clients, add_service, rates};
use super::stats_looks::{StatsArgs, each, repeat, say};
use super::stats_users::{ByNumber, Users, add_users, busiest, user_rates, user_table};
use crate::cluster::Cluster;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, Table};
use crate::role::block_on;
use nix::unistd::{Uid, User};
use nyala_wire::map::{Node, Role};
use std::collections::HashMap;
use std::num::NonZeroUsize;

/// `nyala stats …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum StatsCommand {
    /// By service
    Server(StatsArgs),
    /// By the address of the client
    Client(StatsArgs),
    /// The busiest files, in each second of the last half to whole minute
    File(FileArgs),
    /// The busiest directories, in each second of the last half to whole minute
    Directory(DirectoryArgs),
    /// By the user whose programs made clients ask metadata services
    User(UserArgs),
}

/// Flags of `nyala stats user`.
#[derive(Clone, Debug, clap::Args)]
pub struct UserArgs {
    /// List so many of the busiest, and the rest together as others
    #[arg(long, value_name = "N")]
    top: Option<NonZeroUsize>,
    /// Show numbers instead of names
    #[arg(long)]
    numeric: bool,
    #[command(flatten)]
    stats: StatsArgs,
}

async fn by_service(cluster: &Cluster) -> Result<All, Failure> {
    let mut all = All::new();
    let add = |node: &Node, counters: &[(String, u64)]| {
        let counts = all.entry(node.alias.clone()).or_default();
        counts.role = Some(node.role);
        add_service(counts, counters);
    };
    each(cluster, |role| role != Role::Client, add).await?;
    Ok(all)
}

async fn by_client(cluster: &Cluster) -> Result<All, Failure> {
    let mut all = All::new();
    each(cluster, |role| role != Role::Client, |_, counters| add_clients(&mut all, counters)).await?;
    Ok(all)
}

async fn by_user(cluster: &Cluster) -> Result<Users, Failure> {
    let mut users = Users::new();
    each(cluster, |role| role == Role::Meta, |_, counters| add_users(&mut users, counters)).await?;
    Ok(users)
}

fn table(all: &All) -> String {
    let mut table = Table::new(&["NAME", "TYPE", "REQUESTS", "READ_BYTES", "WRITTEN_BYTES", "OPERATIONS"]);
    for (name, counts) in all {
        let mut ops: Vec<(&String, &u64)> = counts.ops.iter().filter(|(_, count)| **count > 0).collect();
        ops.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let ops: Vec<String> = ops.into_iter().map(|(op, count)| format!("{op}={count}")).collect();
        table.row([
            name.clone(),
            counts.role.as_ref().map_or_else(|| "client".to_owned(), json_name),
            counts.requests.to_string(),
            counts.read_bytes.to_string(),
            counts.written_bytes.to_string(),
            ops.join(" "),
        ]);
    }
    table.render()
}

/// Shows users; each is asked for its name once.
async fn show_users(args: UserArgs, output: Output) -> Outcome {
    let mut known: HashMap<u32, Option<String>> = HashMap::new();
    let mut name = |uid| {
        let asks = || User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name);
        if args.numeric { None } else { known.entry(uid).or_insert_with(asks).clone() }
    };
    let show = |users: &Users| {
        let rows = busiest(users, args.top.map(NonZeroUsize::get), &mut name);
        say(|| user_table(&rows), &ByNumber(&rows), output)
    };
    repeat(&args.stats, by_user, user_rates, show).await
}

/// Shows counts, or rates.
pub fn run(command: StatsCommand, output: Output) -> Outcome {
    let show = |all: &All| say(|| table(all), all, output);
    block_on(async {
        match command {
            StatsCommand::Server(args) => repeat(&args, by_service, rates, show).await,
            StatsCommand::Client(args) => repeat(&args, by_client, rates, show).await,
            StatsCommand::File(args) => files(args, output).await,
            StatsCommand::Directory(args) => directories(args, output).await,
            StatsCommand::User(args) => show_users(args, output).await,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::stats_counts::Counts;
    use std::collections::BTreeMap;

    #[test]
    fn operations_stand_in_the_order_of_their_number() {
        let ops = BTreeMap::from([("create".to_owned(), 2), ("lookup".to_owned(), 7), ("rename".to_owned(), 0)]);
        let text = table(&All::from([("meta1".to_owned(), Counts { requests: 9, ops, ..Counts::default() })]));
        assert!(text.contains("meta1  client  ") && text.contains("lookup=7 create=2\n"), "{text}");
    }
}
