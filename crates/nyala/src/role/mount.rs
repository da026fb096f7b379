// SPDX-License-Identifier: Apache-2.0

//! `nyala mount`: shows the file system at a directory until it is unmounted.
//!
//! **Failure model.** The cluster may be down, foreign or half started when the mount is asked for: that is tried for a
//! short while and then said, before anything is mounted. Once mounted, the client waits through failures by itself. On
//! SIGTERM the mount is taken away; if programs still use it, everything written is sent out first and they then get
//! "not connected".

use super::{block_on, stop_signal};
use crate::config::{ClientSettings, Settings, load, load_default};
use crate::exit::{Exit, Failure, Outcome};
use crate::logging::LogArgs;
use crate::mount::daemon::{self, Caller};
use crate::mount::helper::HelperCall;
use crate::mount::record::MountRecord;
use crate::mount::{MountFlags, Source, table};
use crate::process::ProcessId;
use crate::units::{HostPort, Hosts};
use nyala_client::{Client, ClientConfig};
use nyala_fuse::adapter::{FsOptions, NyalaFs};
use nyala_fuse::mount::{Mount, MountOptions, UnmountError};
use nyala_fuse::{Session, SessionConfig};
use nyala_transport::member::MgmtClient;
use nyala_transport::{HandshakeConfig, Role};
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::{InodeId, MapVersion};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a cluster that does not answer yet is asked again before the mount fails.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a detached mount gets to end by itself.
const DETACHED: Duration = Duration::from_millis(500);
/// What the kernel may read ahead, KiB; without it, requests would be at most 128 KiB.
const READ_AHEAD_KIB: u32 = 2048;

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
        let flags = MountFlags::together(&self.options);
        // The daemon's log file is its standard error already.
        let log_file = if daemon::is_daemon() { None } else { log.log_file.clone().filter(|_| self.foreground) };
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

/// Everything that is known before the cluster is asked.
struct Plan {
    source: String,
    flags: MountFlags,
    mountpoint: PathBuf,
    secret: PathBuf,
    config: ClientConfig,
}

/// Mounts; returns when the mount works, or, in the foreground, when it has ended.
pub fn run(args: MountArgs) -> Outcome {
    let flags = MountFlags::together(&args.options);
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
    let config = settings.resolve(format!("{host}:{}", mountpoint.display()))?;
    Ok(Plan { source: args.source.to_string(), flags, mountpoint, secret, config })
}

/// Asks management, and through it whether this is a cluster that can be mounted.
async fn probe(config: &ClientConfig) -> Result<(), Failure> {
    let handshake = HandshakeConfig::new(config.secret.clone(), 0, Role::Client, 0);
    let handshake = HandshakeConfig { encrypt: config.encrypt, ..handshake };
    let mgmt = MgmtClient::new(config.mgmt.clone(), handshake);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let asked = mgmt.call_within(&MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 }, PATIENCE).await;
        match asked {
            Ok(_) => return Ok(()),
            Err(error) if error.is_transient() && Instant::now() < deadline => {
                tracing::info!(%error, "waiting for the management service");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn serve(plan: Plan, caller: &mut Caller) -> Result<(), Failure> {
    let stop = stop_signal()?;
    probe(&plan.config).await?;
    let (mgmt, cache_time, encrypt) = (plan.config.mgmt.clone(), plan.config.cache_time, plan.config.encrypt);
    let client = Client::connect(plan.config).await?;
    let root = tokio::time::timeout(PATIENCE, client.getattr(InodeId::ROOT)).await;
    root.map_err(|_| {
        Failure::unreachable("the metadata service of the root directory does not answer; see `nyala health check`")
    })??;
    let mount = Mount::new(&mount_options(&plan.flags, &plan.source, plan.mountpoint))?;
    let mountpoint = mount.mountpoint().to_path_buf();
    let read_ahead = mount.read_ahead();
    let (tell, mut ready) = tokio::sync::oneshot::channel();
    let handler = Arc::new(NyalaFs::new(client.clone(), FsOptions { cache_time, ..FsOptions::default() }));
    let session = Session::new(mount.device(), handler, SessionConfig::default()).on_ready(move |_| {
        // An error means that the mount is ending already.
        let _ = tell.send(());
    });
    let record = MountRecord {
        mountpoint: mountpoint.clone(),
        source: plan.source,
        mgmt,
        secret: plan.secret,
        encrypt,
        process: ProcessId::own(),
    };
    let mut serving = std::pin::pin!(session.serve());
    let mut stop = std::pin::pin!(stop);
    let mut announced = false;
    let result = loop {
        tokio::select! {
            ended = &mut serving => break ended.map_err(Failure::from),
            Ok(()) = &mut ready, if !announced => {
                announced = true;
                if let Err(error) = read_ahead.set(READ_AHEAD_KIB) {
                    tracing::warn!(%error, "cannot set the kernel's read-ahead; large reads will be slower");
                }
                if let Err(error) = record.save() {
                    tracing::warn!(%error, "no record of this mount; commands have to be told the cluster");
                }
                tracing::info!(mountpoint = %mountpoint.display(), source = record.source, "mounted");
                caller.ready()?;
            }
            () = &mut stop => {
                match mount.unmount(false) {
                    Ok(()) => break serving.as_mut().await.map_err(Failure::from),
                    // Somebody else unmounted it: it ends by itself, unless it was a lazy detach and is still in use.
                    Err(UnmountError::NotMounted(_)) => {
                        if let Ok(ended) = tokio::time::timeout(DETACHED, &mut serving).await {
                            break ended.map_err(Failure::from);
                        }
                    }
                    Err(error) => tracing::warn!(%error, "the mount is taken away from those who use it"),
                }
                break client.sync_all().await.map_err(Failure::from);
            }
        }
    };
    MountRecord::remove(&mountpoint);
    tracing::info!(mountpoint = %mountpoint.display(), "unmounted");
    result
}

fn mount_options(flags: &MountFlags, source: &str, mountpoint: PathBuf) -> MountOptions {
    let mut options = MountOptions::new(source, mountpoint);
    options.read_only = flags.read_only;
    options.nosuid = flags.nosuid;
    options.nodev = flags.nodev;
    options.noexec = flags.noexec;
    options.noatime = flags.noatime;
    options.allow_other = !flags.only_me;
    options
}
