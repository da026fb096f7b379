// SPDX-License-Identifier: Apache-2.0

//! Accidents: which, when, and how each ends. All of them are over before the quiet phase begins.

use super::cluster::{Cluster, Role, SESSION_TIMEOUT};
use crate::check::{ClientId, ledger};
use crate::kernel::clock::{MILLI, SECOND};
use crate::kernel::process::{self, MachineId, Pid};
use crate::kernel::sched::Nanos;
use crate::kernel::{net, with};
use crate::random::Random;

/// The longest time that an accident lasts.
const LONGEST: Nanos = 13 * SECOND;
/// A client that was cut off knows what it has lost after this time.
const AFTERMATH: Nanos = 20 * SECOND;

/// A client's process, which may be a later life.
pub struct Running {
    pub id: ClientId,
    pub machine: MachineId,
    pub process: Pid,
}

/// What ends an accident, or belongs to one and comes later.
enum End {
    Kill(usize),
    Start(usize),
    Unblock(Vec<(MachineId, MachineId)>),
    Faster(Vec<(MachineId, MachineId)>),
    Pace(usize),
    Replace(usize),
}

/// The accidents of a run.
pub struct Faults {
    random: Random,
    ends: Vec<(Nanos, End)>,
    next: Nanos,
    /// Between two of them, about.
    apart: Nanos,
    /// Power fails as soon as a client is told that something is synced.
    lurking: bool,
    /// Whether there is such an accident.
    cuts_after_syncs: bool,
    /// Only metadata servers fail, by themselves or towards each other: all is there that clients were told, whatever those lose.
    only_metadata: bool,
    /// Clients that were killed and are to start again, by machine.
    pub to_restart: Vec<MachineId>,
}

fn now() -> Nanos {
    with(|kernel| kernel.sched.now)
}

impl Faults {
    pub fn new(mut random: Random) -> Faults {
        let apart = *random.pick(&[SECOND / 2, 2 * SECOND, 5 * SECOND]);
        let cuts_after_syncs = std::env::var_os("SIM_SYNC_CUTS").is_some();
        let only_metadata = random.one_in(3);
        let (next, ends, to_restart) = (now() + apart, Vec::new(), Vec::new());
        Faults { random, ends, next, apart, lurking: false, cuts_after_syncs, only_metadata, to_restart }
    }

    /// Makes what is due, and ends what is over.
    pub fn go_on(&mut self, cluster: &mut Cluster, clients: &[Running]) {
        let due = |(at, _): &(Nanos, End)| *at <= now();
        while let Some(at) = self.ends.iter().position(due) {
            let (_, end) = self.ends.swap_remove(at);
            self.end(cluster, end);
        }
        let told = ledger(|ledger| ledger.take_told_synced());
        if told && std::mem::take(&mut self.lurking) {
            self.cut_synced(cluster);
        }
        if now() >= self.next {
            self.next = now() + self.apart / 2 + self.random.below(self.apart);
            self.one(cluster, clients);
        }
    }

    /// Ends all of them.
    pub fn end_all(&mut self, cluster: &mut Cluster) {
        while let Some((_, end)) = self.ends.pop() {
            self.end(cluster, end);
        }
    }

    fn end(&mut self, cluster: &mut Cluster, end: End) {
        match end {
            End::Kill(server) => {
                if cluster.servers[server].process.is_some() {
                    cluster.stop(server, false);
                    self.later(End::Start(server));
                }
            }
            End::Start(server) => {
                process::restore_power(cluster.servers[server].machine);
                cluster.start(server);
            }
            End::Replace(server) => {
                cluster.servers[server].rack.fail_not();
                if cluster.servers[server].process.is_some() {
                    cluster.stop(server, false);
                    cluster.start(server);
                }
            }
            End::Unblock(ways) => ways.into_iter().for_each(|(from, to)| net::block(from, to, false)),
            End::Faster(ways) => ways.into_iter().for_each(|(from, to)| net::slow(from, to, 0)),
            End::Pace(server) => cluster.servers[server].rack.set_pace(2 * MILLI),
        }
    }

    fn later(&mut self, end: End) {
        let at = now() + *self.random.pick(&[SECOND / 5, SECOND, 4 * SECOND, 12 * SECOND]) + self.random.below(SECOND);
        self.ends.push((at, end));
    }

    /// A server, and what happens to it, or elsewhere.
    fn which(&mut self, cluster: &Cluster) -> (usize, u64) {
        match self.only_metadata {
            false => (self.random.index(cluster.servers.len()), self.random.below(20)),
            true => {
                (*self.random.pick(&cluster.with_role(Role::Meta)), *self.random.pick(&[0, 2, 5, 6, 7, 8, 12, 13, 15]))
            }
        }
    }

    fn one(&mut self, cluster: &mut Cluster, clients: &[Running]) {
        let (server, what) = self.which(cluster);
        let name = cluster.servers[server].name.clone();
        let say = |what: &str| {
            ledger(|ledger| ledger.count(&format!("fault: {what}")));
            with(|kernel| kernel.trace.say(&format!("{what} {name}")));
            tracing::info!("ACCIDENT {what} {name}");
        };
        match what {
            0..2 => {
                say("connections break");
                (0..=self.random.below(6)).for_each(|_| net::break_one(&mut self.random));
            }
            2..5 if cluster.servers[server].process.is_some() => {
                say("kill");
                cluster.stop(server, false);
                self.later(End::Start(server));
            }
            5..8 if cluster.servers[server].process.is_some() => {
                say("power cut");
                let (role, at) = (cluster.servers[server].role, now());
                if role != Role::Mgmt {
                    ledger(|ledger| ledger.power_cut(at, role == Role::Meta));
                }
                cluster.stop(server, true);
                self.later(End::Start(server));
            }
            8..11 => {
                say("partition");
                let ways = self.ways(cluster, clients, server);
                ways.iter().for_each(|(from, to)| net::block(*from, *to, true));
                self.later(End::Unblock(ways));
            }
            11 => {
                say("slow network");
                let ways = self.ways(cluster, clients, server);
                let by = self.random.range(MILLI..200 * MILLI);
                ways.iter().for_each(|(from, to)| net::slow(*from, *to, by));
                self.later(End::Faster(ways));
            }
            12 => {
                say("slow disk");
                cluster.servers[server].rack.set_pace(self.random.range(50 * MILLI..4 * SECOND));
                self.later(End::Pace(server));
            }
            13 => {
                say("stands still");
                let span = self.random.range(SECOND / 10..8 * SECOND);
                cluster.servers[server].process.into_iter().for_each(|process| process::stand(process, span));
            }
            14 => {
                say("a write or sync fails");
                let over = now() + 20 * SECOND;
                ledger(|ledger| ledger.disk_fails(over));
                cluster.servers[server].rack.fail_soon(&mut self.random);
                // Somebody looks after it: a service that has lost a sync says so and has to be started again.
                self.ends.push((over - 5 * SECOND, End::Replace(server)));
            }
            15 => {
                say("power cut of all");
                self.cut_all(cluster);
            }
            16 | 17 if self.cuts_after_syncs => self.lurking = true,
            _ => self.strike_client(cluster, clients),
        }
    }

    /// Right after a sync, those that may have said yes lose power: one of them, or all of a kind.
    fn cut_synced(&mut self, cluster: &mut Cluster) {
        let role = *self.random.pick(&[Role::Storage, Role::Storage, Role::Meta]);
        let mut servers = cluster.with_role(role);
        if self.random.one_in(2) {
            servers = vec![*self.random.pick(&servers)];
        }
        let at = now();
        ledger(|ledger| {
            ledger.count("fault: power cut after a sync");
            ledger.power_cut(at, role == Role::Meta);
        });
        tracing::info!("ACCIDENT power cut after a sync of {} servers", servers.len());
        self.cut(cluster, &servers);
    }

    /// A whole site loses power; its servers come back one by one.
    fn cut_all(&mut self, cluster: &mut Cluster) {
        let at = now();
        ledger(|ledger| ledger.power_cut(at, self.only_metadata));
        let servers = match self.only_metadata {
            true => cluster.with_role(Role::Meta),
            false => (0..cluster.servers.len()).collect(),
        };
        self.cut(cluster, &servers);
    }

    fn cut(&mut self, cluster: &mut Cluster, servers: &[usize]) {
        for server in servers {
            if cluster.servers[*server].process.is_some() {
                cluster.stop(*server, true);
                self.later(End::Start(*server));
            }
        }
    }

    fn strike_client(&mut self, cluster: &Cluster, clients: &[Running]) {
        if clients.is_empty() {
            return;
        }
        let client = &clients[self.random.index(clients.len())];
        if !process::is_alive(client.process) {
            return;
        }
        if self.random.one_in(2) {
            let span = self.random.range(SECOND..12 * SESSION_TIMEOUT.as_nanos() as u64);
            ledger(|ledger| {
                ledger.count("fault: client stands still");
                ledger.away(client.id, now(), now() + span + AFTERMATH);
            });
            tracing::info!("ACCIDENT client {} stands still for {} s", client.id, span / SECOND);
            process::stand(client.process, span);
            // About when its session ends, a server is away or starts again: what it is to remember of that session is needed.
            let around = now() + self.random.below(2 * SESSION_TIMEOUT.as_nanos() as u64);
            let role = *self.random.pick(&[Role::Storage, Role::Meta]);
            let server = *self.random.pick(&cluster.with_role(role));
            self.ends.push((around, End::Kill(server)));
        } else {
            tracing::info!("ACCIDENT client {} is killed", client.id);
            process::kill(client.process);
            let at = now();
            ledger(|ledger| {
                ledger.count("fault: client is killed");
                ledger.lost(client.id, at);
            });
            self.to_restart.push(client.machine);
        }
    }

    /// Ways between a server's machine and some or all others, in one direction or both.
    fn ways(&mut self, cluster: &Cluster, clients: &[Running], server: usize) -> Vec<(MachineId, MachineId)> {
        let it = cluster.servers[server].machine;
        let servers = cluster.servers.iter().map(|server| server.machine);
        let clients = if self.only_metadata { &[] } else { clients };
        let all: Vec<MachineId> = servers.chain(clients.iter().map(|client| client.machine)).collect();
        let some = self.random.one_in(2);
        let direction = self.random.below(4);
        let mut ways = Vec::new();
        let until = now() + LONGEST + AFTERMATH;
        for other in all.into_iter().filter(|other| *other != it) {
            if some && self.random.one_in(2) {
                continue;
            }
            let both = [(it, other), (other, it)];
            ways.extend(both.into_iter().enumerate().filter(|(at, _)| direction != *at as u64).map(|(_, way)| way));
            // A client that is cut off may lose its session.
            let cut_off = clients.iter().filter(|client| client.machine == other);
            cut_off.for_each(|client| ledger(|ledger| ledger.away(client.id, now(), until)));
        }
        ways
    }
}
