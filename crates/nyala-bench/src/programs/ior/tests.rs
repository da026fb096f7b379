// SPDX-License-Identifier: Apache-2.0

//! What is read of the table of all versions, and command lines.

use super::*;

const SIZES: Sizes = Sizes { tasks: 4, bytes: 9 << 20, random: 100, files: 10, verify: false };
const WRITE: Wanted = Wanted { operations: &["write"], metric: Metric::Bandwidth };
const RATE: Wanted = Wanted { metric: Metric::Rate, ..WRITE };

/// As versions 3.3 and 4 write it.
const NEW: &str = "\
IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Command line        : ior -w
Options:
access              : file-per-process
Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
Commencing write performance test
write     500.25     500.50     0.003       9216       1024.00    0.001      0.07       0.0001     0.072      0
remove    -          -          -           -          -          -          -          -          0.001      0

Max Write: 500.25 MiB/sec (524.55 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)
write         500.25     500.25
";
/// As versions before did.
const OLD: &str = "\
IOR-3.0.1: MPI Coordinated Test of Parallel I/O
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     10.00      400.00     4.00       0.001      0.07       0.0001     0.072      0
";

#[test]
fn figures_of_all_versions_are_read() {
    let one = |text, wanted| {
        let parsed = parse(text, wanted).unwrap();
        (parsed.version.unwrap(), parsed.figures[0].value)
    };
    assert_eq!(one(NEW, &WRITE), ("4.0.0".into(), 500.25));
    assert_eq!(one(NEW, &RATE), ("4.0.0".into(), 500.5));
    assert_eq!(one(OLD, &WRITE), ("3.0.1".into(), 10.0));
    assert_eq!(one(OLD, &RATE), ("3.0.1".into(), 2560.0));
}

#[test]
fn what_is_missing_is_named() {
    let read = Wanted { operations: &["read"], ..WRITE };
    assert_eq!(parse(NEW, &read), Err(Problem::missing("line of a read below bw(MiB/s)")));
    assert_eq!(parse("IOR-4.0.0: MPI\n", &WRITE), Err(Problem::missing("table with a column bw(MiB/s)")));
    let zero = NEW.replace("500.25     500.50", "0.00       -");
    assert_eq!(parse(&zero, &WRITE), Err(Problem::missing("number below bw(MiB/s) of a write")));
    assert_eq!(parse(&zero, &RATE), Err(Problem::missing("number below IOPS of a write")));
}

#[test]
fn wrong_content_is_an_error_whatever_was_measured() {
    let wrong = NEW.replace("Max Write", "WARNING: Incorrect data on write (3 errors found).\nMax Write");
    let said = Problem::Said("WARNING: Incorrect data on write (3 errors found).".into());
    assert_eq!(parse(&wrong, &WRITE), Err(said));
}

#[test]
fn command_lines_are_those_of_the_papers() {
    let all = workloads(&SIZES);
    let lines: Vec<String> = all.iter().flat_map(|one| one.starts.iter().map(|start| start.args.join(" "))).collect();
    assert_eq!(lines[0], "-a POSIX -i 1 -w -e -F -t 1m -b 9437184 -g -k -o ./data");
    assert_eq!(lines[1], "-a POSIX -i 1 -r -F -t 1m -b 9437184 -g -k -o ./data");
    // A block is a whole number of transfers.
    assert!(lines[2].contains("-t 1m -b 9437184 -s 1"), "{}", lines[2]);
    assert!(lines[4].contains("-t 47008 -b 47008 -s 200"), "{}", lines[4]);
    assert!(lines[6].contains("-F -z -t 4k -b 409600"), "{}", lines[6]);
    let of_8m = workloads(&Sizes { bytes: 16 << 20, verify: true, ..SIZES });
    assert!(of_8m[1].starts[0].args.join(" ").contains("-w -e -W -G 27 -t 8m"), "{:?}", of_8m[1]);
    assert!(of_8m[1].starts[1].args.join(" ").contains("-r -R -G 27"), "{:?}", of_8m[1]);
    assert!(!of_8m[3].starts[1].args.contains(&"-R".to_owned()), "random accesses cannot be checked");
}

#[test]
fn an_output_that_was_cut_before_its_line_ends_has_no_figures() {
    for text in [NEW, OLD] {
        let line = text.find("\nwrite ").unwrap();
        // The last column is the number of the repetition, which does not matter.
        let whole = line + text[line..].find(" 0\n").unwrap_or(text.len() - line);
        for end in 0..whole {
            assert!(parse(&text[..end], &WRITE).is_err(), "{}", &text[..end]);
        }
    }
}
