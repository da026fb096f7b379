// SPDX-License-Identifier: Apache-2.0

//! Metadata workloads.

use super::{Phase, Step, Workload};

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Tasks that work at once.
    pub tasks: usize,
    /// Files (or directories) of each task.
    pub files: u64,
    /// Start of content.
    pub seed: u64,
}

/// Bytes of a file of the hard workload, as mdtest-hard of IO500 has it.
pub const HARD_BYTES: usize = 3901;
/// Bytes of a small file.
pub const SMALL_BYTES: usize = 4096;
/// How often each task lists a directory.
const LISTINGS: u64 = 4;

fn workload(name: &'static str, sizes: Sizes, shared: bool, bytes: usize, steps: &[(Step, usize)]) -> Workload {
    let dirs = if shared { vec![name.to_owned()] } else { (0..sizes.tasks).map(|t| format!("{name}.{t}")).collect() };
    let phase = |&(step, shift): &(Step, usize)| Phase {
        workload: name,
        step,
        tasks: sizes.tasks,
        count: if matches!(step, Step::List | Step::ListPlus) { LISTINGS } else { sizes.files },
        first_name: 0,
        bytes,
        first_dir: 0,
        dirs_each: 1,
        shared,
        shift: shift % sizes.tasks,
        file_bytes: 0,
        direct: false,
        warm: false,
        whole: false,
        seed: sizes.seed,
    };
    Workload { name, dirs, phases: steps.iter().map(phase).collect() }
}

/// Each task in a directory of its own: empty files made, listed, looked at by the neighbour, removed.
pub fn easy(sizes: Sizes) -> Workload {
    let steps = [(Step::Create, 0), (Step::Stat, 1), (Step::List, 1), (Step::ListPlus, 1), (Step::Unlink, 0)];
    workload("easy", sizes, false, 0, &steps)
}

/// All tasks in one directory, files of 3,901 bytes.
pub fn hard(sizes: Sizes) -> Workload {
    let steps = [(Step::WriteFile, 0), (Step::Stat, 1), (Step::ReadFile, 1), (Step::Unlink, 0)];
    workload("hard", sizes, true, HARD_BYTES, &steps)
}

/// Files of 4 KiB, each task in a directory of its own.
pub fn small(sizes: Sizes) -> Workload {
    workload("small", sizes, false, SMALL_BYTES, &[(Step::WriteFile, 0), (Step::ReadFile, 1), (Step::Unlink, 0)])
}

/// Directories, each task in a directory of its own.
pub fn dirs(sizes: Sizes) -> Workload {
    workload("dirs", sizes, false, 0, &[(Step::Mkdir, 0), (Step::Stat, 1), (Step::Rmdir, 0)])
}

/// All tasks in one directory, in which each task makes so many files before: empty files made, looked at by the neighbour, removed.
pub fn shared(sizes: Sizes, before: u64) -> Workload {
    let mut shared =
        workload("shared", sizes, true, 0, &[(Step::Create, 0), (Step::Create, 0), (Step::Stat, 1), (Step::Unlink, 0)]);
    for fill in shared.phases.iter_mut().take(1) {
        (fill.workload, fill.count, fill.first_name) = ("fill", before, sizes.files);
    }
    shared
}

/// So many files in so many directories, `sizes.files` for each task: empty files made, looked at by the neighbour, listed without and with attributes, removed, and then the directories.
/// What a directory has is listed once; one directory is listed by one task.
pub fn many(sizes: Sizes, directories: u64) -> Workload {
    let shared = directories == 1;
    let each = if shared { 1 } else { directories.div_ceil(sizes.tasks as u64) };
    let steps = [Step::Create, Step::Stat, Step::List, Step::ListPlus, Step::Unlink, Step::RemoveDir]
        .map(|step| (step, usize::from(step == Step::Stat)));
    let mut many = workload("many", sizes, shared, 0, &steps);
    if !shared {
        many.dirs = (0..sizes.tasks as u64 * each).map(|dir| format!("many.{dir}")).collect();
    }
    for phase in &mut many.phases {
        phase.dirs_each = each as usize;
        if matches!(phase.step, Step::List | Step::ListPlus | Step::RemoveDir) {
            phase.count = each;
            phase.tasks = if shared { 1 } else { sizes.tasks };
        }
    }
    many
}
