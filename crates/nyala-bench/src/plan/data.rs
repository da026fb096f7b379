// SPDX-License-Identifier: Apache-2.0

//! Workloads that move file content.

use super::{Phase, Step, Workload};

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Tasks that work at once.
    pub tasks: usize,
    /// Bytes that each task writes.
    pub bytes: u64,
    /// Bytes of one sequential transfer.
    pub transfer: usize,
    /// Random transfers of each task at most.
    pub random: u64,
    /// Start of content and places.
    pub seed: u64,
}

/// Bytes of a record of the hard workload, as ior-hard of IO500 has it: aligned to nothing.
pub const HARD_BYTES: usize = 47_008;
/// Bytes of a random transfer.
pub const RANDOM_BYTES: usize = 4096;

fn phase(workload: &'static str, step: Step, sizes: Sizes, bytes: usize) -> Phase {
    Phase {
        workload,
        step,
        tasks: sizes.tasks,
        count: (sizes.bytes / bytes as u64).max(1),
        bytes,
        first_name: 0,
        first_dir: 0,
        dirs_each: 1,
        shared: false,
        shift: 0,
        file_bytes: sizes.bytes,
        direct: false,
        warm: false,
        whole: false,
        seed: sizes.seed,
    }
}

fn workload(name: &'static str, phases: Vec<Phase>) -> Workload {
    Workload { name, dirs: vec![name.to_owned()], phases }
}

fn write_and_read(name: &'static str, sizes: Sizes, transfer: usize) -> Vec<Phase> {
    let write = phase(name, Step::Write, sizes, transfer);
    let read = Phase { shift: 1 % sizes.tasks, ..phase(name, Step::Read, sizes, transfer) };
    vec![write, read]
}

/// A file for each task, from begin to end.
pub fn easy(sizes: Sizes) -> Workload {
    workload("easy", write_and_read("easy", sizes, sizes.transfer))
}

/// One file for all, records interleaved.
pub fn hard(sizes: Sizes) -> Workload {
    let mut phases = write_and_read("hard", sizes, HARD_BYTES);
    phases.iter_mut().for_each(|phase| phase.shared = true);
    workload("hard", phases)
}

/// One task, one file, 1 MiB at a time. It is read into memory that was in use a moment before.
pub fn stream(sizes: Sizes) -> Workload {
    let one = Sizes { tasks: 1, ..sizes };
    let mut phases = write_and_read("stream", one, 1 << 20);
    phases.iter_mut().for_each(|phase| phase.warm = phase.step.wants_cold_caches());
    workload("stream", phases)
}

/// A file for each task, 4 KiB at random places. The files are written first; that phase is reported like the others.
pub fn random(sizes: Sizes) -> Workload {
    let name = "random";
    let whole = Phase { whole: true, ..phase(name, Step::Write, sizes, sizes.transfer) };
    // Places only where the file is.
    let file_bytes = whole.count * whole.bytes as u64;
    let random =
        |step| Phase { count: sizes.random, file_bytes, direct: true, ..phase(name, step, sizes, RANDOM_BYTES) };
    let phases = vec![whole, random(Step::RandomRead), random(Step::RandomWrite)];
    workload(name, phases)
}
