// SPDX-License-Identifier: Apache-2.0

//! Machines, and processes on them: begin, are killed, stand still, lose power.

use super::own_clock::OwnClock;
use super::sched::{self, Nanos, State, Tid};
use super::{Kernel, fds, files, real, runs, threads, with};
use libc::c_int;
use std::net::Ipv4Addr;

/// A process, never used again.
pub type Pid = usize;
/// A machine.
pub type MachineId = usize;

/// The process of the world itself: what begins others and makes faults.
pub const WORLD: Pid = 0;

pub struct Process {
    pub name: String,
    pub machine: MachineId,
    pub alive: bool,
    /// Its threads get no turn before.
    pub stands_until: Nanos,
    /// It ended by itself, and so.
    pub exit: Option<i32>,
}

impl Process {
    pub fn world() -> Process {
        Process { name: "world".into(), machine: 0, alive: true, stands_until: 0, exit: None }
    }
}

#[derive(Default)]
pub struct Machine {
    /// Without power since; it answers nothing.
    pub down_since: Option<Nanos>,
    pub clock: OwnClock,
}

/// The address of a machine.
pub fn address(machine: MachineId) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, machine as u8 + 1)
}

/// The machine with an address.
pub fn machine_of(address: Ipv4Addr) -> Option<MachineId> {
    let [10, 0, 0, last] = address.octets() else { return None };
    usize::from(last).checked_sub(1)
}

/// A new machine, with power.
pub fn add_machine() -> MachineId {
    with(|kernel| {
        kernel.machines.push(Machine::default());
        kernel.net.add_machine();
        kernel.machines.len() - 1
    })
}

/// Begins a process, whose first thread does `work`.
pub fn begin(machine: MachineId, name: &str, work: impl FnOnce() + Send + 'static) -> Pid {
    let process = with(|kernel| {
        kernel.processes.push(Process { name: name.into(), machine, ..Process::world() });
        kernel.processes.len() - 1
    });
    let begun = threads::in_process(process, || std::thread::Builder::new().name(name.into()).spawn(work));
    drop(begun.expect("the real kernel has threads left"));
    process
}

impl Kernel {
    /// No thread of the process runs again; what the kernel does with its descriptors is up to the caller.
    fn stop_threads(&mut self, process: Pid) {
        self.processes[process].alive = false;
        let of = |(tid, thread): (Tid, &sched::Thread)| {
            (thread.process == process && thread.state != State::Ended).then_some(tid)
        };
        let threads: Vec<Tid> = self.sched.threads.iter().enumerate().filter_map(of).collect();
        for thread in threads {
            self.futexes.retain(|(_, waiter)| *waiter != thread);
            self.epolls.iter_mut().for_each(|epoll| epoll.waiters.retain(|waiter| *waiter != thread));
            self.sched.kill(thread);
        }
    }
}

/// Kills a process, as with signal 9: its connections end.
pub fn kill(process: Pid) {
    let killed = with(|kernel| {
        let alive = kernel.processes[process].alive;
        kernel.trace.event("kill", &[process as u64]);
        kernel.stop_threads(process);
        alive
    });
    if killed {
        fds::close_all_of(process);
        files::unlock_all_of(process);
    }
}

/// Takes the power from a machine: its processes are gone, and nobody hears of it.
pub fn cut_power(machine: MachineId) {
    let processes = with(|kernel| {
        kernel.trace.event("power-cut", &[machine as u64]);
        let now = kernel.sched.now;
        kernel.machines[machine].down_since.get_or_insert(now);
        let on = |(pid, process): (Pid, &Process)| (process.machine == machine && process.alive).then_some(pid);
        let processes: Vec<Pid> = kernel.processes.iter().enumerate().filter_map(on).collect();
        processes.iter().for_each(|process| kernel.stop_threads(*process));
        kernel.sockets_vanish(machine);
        processes
    });
    for process in processes {
        fds::close_all_of(process);
        files::unlock_all_of(process);
    }
}

/// Gives the power back. Nothing runs on the machine yet.
pub fn restore_power(machine: MachineId) {
    with(|kernel| {
        kernel.trace.event("power", &[machine as u64]);
        kernel.machines[machine].down_since = None;
    });
}

/// Lets a process stand still for a time, as with SIGSTOP.
pub fn stand(process: Pid, span: Nanos) {
    with(|kernel| {
        kernel.trace.event("stands", &[process as u64, span]);
        let until = kernel.sched.now + span;
        kernel.processes[process].stands_until = until;
        kernel.sched.all_go_on = until.max(kernel.sched.all_go_on);
    });
}

/// A process that stands still goes on after this time, if it were not to go on earlier; whether it stood that long.
pub fn stand_at_most(process: Pid, span: Nanos) -> bool {
    with(|kernel| {
        let (until, most) = (kernel.processes[process].stands_until, kernel.sched.now + span);
        kernel.processes[process].stands_until = until.min(most);
        until > most
    })
}

/// Whether a process runs or could.
pub fn is_alive(process: Pid) -> bool {
    with(|kernel| kernel.processes[process].alive)
}

/// Only one thread of a real process may call `exit`: from the second one on, std lets them pause instead.
#[unsafe(no_mangle)]
extern "C" fn pause() -> c_int {
    exit(-1)
}

/// Ends the process of the thread that calls it.
#[unsafe(no_mangle)]
pub extern "C" fn exit(code: c_int) -> ! {
    let process = if runs() { with(|kernel| kernel.sched.threads[sched::me()].process) } else { WORLD };
    if process == WORLD {
        real::end(code);
    }
    with(|kernel| kernel.processes[process].exit = Some(code));
    kill(process);
    sched::never_again()
}
