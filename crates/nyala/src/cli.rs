// SPDX-License-Identifier: Apache-2.0

//! The command line.

use crate::bench;
use crate::command::*;
use crate::compat::install::CompatCommand;
use crate::exit::Outcome;
use crate::logging::LogArgs;
use crate::output::Output;
use crate::role;
use crate::setup::args::SetupCommand;
use clap::{Parser, Subcommand};

/// The Nyala parallel file system: services, mounts and commands in one program.
#[derive(Debug, Parser)]
#[command(name = "nyala", version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("NYALA_COMMIT"), ")"), propagate_version = true, arg_required_else_help = true, max_term_width = 120)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 wrong configuration, 4 the cluster cannot be reached, \
    5 the cluster refuses, 6 a check found something."
)]
pub struct Cli {
    /// How results are printed
    #[arg(long, global = true, env = "NYALA_OUTPUT", value_enum, default_value_t)]
    pub output: Output,
    /// Logging.
    #[command(flatten)]
    pub log: LogArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make or start a whole cluster on this machine, and mount it
    Up(up::UpArgs),
    /// Unmount and stop the cluster of `nyala up`; its data stays
    Down(down::DownArgs),
    /// Show the processes of the cluster of `nyala up`
    Status(status::StatusArgs),
    /// Set up a service, or a client, on this host; check whether the host is fit for it
    #[command(subcommand)]
    Setup(SetupCommand),
    /// Start one service of the cluster of `nyala up`
    Start(start::StartArgs),
    /// Stop one service of the cluster of `nyala up`
    Stop(stop::StopArgs),
    /// Nodes of a cluster
    #[command(subcommand)]
    Node(NodeCommand),
    /// Targets of a cluster
    #[command(subcommand)]
    Target(TargetCommand),
    /// Storage pools: on which targets the files of a directory lie
    #[command(subcommand)]
    Pool(pool_args::PoolCommand),
    /// Mirror groups: targets that hold the same data
    #[command(subcommand)]
    Mirror(MirrorCommand),
    /// Drive sets: RAID in software under a storage target
    #[command(subcommand)]
    Raid(raid::RaidCommand),
    /// Read everything on storage targets, and repair what is damaged
    Scrub(scrub_cli::ScrubCli),
    /// Compare what all servers have, while the file system is in use, and repair it
    Fsck(fsck::FsckArgs),
    /// The management nodes: who they are, who leads, more and fewer of them
    #[command(subcommand)]
    Mgmt(MgmtCommand),
    /// Files and directories: where they are, how they are striped
    #[command(subcommand)]
    Entry(EntryCommand),
    /// Is the cluster well?
    #[command(subcommand)]
    Health(HealthCommand),
    /// What services count: requests, bytes, operations, by service or by client
    #[command(subcommand)]
    Stats(stats::StatsCommand),
    /// What services, targets, clients, users and operations do now, on a terminal
    Top(top::TopArgs),
    /// Where the time of single operations goes: client, network, metadata, storage, mirror
    Trace(trace::TraceArgs),
    /// Mount a file system
    Mount(role::mount::MountArgs),
    /// Unmount a file system, and wait until everything written is with the servers
    Umount(umount::UmountArgs),
    /// Run a management service
    Mgmtd(role::mgmtd::MgmtdArgs),
    /// Run a metadata service, or move parts of the name space between those that run
    Meta(MetaCli),
    /// Run a storage service
    Storage(role::storage::StorageArgs),
    /// Run the monitoring service: a day of figures of all services and mounts, for InfluxDB and for queries
    Mon(role::mon::MonArgs),
    /// Measure the cluster, next to the local file system and loopback TCP
    #[command(subcommand)]
    Bench(bench::BenchArgs),
    /// What drives, servers and networks would give: space, throughput, what limits it
    Plan(plan::PlanArgs),
    /// Settings of the kernel that guides for storage hosts advise
    #[command(subcommand)]
    Tune(tune::TuneCommand),
    /// Backups of what management and metadata services keep
    #[command(subcommand)]
    Backup(backup::BackupCommand),
    /// Configuration files
    #[command(subcommand)]
    Config(ConfigCommand),
    /// The commands of BeeGFS 7 under their names
    #[command(subcommand)]
    Compat(CompatCommand),
    /// Make a cluster's secret file, and change the keys in it
    Secret(secret::SecretArgs),
    /// What servers hold clients to, by the key that they show: read-only, squashed and mapped users
    #[command(subcommand)]
    Key(key_args::KeyCommand),
    /// Which clients are let in, by key and address, and to what: a subtree, read-only, squashed and mapped users
    #[command(subcommand)]
    Access(access_args::AccessCommand),
    /// What operators ordered, who and from where, and what came of it
    Audit(audit::AuditArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
    /// Write the manual pages
    Man(man::ManArgs),
    /// Print the version
    Version,
}

/// `nyala meta`, and `nyala meta …`
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct MetaCli {
    #[command(subcommand)]
    command: Option<meta_slots::MetaCommand>,
    #[command(flatten)]
    args: role::meta::MetaArgs,
}

/// `nyala node …`
#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    /// List the nodes
    List(node_list::NodeListArgs),
    /// Remove a metadata or storage node that is offline and has no targets, for good
    Remove(node_remove::NodeRemoveArgs),
    /// Give a node another alias
    SetAlias(set_alias::NodeSetAliasArgs),
}

/// `nyala target …`
#[derive(Debug, Subcommand)]
pub enum TargetCommand {
    /// List the targets
    List(target_list::TargetListArgs),
    /// Make an empty directory of this host a new storage target
    Add(target_add::TargetAddArgs),
    /// Remove a storage target that is offline and in no mirror group, for good
    Remove(target_remove::TargetRemoveArgs),
    /// Say what a target's content is worth, against what the cluster believes
    SetState(target_set_state::TargetSetStateArgs),
    /// Give a target another alias
    SetAlias(set_alias::TargetSetAliasArgs),
}

/// `nyala mirror …`
#[derive(Debug, Subcommand)]
pub enum MirrorCommand {
    /// Make mirror groups: of named targets, or of all that are in none
    Create(mirror_create::MirrorCreateArgs),
    /// List the groups, their members and what is wrong with them
    List(mirror_list::MirrorListArgs),
    /// Delete a group in which no file has data
    Delete(mirror_delete::MirrorDeleteArgs),
    /// Make an empty target a further member of a group; it is filled by resync
    Add(mirror_members::MirrorMemberArgs),
    /// Take a member out of a group
    RemoveMember(mirror_members::MirrorMemberArgs),
    /// Let another good member lead
    Switch(mirror_switch::MirrorSwitchArgs),
    /// Compare the members of groups, while they are in use
    Check(mirror_check::MirrorCheckArgs),
    /// Bringing members up to date that missed changes
    #[command(subcommand)]
    Resync(ResyncCommand),
}

/// `nyala mirror resync …`
#[derive(Debug, Subcommand)]
pub enum ResyncCommand {
    /// Let resync go on after `stop`; it starts by itself otherwise
    Start(mirror_resync::MirrorResyncArgs),
    /// Hold resync back until `start`
    Stop(mirror_resync::MirrorResyncArgs),
    /// How far it is, how fast, how long it will take
    Stats(mirror_resync::MirrorStatsArgs),
}

/// `nyala mgmt …`
#[derive(Debug, Subcommand)]
pub enum MgmtCommand {
    /// List the management nodes
    List(mgmt_list::MgmtListArgs),
    /// Make a management service that waits (`nyala mgmtd --standby`) a member
    Add(mgmt_add::MgmtAddArgs),
    /// Remove a management node for good
    Remove(mgmt_remove::MgmtRemoveArgs),
    /// A token of the web page and the REST API for somebody, which ends
    Token(mgmt_token::MgmtTokenArgs),
    /// After the loss of a majority for good: go on with the stopped node of this host alone; without --yes only a look
    Recover(mgmt_recover::MgmtRecoverArgs),
}

/// `nyala entry …`
#[derive(Debug, Subcommand)]
pub enum EntryCommand {
    /// Show where entries and their data are, and what directories give to new files
    Info(entry_info::EntryInfoArgs),
    /// Set what directories give to new files
    Set(entry_set::EntrySetArgs),
    /// Make a file or a directory with a stripe pattern of its own
    #[command(subcommand)]
    Create(entry_create_args::CreateCommand),
    /// Find entries by where they and their data are, by size, owner and age
    Find(entry_find::EntryFindArgs),
    /// Move files' data to other targets, mirror groups or pools; names, inodes and content stay
    Migrate(entry_migrate_args::EntryMigrateArgs),
    /// Erasure code files that are to be, or that are named with a code; with --repair also what is encoded, from what can be read
    Encode(entry_encode::EntryEncodeArgs),
}

/// `nyala health …`
#[derive(Debug, Subcommand)]
pub enum HealthCommand {
    /// Check everything; exit code 6 if something is wrong
    Check(health_check::HealthCheckArgs),
    /// Space and inodes of every target
    #[command(visible_alias = "capacity")]
    Df(health_df::HealthDfArgs),
    /// Which address of each node answers, and how fast
    #[command(visible_alias = "network")]
    Net(health_net::HealthNetArgs),
    /// Does the service of this host answer? It takes the flags that the service was started with; exit code 4 if it does not
    #[command(subcommand)]
    Service(Box<health_service::HealthServiceCommand>),
    /// What a bug report needs, in one archive: settings without secrets, logs, state, metrics, facts about this host
    Bundle(health_bundle::HealthBundleArgs),
}

/// `nyala config …`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a configuration file
    Check(config_check::ConfigCheckArgs),
}

impl Command {
    /// What is logged where nothing else is asked for.
    fn log_level(&self) -> &'static str {
        match self {
            Command::Meta(MetaCli { command: Some(_), .. }) => "warn",
            Command::Mgmtd(_) | Command::Meta(_) | Command::Storage(_) | Command::Mon(_) | Command::Mount(_) => "info",
            _ => "warn",
        }
    }
}

/// Does what the command line says.
pub fn run(cli: Cli) -> Outcome {
    let output = cli.output;
    start_log(&cli)?;
    match cli.command {
        Command::Up(args) => up::run(args, output),
        Command::Down(args) => down::run(args, output),
        Command::Status(args) => status::run(args, output),
        Command::Setup(command) => setup::run(command, output),
        Command::Start(args) => start::run(args),
        Command::Stop(args) => stop::run(args),
        Command::Node(command) => run_node(command, output),
        Command::Target(command) => run_target(command, output),
        Command::Pool(command) => pool::run(command, output),
        Command::Mirror(command) => run_mirror(command, output),
        Command::Raid(command) => raid::run(command, output),
        Command::Scrub(cli) => scrub_cli::run(cli, output),
        Command::Fsck(args) => fsck::run(args, output),
        Command::Mgmt(command) => run_mgmt(command, output),
        Command::Entry(command) => run_entry(command, output),
        Command::Health(command) => run_health(command, output),
        Command::Stats(command) => stats::run(command, output),
        Command::Trace(args) => trace::run(args, output),
        Command::Top(args) => top::run(args),
        Command::Mount(args) => role::mount::run(args),
        Command::Umount(args) => umount::run(args),
        Command::Mgmtd(args) => role::mgmtd::run(args),
        Command::Meta(MetaCli { command: Some(command), .. }) => meta_slots::run(command, output),
        Command::Meta(MetaCli { args, .. }) => role::meta::run(args),
        Command::Storage(args) => role::storage::run(args),
        Command::Mon(args) => role::mon::run(args),
        Command::Bench(args) => bench::run(args, output),
        Command::Plan(args) => plan::run(args, output),
        Command::Tune(command) => tune::run(command, output),
        Command::Backup(command) => backup::run(command, output),
        Command::Config(ConfigCommand::Check(args)) => config_check::run(args, output),
        Command::Compat(command) => crate::compat::install::run(command, output),
        Command::Secret(args) => secret::run(args, output),
        Command::Key(command) => key::run(command, output),
        Command::Access(command) => access::run(command, output),
        Command::Audit(args) => audit::run(args, output),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args, output),
        Command::Version => version::run(output),
    }
}

fn start_log(cli: &Cli) -> Result<(), crate::exit::Failure> {
    match &cli.command {
        Command::Mount(args) => args.log(&cli.log).start(args.log_level())?,
        command => cli.log.start(command.log_level())?,
    }
    Ok(())
}

fn run_node(command: NodeCommand, output: Output) -> Outcome {
    match command {
        NodeCommand::List(args) => node_list::run(args, output),
        NodeCommand::Remove(args) => node_remove::run(args, output),
        NodeCommand::SetAlias(args) => set_alias::node(args, output),
    }
}

fn run_target(command: TargetCommand, output: Output) -> Outcome {
    match command {
        TargetCommand::List(args) => target_list::run(args, output),
        TargetCommand::Add(args) => target_add::run(args, output),
        TargetCommand::Remove(args) => target_remove::run(args, output),
        TargetCommand::SetState(args) => target_set_state::run(args, output),
        TargetCommand::SetAlias(args) => set_alias::target(args, output),
    }
}

fn run_entry(command: EntryCommand, output: Output) -> Outcome {
    match command {
        EntryCommand::Info(args) => entry_info::run(args, output),
        EntryCommand::Set(args) => entry_set::run(args, output),
        EntryCommand::Create(command) => entry_create::run(command, output),
        EntryCommand::Find(args) => entry_find::run(args, output),
        EntryCommand::Migrate(args) => entry_migrate::run(args, output),
        EntryCommand::Encode(args) => entry_encode::run(args, output),
    }
}

fn run_mgmt(command: MgmtCommand, output: Output) -> Outcome {
    match command {
        MgmtCommand::List(args) => mgmt_list::run(args, output),
        MgmtCommand::Add(args) => mgmt_add::run(args, output),
        MgmtCommand::Remove(args) => mgmt_remove::run(args, output),
        MgmtCommand::Token(args) => mgmt_token::run(args, output),
        MgmtCommand::Recover(args) => mgmt_recover::run(args, output),
    }
}

fn run_health(command: HealthCommand, output: Output) -> Outcome {
    match command {
        HealthCommand::Check(args) => health_check::run(args, output),
        HealthCommand::Df(args) => health_df::run(args, output),
        HealthCommand::Net(args) => health_net::run(args, output),
        HealthCommand::Service(command) => health_service::run(*command, output),
        HealthCommand::Bundle(args) => health_bundle::run(args, output),
    }
}

fn run_mirror(command: MirrorCommand, output: Output) -> Outcome {
    match command {
        MirrorCommand::Create(args) => mirror_create::run(args, output),
        MirrorCommand::List(args) => mirror_list::run(args, output),
        MirrorCommand::Delete(args) => mirror_delete::run(args, output),
        MirrorCommand::Add(args) => mirror_members::add(args, output),
        MirrorCommand::RemoveMember(args) => mirror_members::remove(args, output),
        MirrorCommand::Switch(args) => mirror_switch::run(args, output),
        MirrorCommand::Check(args) => mirror_check::run(args, output),
        MirrorCommand::Resync(ResyncCommand::Start(args)) => mirror_resync::switch(args, false, output),
        MirrorCommand::Resync(ResyncCommand::Stop(args)) => mirror_resync::switch(args, true, output),
        MirrorCommand::Resync(ResyncCommand::Stats(args)) => mirror_resync::stats(args, output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_stand_anywhere() {
        let cli = Cli::try_parse_from(["nyala", "target", "list", "--state", "--output", "json"]).unwrap();
        assert_eq!(cli.output, Output::Json);
        assert!(matches!(cli.command, Command::Target(TargetCommand::List(args)) if args.state));
        assert!(Cli::try_parse_from(["nyala", "target", "lst"]).is_err());
        let mount = ["nyala", "mount", "h:1:/", "/m", "-o", "ro,noatime", "-o", "secret=/s", "--foreground"];
        assert!(matches!(Cli::try_parse_from(mount).unwrap().command, Command::Mount(args) if args.foreground));
        let typo = Cli::try_parse_from(["nyala", "mount", "h:/", "/m", "-o", "r0"]).unwrap_err().to_string();
        assert!(typo.contains("unknown mount option \"r0\""), "{typo}");
        let size = Cli::try_parse_from(["nyala", "up", "--chunk-size", "1.5m"]).unwrap_err().to_string();
        assert!(size.contains("512k or 4GiB"), "{size}");
    }
}
