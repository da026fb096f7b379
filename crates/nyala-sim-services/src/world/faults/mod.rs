// SPDX-License-Identifier: Apache-2.0

//! Accidents: which, when, and how each ends. All of them are over before the quiet phase begins.

mod clocks;
mod disks;

use super::cluster::{Cluster, Role, SESSION_TIMEOUT};
use crate::check::{ClientId, ledger};
use crate::environment::happens;
use crate::kernel::clock::{MILLI, SECOND};
use crate::kernel::process::{self, MachineId, Pid};
use crate::kernel::sched::Nanos;
use crate::kernel::{clock, net, own_clock, with};
use crate::random::Random;
use crate::without::Without;
use disks::Flip;

/// The longest time that an accident lasts.
const LONGEST: Nanos = 13 * SECOND;
/// So long a client stands still at most once all is well: its sessions end in that time.
const LAST_STAND: Nanos = 2 * SESSION_TIMEOUT.as_nanos() as Nanos + 5 * SECOND;
/// A client that was cut off knows what it has lost after this time, if there is somebody to tell it.
const AFTERMATH: Nanos = 20 * SECOND;

/// A client's process, which may be a later life.
pub struct Running {
    pub id: ClientId,
    pub machine: MachineId,
    pub process: Pid,
}

/// What ends an accident, or belongs to one and comes later.
enum End {
    Kill(usize, Random),
    Start(usize),
    Unblock(Vec<(MachineId, MachineId)>),
    Faster(Vec<(MachineId, MachineId)>),
    Pace(usize),
    Replace(usize),
    Empty(usize),
    FlipBack(Flip),
    EvenClock(MachineId),
    RightDay(MachineId),
}

/// Kinds of accidents that only some runs have, so that the checks of the others can be stricter.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// Bits flip on disks.
    pub flips: bool,
    /// Disks are full for a while.
    full: bool,
    /// Clocks run apart.
    clocks: bool,
    /// Only metadata servers fail, by themselves or towards each other: all is there that clients were told, whatever those lose.
    only_metadata: bool,
    /// Power fails right after something was synced.
    cuts_after_syncs: bool,
}

impl Kinds {
    /// Those of a run.
    pub fn of(random: &mut Random) -> Kinds {
        let only_metadata = random.one_in(3);
        let mut has = |variable: &str, times: u64| {
            let by_chance = random.one_in(times);
            happens(variable, || by_chance)
        };
        let (flips, full, clocks) = (has("SIM_FLIPS", 3), has("SIM_FULL", 3), has("SIM_CLOCKS", 3));
        let (flips, full) = (flips && !only_metadata, full && !only_metadata);
        Kinds { flips, full, clocks, only_metadata, cuts_after_syncs: happens("SIM_SYNC_CUTS", || false) }
    }

    /// Draws one of the accidents that there are, by its number in [`Faults::one`].
    fn draw(self, random: &mut Random) -> u64 {
        let usual: &[u64] = match self.only_metadata {
            true => &[0, 2, 5, 6, 7, 8, 12, 13, 15],
            false => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19],
        };
        let more: [(bool, &[u64]); 3] =
            [(self.flips, &[20, 20, 20, 21]), (self.full, &[22, 22, 22]), (self.clocks, &[23, 23, 24])];
        let more = more.iter().filter(|(has, _)| *has).flat_map(|(_, numbers)| numbers.iter());
        *random.pick(&usual.iter().chain(more).copied().collect::<Vec<_>>())
    }
}

/// The accidents of a run.
pub struct Faults {
    random: Random,
    kinds: Kinds,
    without: Without,
    /// Accidents so far, with those that are left out.
    pub number: u64,
    ends: Vec<(Nanos, End)>,
    next: Nanos,
    /// Between two of them, about.
    apart: Nanos,
    /// Power fails as soon as a client is told that something is synced; what draws how.
    lurking: Option<Random>,
    /// The one storage server whose bits flip: what it has of a mirrored file, another one has whole.
    flipping: u64,
    /// Clients that were killed and are to start again, by machine.
    pub to_restart: Vec<MachineId>,
}

fn now() -> Nanos {
    with(|kernel| kernel.sched.now)
}

impl Faults {
    pub fn new(mut random: Random, kinds: Kinds, without: Without) -> Faults {
        let apart = *random.pick(&[SECOND / 2, 2 * SECOND, 5 * SECOND]);
        let (next, ends, to_restart) = (now() + apart, Vec::new(), Vec::new());
        let (lurking, flipping) = (None, random.bits());
        Faults { random, kinds, without, number: 0, ends, next, apart, lurking, flipping, to_restart }
    }

    /// Makes what is due, and ends what is over.
    pub fn go_on(&mut self, cluster: &mut Cluster, clients: &[Running]) {
        let due = |(at, _): &(Nanos, End)| *at <= now();
        while let Some(at) = self.ends.iter().position(due) {
            let (_, end) = self.ends.swap_remove(at);
            self.end(cluster, end);
        }
        let told = ledger(|ledger| ledger.take_told_synced());
        if let Some(own) = self.lurking.take_if(|_| told) {
            self.by(own, |faults| faults.cut_synced(cluster));
        }
        if now() >= self.next {
            self.next = now() + self.apart / 2 + self.random.below(self.apart);
            let (own, number) = (self.random.fork(), self.number);
            self.number += 1;
            if self.without.has_accident(number) {
                self.by(own, |faults| faults.one(cluster, clients));
            }
        }
    }

    /// Does something by chance of its own: that an accident is left out changes nothing for the others.
    fn by(&mut self, own: Random, work: impl FnOnce(&mut Faults)) {
        let all = std::mem::replace(&mut self.random, own);
        work(self);
        self.random = all;
    }

    /// Ends all of them. Clients that stand still have lost their sessions before they go on, as they would have later.
    pub fn end_all(&mut self, cluster: &mut Cluster, clients: &[Running]) {
        while let Some((_, end)) = self.ends.pop() {
            self.end(cluster, end);
        }
        for client in clients {
            if process::stand_at_most(client.process, LAST_STAND) {
                ledger(|ledger| ledger.back_by(client.id, now() + LAST_STAND + AFTERMATH));
            }
        }
    }

    fn end(&mut self, cluster: &mut Cluster, end: End) {
        match end {
            End::Kill(server, own) => {
                if cluster.servers[server].process.is_some() {
                    cluster.stop(server, false);
                    self.by(own, |faults| faults.later(End::Start(server)));
                }
            }
            End::Start(server) => {
                process::restore_power(cluster.servers[server].machine);
                cluster.start(server);
            }
            End::Empty(server) => cluster.servers[server].rack.empty(),
            End::FlipBack(flip) => flip.back(cluster),
            End::EvenClock(machine) => clock::set_rate(machine, own_clock::EVEN),
            End::RightDay(machine) => clock::set_day(machine, 0),
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
        let server = match self.kinds.only_metadata {
            false => self.random.index(cluster.servers.len()),
            true => *self.random.pick(&cluster.with_role(Role::Meta)),
        };
        (server, self.kinds.draw(&mut self.random))
    }

    fn one(&mut self, cluster: &mut Cluster, clients: &[Running]) {
        let (server, what) = self.which(cluster);
        let name = cluster.servers[server].name.clone();
        let say = |what: &str| {
            ledger(|ledger| ledger.count(&format!("fault: {what}")));
            with(|kernel| kernel.trace.say(&format!("{what} {name}")));
            tracing::info!("ACCIDENT {what} {name}");
        };
        if cluster.servers[server].role != Role::Storage {
            ledger(|ledger| ledger.tell_later(now(), now() + LONGEST + AFTERMATH));
        }
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
            16 | 17 if self.kinds.cuts_after_syncs => self.lurking = Some(self.random.fork()),
            20.. => self.of_disks_and_clocks(cluster, clients, server, what),
            _ => self.strike_client(cluster, clients),
        }
    }

    /// Those that only some runs have.
    fn of_disks_and_clocks(&mut self, cluster: &mut Cluster, clients: &[Running], server: usize, what: u64) {
        let random = &mut self.random;
        match what {
            20 => {
                let storage = cluster.with_role(Role::Storage);
                let server = storage[(self.flipping % storage.len() as u64) as usize];
                disks::flip_chunks(random, &cluster.servers[server]);
            }
            21 => {
                let flip = disks::flip_log(random, cluster, server);
                self.ends.extend(flip.map(|flip| (now() + disks::REFUSES, End::FlipBack(flip))));
            }
            22 => {
                disks::fill(random, &cluster.servers[server]);
                // What a client has written and not synced may not fit any more: its next sync says so.
                ledger(|ledger| ledger.disk_fails(now() + LONGEST + AFTERMATH));
                self.later(End::Empty(server));
            }
            _ => {
                let servers = cluster.servers.iter().map(|server| server.machine);
                let all: Vec<MachineId> = servers.chain(clients.iter().map(|client| client.machine)).collect();
                let machine = *random.pick(&all);
                let end = match what {
                    23 => {
                        clocks::change_rate(random, machine);
                        End::EvenClock(machine)
                    }
                    _ => {
                        clocks::set_day(random, machine);
                        End::RightDay(machine)
                    }
                };
                // Often until the end of all accidents.
                let long = random.one_in(2);
                let over = if long { Nanos::MAX } else { now() + random.range(SECOND..30 * SECOND) };
                self.ends.push((over, end));
            }
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
        ledger(|ledger| {
            ledger.power_cut(at, self.kinds.only_metadata);
            ledger.tell_later(at, at + LONGEST + AFTERMATH);
        });
        let servers = match self.kinds.only_metadata {
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
            let own = self.random.fork();
            self.ends.push((around, End::Kill(server, own)));
        } else {
            tracing::info!("ACCIDENT client {} is killed", client.id);
            process::kill(client.process);
            let at = now();
            ledger(|ledger| {
                ledger.count("fault: client is killed");
                ledger.gone(client.id, at);
            });
            self.to_restart.push(client.machine);
        }
    }

    /// Ways between a server's machine and some or all others, in one direction or both.
    fn ways(&mut self, cluster: &Cluster, clients: &[Running], server: usize) -> Vec<(MachineId, MachineId)> {
        let it = cluster.servers[server].machine;
        let servers = cluster.servers.iter().map(|server| server.machine);
        let clients = if self.kinds.only_metadata { &[] } else { clients };
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
