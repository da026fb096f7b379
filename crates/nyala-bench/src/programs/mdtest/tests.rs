// SPDX-License-Identifier: Apache-2.0

//! What is read of the summary of all versions, and command lines.

use super::*;

const SIZES: Sizes = Sizes { tasks: 2, bytes: 1 << 20, random: 1, files: 50, verify: true };
const ALL: Wanted = Wanted { operations: OPERATIONS, metric: Metric::Rate };

/// As version 4 writes it.
const NEW: &str = "\
-- started at 03/19/2026 17:55:06 --

mdtest-4.0.0 was launched with 2 total task(s) on 1 node(s)
Command line used: mdtest '-d' '.'
Path                : .
2 tasks, 100 files

SUMMARY rate: (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation                2568.636       2568.636       2568.500          0.000
   File stat                   90001.000      90001.000      90001.000          0.000
   File read                    8000.250       8000.250       8000.250          0.000
   File removal                 3000.000       3000.000       3000.000          0.000
   Tree creation                 496.015        496.015        496.015          0.000
-- finished at 03/19/2026 17:55:07 --
";

#[test]
fn the_mean_of_each_operation_is_read() {
    let values = |text: &str| -> Vec<f64> { parse(text, &ALL).unwrap().figures.iter().map(|one| one.value).collect() };
    assert_eq!(values(NEW), [2568.5, 90001.0, 8000.25, 3000.0]);
    let old = NEW
        .replace("creation    ", "creation    :")
        .replace("stat       ", "stat      :")
        .replace("SUMMARY rate", "SUMMARY");
    assert_ne!(old, NEW);
    assert_eq!(values(&old), [2568.5, 90001.0, 8000.25, 3000.0]);
    assert_eq!(parse(NEW, &ALL).unwrap().version.as_deref(), Some("4.0.0"));
}

#[test]
fn what_is_missing_or_was_not_done_is_named() {
    assert_eq!(parse("mdtest-4.0.0 was launched\n", &ALL), Err(Problem::missing("line that begins with SUMMARY")));
    let without = NEW.replace("File removal", "Tree removal");
    assert_eq!(parse(&without, &ALL), Err(Problem::missing("line of File removal in the summary")));
    let idle = NEW.replace("8000.250", "   0.000");
    assert_eq!(parse(&idle, &ALL), Err(Problem::missing("mean of File read in the summary")));
}

#[test]
fn what_it_says_of_wrong_content_is_passed_on() {
    let wrong =
        NEW.replace("-- finished", "ERROR: verifying the data on read! Take the values with care!\n-- finished");
    assert!(matches!(parse(&wrong, &ALL), Err(Problem::Said(said)) if said.starts_with("ERROR: verifying")));
}

#[test]
fn command_lines_are_those_of_the_papers() {
    let lines: Vec<String> = workloads(&SIZES).iter().map(|one| one.starts[0].args.join(" ")).collect();
    assert_eq!(lines, ["-d . -i 1 -b 1 -z 1 -L -I 50 -y -u -t -F", "-d . -i 1 -n 50 -w 3901 -e 3901 -X -F"]);
}

#[test]
fn an_output_that_was_cut_lacks_what_comes_later() {
    let last = NEW.find("   File removal").unwrap();
    for end in 0..last + "   File removal".len() {
        assert!(parse(&NEW[..end], &ALL).is_err(), "{}", &NEW[..end]);
    }
}
