// SPDX-License-Identifier: Apache-2.0

//! What is done by which program, and whose output is read how. Pure.

use super::figure::{ParseError, Parsed, Wanted};
use super::kind::Program;
use super::workload::{Sizes, Workload};
use super::{elbencho, fio, ior, mdtest};

/// All workloads of a program.
pub fn workloads(program: Program, sizes: &Sizes) -> Vec<Workload> {
    match program {
        Program::Fio => fio::workloads(sizes),
        Program::Ior => ior::workloads(sizes),
        Program::Mdtest => mdtest::workloads(sizes),
        Program::Elbencho => elbencho::workloads(sizes),
    }
}

/// Whether a program writes its figures to a file of their own, rather than to its standard output.
pub fn has_file(program: Program) -> bool {
    matches!(program, Program::Fio | Program::Elbencho)
}

/// Reads the figures of a program's output.
pub fn parse(program: Program, text: &str, wanted: &Wanted) -> Result<Parsed, ParseError> {
    let parsed = match program {
        Program::Fio => fio::parse(text, wanted),
        Program::Ior => ior::parse(text, wanted),
        Program::Mdtest => mdtest::parse(text, wanted),
        Program::Elbencho => elbencho::parse(text, wanted),
    };
    parsed.map_err(|problem| ParseError { program, problem })
}

#[cfg(test)]
mod tests {
    use super::super::workload::OUTPUT;
    use super::*;

    #[test]
    fn every_workload_has_a_name_room_and_figures() {
        let sizes = Sizes { tasks: 2, bytes: 1 << 20, random: 10, files: 5, verify: false };
        for program in Program::ALL {
            let all = workloads(program, &sizes);
            let mut names: Vec<_> = all.iter().map(|one| one.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all.len(), "{program}");
            for workload in &all {
                assert!(workload.program == program && workload.bytes > 0, "{workload:?}");
                assert!(workload.starts.iter().any(|start| start.wanted.is_some()), "{workload:?}");
                let file = |start: &super::super::workload::Start| start.args.iter().any(|arg| arg.contains(OUTPUT));
                assert!(workload.starts.iter().all(|start| file(start) == has_file(program)), "{workload:?}");
            }
        }
    }

    #[test]
    fn errors_name_the_program_and_what_was_looked_for() {
        let wanted = Wanted { operations: &["write"], metric: super::super::figure::Metric::Bandwidth };
        let errors = Program::ALL.map(|program| parse(program, "", &wanted).unwrap_err().to_string());
        for (error, begin) in errors.iter().zip([
            "fio: the output is no JSON",
            "ior: the output has no table",
            "mdtest: the output has no line",
            "elbencho: the output has no first line",
        ]) {
            assert!(error.starts_with(begin), "{error}");
        }
    }
}
