// SPDX-License-Identifier: Apache-2.0

//! One seed: a cluster is made, clients work while accidents happen, then all is well, everybody finishes, and what is there is
//! looked at.

use super::cluster::{Cluster, Role, Size, block_on};
use super::data_moves;
use super::faults::{Faults, Kinds, Running};
use super::moves;
use super::setup;
use super::trip::{self, Trip};
use super::work::Worker;
use crate::check::{self, ClientId, PROGRAMS, ledger, mirrors};
use crate::environment::happens;
use crate::kernel::clock::{self, SECOND};
use crate::kernel::process::{self, MachineId, Pid};
use crate::kernel::sched::Nanos;
use crate::kernel::with;
use crate::memory;
use crate::random::Random;
use crate::without::Without;
use nyala_wire::TargetId;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Operations of the clients that follow one another at one place.
const OPERATIONS: u64 = 300;
/// A cluster is made within this time.
const SETUP: Nanos = 60 * SECOND;
/// Accidents happen for at most this time.
const FAULTS_TIME: Nanos = 120 * SECOND;
/// Once all is well, everybody finishes within this time.
const QUIET: Nanos = 400 * SECOND;
/// The world looks around so often.
const STEP: Nanos = SECOND / 20;
/// A server that ended by itself is started again after a while, as init does.
const RESTART: Nanos = SECOND;
/// In runs in which bits flip, each storage target is scrubbed once in this time.
const SCRUB: Duration = Duration::from_secs(20);

/// Mirrors have settled so long after all is well, and so long after the last client.
const SETTLED: Nanos = 60 * SECOND;
const LAST_WORK: Nanos = 10 * SECOND;

/// Once all is well, chunk files that no file needs any more are removed within this time.
const REMOVALS: Nanos = 120 * SECOND;

/// Names with which directories are split, in runs in which they are.
const SPLIT_ABOVE: u64 = 3;

/// How a run is done.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub size: Size,
    pub faults: bool,
    /// What is left out of it.
    pub without: Without,
    /// One operation so many times, in place of everything else.
    pub trip: Option<(Trip, u64)>,
}

struct World {
    cluster: Cluster,
    clients: Vec<Running>,
    /// Machines of clients: each is a place.
    places: Vec<MachineId>,
    without: Arc<Without>,
    kinds: Kinds,
    random: Random,
    next_client: ClientId,
    /// Clients have several programs each.
    has_programs: bool,
    ended: Vec<(usize, Nanos)>,
    well_since: Nanos,
    /// The administrator's process, in runs in which slots move.
    administrator: Option<Pid>,
}

fn now() -> Nanos {
    with(|kernel| kernel.sched.now)
}

/// Runs it; what is wrong is in the ledger.
pub fn run(plan: Plan) {
    let mut random = Random::new(plan.seed ^ 0x5eed);
    let mut cluster = Cluster::new(plan.size, &mut random);
    // From a sequence of its own: the other seeds are what they are without this.
    let mut random_of_moves = Random::new(plan.seed ^ 0x5107);
    if plan.trip.is_none() && happens("SIM_SPLITS", || false) {
        cluster.split_above = SPLIT_ABOVE;
    }
    let data_moves = happens("SIM_DATA_MOVES", || Random::new(plan.seed ^ 0xda7a).one_in(4));
    let coded = happens("SIM_CODED", || false);
    ledger(|ledger| ledger.data_moves.are_made = (data_moves || coded) && plan.trip.is_none());
    ledger(|ledger| ledger.data_moves.are_coded = coded);
    let has_programs = happens("SIM_PROGRAMS", || Random::new(plan.seed ^ 0x9706).one_in(2));
    let kinds = Kinds::of(&mut Random::new(plan.seed ^ 0xfa17));
    if kinds.flips && plan.faults {
        cluster.scrub_interval = SCRUB;
    }
    (0..cluster.servers.len()).for_each(|number| cluster.start(number));
    let mut world = World {
        cluster,
        clients: Vec::new(),
        places: Vec::new(),
        without: Arc::new(plan.without),
        kinds,
        random,
        next_client: PROGRAMS,
        has_programs,
        ended: Vec::new(),
        well_since: 0,
        administrator: None,
    };
    let (mgmt, rest) = (world.cluster.mgmt.clone(), world.cluster.servers[0].machine);
    let targets = (plan.size.storage, plan.size.spares);
    let finished =
        world.errand("setup", SETUP, move |_| setup::run(&mgmt, rest, targets).map_err(|error| error.to_string()));
    if !finished {
        return;
    }
    ledger(|ledger| ledger.counts.clear());
    if let Some((what, times)) = plan.trip {
        return world.trip(what, times);
    }
    for _ in 0..plan.size.clients {
        let machine = process::add_machine();
        world.places.push(machine);
        world.start_client(machine);
    }
    let moves = happens("SIM_MOVES", || random_of_moves.one_in(4));
    if plan.size.meta > 1 && moves {
        ledger(|ledger| ledger.count("slots: an administrator has them moved"));
        world.administrator = Some(moves::begin(world.cluster.mgmt.clone(), random_of_moves.fork()));
    }
    world.run_under_faults(plan.faults);
    world.quiet();
}

impl World {
    fn start_client(&mut self, machine: MachineId) {
        let id = self.next_client;
        self.next_client += PROGRAMS;
        let (mgmt, random) = (self.cluster.mgmt.clone(), self.random.fork());
        let place = self.places.iter().position(|place| *place == machine).unwrap_or(0) as u64;
        if !self.without.has_client(place) {
            return;
        }
        let (without, has_programs) = (self.without.clone(), self.has_programs);
        let work = move || {
            let has = |number| without.has_operation(place, number);
            let done = block_on(async {
                let mut first = Worker::begin(id, &mgmt, random).await?;
                let mut other = has_programs.then(|| first.other_program());
                let others = async {
                    if let Some(other) = &mut other {
                        other.run(place, OPERATIONS, has).await;
                    }
                };
                tokio::join!(first.run(place, OPERATIONS, has), others);
                first.end().await
            });
            if let Err(error) = done {
                tracing::info!("client {id} ends with: {error}");
                ledger(|ledger| {
                    ledger.count("a client ended with an error");
                    ledger.gone(id, now());
                });
            }
            process::exit(0);
        };
        let process = process::begin(machine, &format!("client{id}"), work);
        self.clients.push(Running { id, machine, process });
    }

    /// Servers that ended by themselves start again.
    fn supervise(&mut self) {
        for number in 0..self.cluster.servers.len() {
            let server = &mut self.cluster.servers[number];
            if server.process.is_some_and(|process| !process::is_alive(process)) {
                server.process = None;
                server.ended += 1;
                server.rack.process_ended();
                self.ended.push((number, now() + RESTART));
                ledger(|ledger| ledger.count("a server ended by itself"));
            }
        }
        while let Some(at) = self.ended.iter().position(|(_, at)| *at <= now()) {
            let (number, _) = self.ended.swap_remove(at);
            self.cluster.start(number);
        }
        self.clients.retain(|client| process::is_alive(client.process));
    }

    /// One operation so many times.
    fn trip(&mut self, what: Trip, times: u64) {
        // Changes of the world that the client has asked for, and that were made: a primary dies, comes back, the other one dies, …
        static ASKED: AtomicU64 = AtomicU64::new(0);
        static DONE: AtomicU64 = AtomicU64::new(0);
        let (mgmt, machine) = (self.cluster.mgmt.clone(), process::add_machine());
        let process = process::begin(machine, "trip", move || {
            let change = || {
                let number = ASKED.fetch_add(1, Ordering::Relaxed) + 1;
                while DONE.load(Ordering::Relaxed) < number {
                    clock::sleep(STEP);
                }
            };
            let done = block_on(trip::run(&mgmt, what, times, change));
            let wrong = done.err().map(|error| error.to_string());
            ledger(|ledger| ledger.found("nobody is refused once all is well", wrong));
            process::exit(0);
        });
        let mut killed = None;
        while process::is_alive(process) {
            clock::sleep(STEP);
            self.supervise();
            let asked = ASKED.load(Ordering::Relaxed);
            if asked > DONE.load(Ordering::Relaxed) {
                match killed.take() {
                    None => killed = Some(self.kill_member(asked as usize / 2)),
                    Some(number) => {
                        self.cluster.start(number);
                        clock::sleep(20 * SECOND);
                    }
                }
                DONE.store(asked, Ordering::Relaxed);
            }
        }
    }

    /// Members of the group take turns: the first one is primary at first, then the one that stayed.
    fn kill_member(&mut self, turn: usize) -> usize {
        let mut members = self.cluster.with_role(Role::Storage);
        members.sort_by_key(|number| self.cluster.target_of(*number));
        let number = members[turn % 2];
        self.cluster.stop(number, false);
        number
    }

    fn run_under_faults(&mut self, faults: bool) {
        let mut accidents = Faults::new(self.random.fork(), self.kinds, (*self.without).clone());
        let end = now() + FAULTS_TIME;
        while now() < end && !self.clients.is_empty() {
            clock::sleep(STEP);
            if faults {
                accidents.go_on(&mut self.cluster, &self.clients);
            }
            self.supervise();
            for machine in std::mem::take(&mut accidents.to_restart) {
                self.start_client(machine);
            }
        }
        accidents.end_all(&mut self.cluster, &self.clients);
        let well = now();
        self.well_since = well;
        ledger(|ledger| {
            ledger.accidents = accidents.number;
            ledger.waits.all_is_well(well);
        });
        moves::stop();
        with(|kernel| kernel.trace.say("all is well"));
        tracing::info!("ALL IS WELL");
    }

    /// Nobody waits for ever once all is well.
    fn quiet(&mut self) {
        let end = now() + QUIET;
        let works = |world: &World| world.administrator.is_some_and(process::is_alive) || !world.clients.is_empty();
        while works(self) && now() < end {
            clock::sleep(STEP);
            self.supervise();
            let time = now();
            if let Some(late) = ledger(|ledger| ledger.waits.judge(time)) {
                return ledger(|ledger| ledger.found("nobody waits for ever", Some(late)));
            }
        }
        if !self.clients.is_empty() {
            let waiting: Vec<_> = self.clients.iter().map(|client| client.id).collect();
            ledger(|ledger| {
                let late = format!("clients {waiting:?} do not finish: {}", ledger.waits.describe());
                ledger.found("nobody waits for ever", Some(late));
            });
            return;
        }
        if self.administrator.is_some_and(process::is_alive) {
            ledger(|ledger| ledger.found("nobody waits for ever", Some("the administrator does not end".into())));
        }
        if self.administrator.is_some() && !self.errand("moves", QUIET, moves::wait) {
            return;
        }
        let (mgmt, id, random) = (self.cluster.mgmt.clone(), self.next_client, self.random.fork());
        self.errand("look", QUIET, move |_| {
            block_on(async { Worker::begin(id, &mgmt, random).await?.look_at_all().await })
                .map_err(|error| error.to_string())
        });
        ledger(crate::check::Ledger::judge_names);
        self.memory_is_bounded();
        // Members settle what was under way when one of them was cut off, and what the last client did.
        let settled = self.well_since + SETTLED;
        clock::sleep(settled.saturating_sub(now()).max(LAST_WORK));
        if !self.cluster.scrub_interval.is_zero() {
            // Each target is read once, and what was found is looked at again.
            self.run_for(3 * SCRUB.as_nanos() as Nanos);
        }
        self.nothing_is_left_of_moves();
        if self.administrator.is_some() {
            self.slots_agree();
        }
        self.mirrors_agree();
    }

    fn memory_is_bounded(&self) {
        for server in &self.cluster.servers {
            let Some(live) = server.process.and_then(memory::live) else { continue };
            ledger(|ledger| {
                let most = ledger.most.entry(format!("bytes that a {:?} service holds in the end", server.role));
                let most = most.or_default();
                *most = (*most).max(live.max(0) as u64);
                ledger.found("memory is bounded", check::memory::judge(&server.name, live));
            });
        }
    }

    fn run_for(&mut self, span: Nanos) {
        let end = now() + span;
        while now() < end {
            clock::sleep(STEP);
            self.supervise();
        }
    }

    /// Metadata has what was moved removed by and by.
    fn nothing_is_left_of_moves(&mut self) {
        let end = now() + REMOVALS;
        while data_moves::judge(&self.cluster).is_some() && now() < end {
            self.run_for(SECOND);
        }
        let wrong = data_moves::judge(&self.cluster);
        ledger(|ledger| ledger.found("nothing is left where data was before it was moved", wrong));
    }

    fn slots_agree(&mut self) {
        self.errand("the last map", SETUP, moves::wait);
        let servers = self.cluster.with_role(Role::Meta);
        let id = |cluster: &Cluster, number| cluster.metadata_of(number).map_or(TargetId(0), TargetId);
        let targets: Vec<_> = servers
            .into_iter()
            .map(|number| {
                self.cluster.stop(number, false);
                (id(&self.cluster, number), self.cluster.servers[number].rack.clone())
            })
            .collect();
        self.errand("slots", SETUP, move |_| {
            let wrong = moves::judge(&targets).err();
            ledger(|ledger| {
                ledger.count("slots: all judged");
                ledger.found("every slot is at one server in the end", wrong);
            });
            Ok(())
        });
    }

    fn mirrors_agree(&mut self) {
        // The group is of the targets with the lowest ids, which management gives as services come.
        let mut members = self.cluster.with_role(Role::Storage);
        members.sort_by_key(|number| self.cluster.target_of(*number));
        if let [first, second, _, ..] = members[..] {
            let named = [first, second].map(|number| (number, self.cluster.target_of(number)));
            let racks = [first, second].map(|number| {
                // Their stores are asked, which only one process may have open.
                self.cluster.stop(number, false);
                self.cluster.servers[number].rack.clone()
            });
            self.errand("compare", SETUP, move |_| {
                let [one, other] = &racks;
                let blocks = (one.blocks()?, other.blocks()?);
                let damaged = ledger(|ledger| ledger.damaged.clone());
                let mirrored = |name: &str| ledger(|ledger| ledger.is_mirrored(name));
                let wrong = mirrors::judge((&one.chunks, &blocks.0), (&other.chunks, &blocks.1), mirrored, &damaged);
                let wrong = wrong.map(|wrong| format!("{named:?}: {wrong}"));
                let known = blocks.0.present.iter().filter(|(name, _)| one.chunks.read(name).is_some()).count() as u64;
                ledger(|ledger| {
                    *ledger.counts.entry("blocks of mirrors compared".into()).or_default() += known;
                    ledger.found("mirrors agree in the end", wrong);
                });
                Ok(())
            });
        }
    }

    /// Runs work in a process of its own, until it ends or the time is over; whether it ended well.
    fn errand(
        &mut self,
        name: &'static str,
        most: Nanos,
        work: impl FnOnce(&[SocketAddr]) -> Result<(), String> + Send + 'static,
    ) -> bool {
        let (machine, mgmt) = (process::add_machine(), self.cluster.mgmt.clone());
        let process = process::begin(machine, name, move || {
            let done = work(&mgmt);
            if let Err(error) = &done {
                ledger(|ledger| ledger.found("nobody is refused once all is well", Some(format!("{name}: {error}"))));
            }
            process::exit(i32::from(done.is_err()));
        });
        let end = now() + most;
        while process::is_alive(process) && now() < end {
            clock::sleep(STEP);
            self.supervise();
        }
        if process::is_alive(process) {
            ledger(|ledger| ledger.found("nobody waits for ever", Some(format!("{name} does not end"))));
            return false;
        }
        with(|kernel| kernel.processes[process].exit) == Some(0)
    }
}
