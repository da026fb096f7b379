// SPDX-License-Identifier: Apache-2.0

//! `nyala mount`: shows the file system at a directory until it is unmounted.
//!
//! **Failure model.** Wrong settings are said before anything is started. What can go wrong afterwards: see
//! [`super::mount_serve`] and [`crate::mount::daemon`].

use super::block_on;
use super::mount_serve::{Plan, serve};
use crate::config::{ClientSettings, Settings, load, load_default};
use crate::exit::{Exit, Failure, Outcome};
use crate::logging::LogArgs;
use crate::mount::daemon::{self, Caller};
use crate::mount::helper::HelperCall;
use crate::mount::remount::remount;
use crate::mount::{MountFlags, Source, table};
use crate::units::{HostPort, Hosts};
use std::path::PathBuf;

/// Flags of `nyala mount`.
#[derive(Clone, Debug, clap::Args)]
pub struct MountArgs {
    /// What to mount: the management host or hosts, and the root of the file system
    #[arg(value_name = "HOST[:PORT][,HOST…]:/")]
    pub source: Source,
    /// Where: an existing directory
    pub mountpoint: PathBuf,
    /// Mount options as mount(8) knows them: ro, noatime, nosuid, nodev, noexec, secret=FILE, port=N, …
    #[arg(short = 'o', value_name = "OPTIONS", value_parser = read_options)]
    pub options: Vec<MountFlags>,
    /// Stay in the foreground
    #[arg(short = 'f', long)]
    pub foreground: bool,
    /// Leave the caller's terminal session first
    #[arg(long, hide = true)]
    pub own_session: bool,
    /// Configuration file [default: /etc/nyala/client.toml, if there is one]
    #[arg(long, env = "NYALA_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Settings of the client.
    #[command(flatten)]
    pub settings: ClientSettings,
}

impl MountArgs {
    /// Logging flags with what `-o` says about them.
    pub fn log(&self, log: &LogArgs) -> LogArgs {
        let flags = MountFlags::merged(&self.options);
        // The daemon's is its standard error as well. The command that only waits for it writes to its own.
        let log_file = daemon::log_file().or_else(|| log.log_file.clone().filter(|_| self.foreground));
        LogArgs { log_level: flags.log_level.or_else(|| log.log_level.clone()), log_file, ..log.clone() }
    }

    /// What is logged where nothing else is asked for: the command that only waits for the daemon is quiet.
    pub fn log_level(&self) -> &'static str {
        if self.foreground || daemon::is_daemon() { "info" } else { "warn" }
    }
}

/// Mounts as `mount.fuse.nyala`.
pub fn run_helper(call: HelperCall) -> Outcome {
    let mut flags = MountFlags::default();
    flags.add(&call.options, call.sloppy).map_err(Failure::usage)?;
    let args = MountArgs {
        source: call.source.parse().map_err(Failure::usage)?,
        mountpoint: call.mountpoint,
        options: vec![flags],
        foreground: false,
        own_session: false,
        config: None,
        settings: ClientSettings::default(),
    };
    args.log(&LogArgs::default()).start(args.log_level())?;
    if call.fake { Ok(Exit::Ok) } else { run(args) }
}

fn read_options(text: &str) -> Result<MountFlags, String> {
    let mut flags = MountFlags::default();
    flags.add(text, false).map(|()| flags)
}

/// Mounts; returns when the mount works, or, in the foreground, when it has ended.
pub fn run(args: MountArgs) -> Outcome {
    let flags = MountFlags::merged(&args.options);
    if flags.remount {
        return remount(&args.mountpoint, &flags).map(|()| Exit::Ok);
    }
    if !args.foreground && !daemon::is_daemon() {
        let mountpoint = table::absolute(&args.mountpoint)?;
        // What is wrong with settings is said here, on this terminal.
        plan(args, flags.clone())?;
        return daemon::start(&mountpoint, flags.log_file.as_deref());
    }
    let own_session = args.own_session || daemon::is_daemon();
    let mut caller = Caller::find();
    let result = plan(args, flags).and_then(|plan| {
        if own_session && rustix::process::setsid().is_ok() {
            // The directory that the caller was in must not stay in use. It may not matter: then it stays.
            let _ = std::env::set_current_dir("/");
        }
        block_on(serve(plan, &mut caller))
    });
    if let Err(failure) = &result {
        tracing::error!(error = %failure, "the mount ends");
        caller.failed(failure);
    }
    result.map(|()| Exit::Ok)
}

fn plan(args: MountArgs, flags: MountFlags) -> Result<Plan, Failure> {
    let file: ClientSettings = match flags.config.as_ref().or(args.config.as_ref()) {
        Some(path) => load(path)?,
        None => load_default()?,
    };
    let mut settings = flags.settings.clone().over(args.settings).over(file);
    let with_port = |host: &HostPort| HostPort { port: host.port.or(flags.port), ..host.clone() };
    settings.mgmt = Some(Hosts(args.source.hosts.0.iter().map(with_port).collect()));
    let absolute = |path: PathBuf| table::absolute(&path);
    let secret = absolute(settings.secret_file())?;
    let mountpoint = absolute(args.mountpoint)?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let transport = settings.fuse_transport.unwrap_or_default().into();
    let metrics = settings.metrics;
    let config = settings.resolve(format!("{host}:{}", mountpoint.display()))?;
    Ok(Plan { source: args.source.to_string(), flags, mountpoint, secret, transport, metrics, config })
}
