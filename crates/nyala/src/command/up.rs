// SPDX-License-Identifier: Apache-2.0

//! `nyala up`: a whole cluster on this machine, made or started again.

use super::health_df;
use super::status::{Status, collect};
use crate::cluster::Cluster;
use crate::exit::{Exit, Failure, Outcome};
use crate::mount::table::settled;
use crate::output::{Output, print, show};
use crate::progress::{self, Counted};
use crate::role::{block_on, stop_signal};
use crate::units::{Size, Span};
use crate::up::{ClusterDir, ClusterOptions, DEFAULT_DIR, Kind, Plan, ServicePlan, ServiceState};
use crate::up::{await_all, await_service, start, state, stop, stop_all};
use nyala_transport::Secret;
use nyala_wire::map::TargetKind;
use nyala_wire::mgmt::GroupOrder;
use serde::Serialize;
use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long everything together may take to work.
const UP_TIMEOUT: Duration = Duration::from_secs(60);

/// Flags of `nyala up`.
#[derive(Clone, Debug, clap::Args)]
pub struct UpArgs {
    /// Directory of the cluster: everything that it is
    #[arg(long, env = "NYALA_DIR", value_name = "DIR", default_value = DEFAULT_DIR)]
    pub dir: PathBuf,
    /// Where to mount it; made if it does not exist [default: /mnt/nyala]
    #[arg(long, env = "NYALA_MOUNT", value_name = "DIR")]
    pub mount: Option<PathBuf>,
    /// Number of management services: 1, 3 or 5 [default: 1]
    #[arg(long, value_name = "N")]
    pub mgmt: Option<u16>,
    /// Number of metadata services [default: 2]
    #[arg(long, value_name = "N")]
    pub meta: Option<u16>,
    /// Number of spare metadata services: each mirrors one of the others, and takes over when that dies [default: 0, with
    /// --mirror one for each]
    #[arg(long, value_name = "N")]
    pub meta_spares: Option<u16>,
    /// Number of storage targets [default: 4]
    #[arg(long, value_name = "N")]
    pub storage: Option<u16>,
    /// Number of storage services, which share the targets [default: 2, or fewer if there are fewer targets]
    #[arg(long, value_name = "N")]
    pub storage_services: Option<u16>,
    /// Chunk size of files [default: 512k]
    #[arg(long, value_name = "SIZE")]
    pub chunk_size: Option<Size>,
    /// Number of targets of a file [default: 4, or all if there are fewer]
    #[arg(long, value_name = "N")]
    pub targets: Option<u16>,
    /// Mirror everything: groups of all storage targets, members on different services, files mirrored by default, and a
    /// spare for each metadata service
    #[arg(long)]
    pub mirror: bool,
    /// Largest content kept with the inode; 0 turns it off [default: 4k]
    #[arg(long, value_name = "SIZE")]
    pub inline_size: Option<Size>,
    /// A client that is silent for so long loses its locks and delegations [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub session_timeout: Option<Span>,
    /// Encrypt all traffic of the cluster
    #[arg(long)]
    pub encrypt: bool,
    /// Management gets this port, REST the next, metadata from +10 on, storage from +30 on [default: the field's ports]
    #[arg(long, value_name = "PORT")]
    pub base_port: Option<u16>,
    /// Do not mount
    #[arg(long)]
    pub no_mount: bool,
    /// Stay, and take the cluster down on Ctrl-C
    #[arg(long)]
    pub foreground: bool,
    /// Start only this service of a cluster that exists (as `nyala start`)
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
}

#[derive(Serialize)]
struct Report {
    dir: PathBuf,
    mount: Option<PathBuf>,
    mgmt: String,
    rest: Option<String>,
    /// The web page.
    page: Option<String>,
    secret: PathBuf,
    services: Vec<Status>,
    targets: Vec<health_df::TargetSpace>,
}

/// Makes or starts the cluster.
pub fn run(args: UpArgs, output: Output) -> Outcome {
    let cluster_dir = ClusterDir::new(&args.dir);
    if let Some(name) = args.service {
        return super::start::start_service(&cluster_dir, &name);
    }
    let options = ClusterOptions {
        mgmt: args.mgmt,
        meta: args.meta,
        meta_spares: args.meta_spares,
        storage: args.storage,
        storage_services: args.storage_services,
        chunk_size: args.chunk_size,
        targets: args.targets,
        mirror: args.mirror,
        inline_size: args.inline_size,
        session_timeout: args.session_timeout,
        encrypt: args.encrypt,
        base_port: args.base_port,
        mount: args.mount.map(|mount| settled(&mount)).transpose()?,
    };
    cluster_dir.make()?;
    let lock = cluster_dir.lock()?;
    let plan = settle(&cluster_dir, &options)?;
    let cluster = plan.cluster(&cluster_dir)?;
    block_on(async {
        let stop = if args.foreground { Some(stop_signal()?) } else { None };
        let ran: Vec<bool> = plan.services.iter().map(|service| runs(&cluster_dir, service)).collect();
        let (up, all) =
            (Cell::new(0), plan.services.iter().filter(|s| !args.no_mount || s.kind != Kind::Mount).count());
        let look = || (up.get(), Some(all as u64));
        let work = bring_up(&cluster_dir, &plan, &cluster, (!args.no_mount, &up));
        if let Err(failure) = progress::during("up", Counted::Things("services"), look, work).await {
            stop_what_began(&cluster_dir, &plan, &ran);
            return Err(failure);
        }
        drop(lock);
        report(&cluster_dir, &plan, &cluster, !args.no_mount, output).await?;
        if let Some(stop) = stop {
            stop.await;
            let _lock = cluster_dir.lock()?;
            stop_all(&cluster_dir, &plan, false)?;
        }
        Ok(Exit::Ok)
    })
}

/// The cluster in the directory, made if there is none.
fn settle(cluster_dir: &ClusterDir, options: &ClusterOptions) -> Result<Plan, Failure> {
    if !cluster_dir.exists() {
        let plan = Plan::new(options)?;
        if !cluster_dir.secret().exists() {
            Secret::generate(&cluster_dir.secret())?;
        }
        cluster_dir.save(&plan)?;
        return Ok(plan);
    }
    let mut plan = cluster_dir.load()?;
    plan.check_options(options)?;
    if let Some(mount) = options.mount.clone().filter(|mount| *mount != plan.mount) {
        let mounted =
            plan.of(Kind::Mount).any(|service| matches!(state(cluster_dir, service), ServiceState::Running(_)));
        if mounted {
            let at = plan.mount.display();
            return Err(Failure::failed(format!(
                "the cluster is mounted at {at}; unmount it first (nyala umount {at})"
            )));
        }
        plan.mount = mount;
        cluster_dir.save(&plan)?;
    }
    Ok(plan)
}

fn runs(cluster_dir: &ClusterDir, service: &ServicePlan) -> bool {
    matches!(state(cluster_dir, service), ServiceState::Running(_))
}

/// Ends the services that did not run before: a cluster that did not come up leaves none behind.
fn stop_what_began(cluster_dir: &ClusterDir, plan: &Plan, ran: &[bool]) {
    for (service, _) in plan.services.iter().zip(ran).rev().filter(|(_, ran)| !**ran) {
        if let Err(error) = stop(cluster_dir, service, false) {
            tracing::warn!(service = service.name, %error, "a service that was started does not end");
        }
    }
}

/// Starts what does not run, and waits until everything works. `up` counts the services that do.
async fn bring_up(
    cluster_dir: &ClusterDir,
    plan: &Plan,
    cluster: &Cluster,
    (mount, up): (bool, &Cell<u64>),
) -> Result<(), Failure> {
    let deadline = Instant::now() + UP_TIMEOUT;
    // Management first: what it says when it fails is what matters then.
    for group in [&[Kind::Mgmtd][..], &[Kind::Meta, Kind::Storage]] {
        let services: Vec<&ServicePlan> = plan.services.iter().filter(|s| group.contains(&s.kind)).collect();
        let mut started = Vec::new();
        for service in &services {
            let running = matches!(state(cluster_dir, service), ServiceState::Running(_));
            started.push(if running { None } else { Some(start(cluster_dir, plan, service)?) });
        }
        for (service, started) in services.iter().zip(&mut started) {
            await_service(cluster_dir, plan, cluster, service, started.as_mut(), deadline).await?;
            up.set(up.get() + 1);
        }
    }
    await_all(cluster_dir, plan, cluster, deadline).await?;
    let groups = cluster.map().await?.groups;
    for (kind, wished) in [(TargetKind::Storage, plan.mirror), (TargetKind::Meta, plan.spares() > 0)] {
        if wished && !groups.iter().any(|group| group.kind == kind) {
            // Metadata servers without a spare stay as they are.
            let ignore_uneven = kind == TargetKind::Meta;
            let order = GroupOrder::CreateAll { kind, members: 2, ignore_space: true, ignore_uneven };
            cluster.order_groups(order).await?;
        }
    }
    let mounts = plan
        .of(Kind::Mount)
        .filter(|service| mount && !matches!(state(cluster_dir, service), ServiceState::Running(_)));
    // After a restart metadata waits that long for clients that died with it.
    let deadline = deadline + Duration::from_millis(cluster.map().await?.settings.session_timeout_ms.into());
    for service in mounts {
        let mut started = start(cluster_dir, plan, service)?;
        await_service(cluster_dir, plan, cluster, service, Some(&mut started), deadline).await?;
    }
    Ok(())
}

async fn report(
    cluster_dir: &ClusterDir,
    plan: &Plan,
    cluster: &Cluster,
    mount: bool,
    output: Output,
) -> Result<(), Failure> {
    let rest = plan.of(Kind::Mgmtd).find_map(|service| service.rest);
    let report = Report {
        dir: cluster_dir.dir().to_path_buf(),
        mount: mount.then(|| plan.mount.clone()),
        mgmt: plan.mgmt()?.to_string(),
        rest: rest.map(|rest| format!("http://{rest}/api/v1")),
        page: rest.map(|rest| format!("http://{rest}/")),
        secret: cluster_dir.secret(),
        services: collect(cluster_dir, plan, Some(cluster)).await,
        targets: health_df::collect(cluster).await?,
    };
    if output != Output::Table {
        return show(output, &report, |_| String::new()).map(|_| ());
    }
    let mut text = health_df::render(&report.targets);
    let dir = cluster_dir.dir().display();
    text += &match &report.mount {
        Some(mount) => format!("\nThe cluster in {dir} is up and mounted at {}.\n", mount.display()),
        None => format!("\nThe cluster in {dir} is up (management at {}).\n", report.mgmt),
    };
    if let Some(page) = &report.page {
        text += &format!("See it at {page}; in {dir}/mgmt are the tokens: view.token to look, rest.token to act.\n");
    }
    print(&text).map(|_| ())
}
