// SPDX-License-Identifier: Apache-2.0

//! `nyala start NAME`: starts one service of the cluster of `nyala up`.

use crate::exit::{Exit, Outcome};
use crate::progress::{self, Counted};
use crate::role::block_on;
use crate::up::{DEFAULT_DIR, Home, ServiceState, await_service, start, state};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long it may take to work.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Flags of `nyala start`.
#[derive(Clone, Debug, clap::Args)]
pub struct StartArgs {
    /// The service, as `nyala status` names it: mgmt, meta1, storage2, mount, …
    pub name: String,
    /// Directory of the cluster
    #[arg(long, env = "NYALA_DIR", value_name = "DIR", default_value = DEFAULT_DIR)]
    pub dir: PathBuf,
}

/// Starts a service and waits until it answers.
pub fn run(args: StartArgs) -> Outcome {
    start_service(&Home::new(&args.dir), &args.name)
}

/// Starts a service, unless it runs, and waits until it answers.
pub fn start_service(home: &Home, name: &str) -> Outcome {
    let plan = home.load()?;
    let service = plan.service(name)?;
    let _lock = home.lock()?;
    let cluster = plan.cluster(home)?;
    let mut started = match state(home, service) {
        ServiceState::Running(_) => None,
        ServiceState::Stopped => Some(start(home, &plan, service)?),
    };
    let deadline = Instant::now() + START_TIMEOUT;
    let wait = await_service(home, &plan, &cluster, service, started.as_mut(), deadline);
    let what = format!("start of {name}");
    block_on(progress::during(&what, Counted::Things("services"), || (0, Some(1)), wait))?;
    Ok(Exit::Ok)
}
