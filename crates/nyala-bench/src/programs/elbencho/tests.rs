// SPDX-License-Identifier: Apache-2.0

//! What is read of CSV, and command lines.

use super::*;

const SIZES: Sizes = Sizes { tasks: 3, bytes: 4 << 20, random: 1, files: 50, verify: false };
const STREAM: Wanted = Wanted { operations: &["write", "read"], metric: Metric::Bandwidth };
const FILES: Wanted = Wanted { operations: &["mkdir", "write", "remove"], metric: Metric::Rate };

const CSV: &str = "\
ISO date,label,operation,time ms [first],time ms [last],entries/s [first],entries/s [last],MiB/s [first],MiB/s [last],IO lat us [min],IO lat us [avg],version,command
2026-05-22T16:09:38,\"a, \"\"b\"\"\",MKDIRS,2,5,3277,1466,,,,,3.0-1,\"elbencho a,b\"
2026-05-22T16:09:38,,WRITE,2134,2784,11,12,3494,2941,1661,9383,3.0-1,elbencho
2026-05-22T16:09:38,,SYNC,1,1,,,,,,,3.0-1,elbencho
2026-05-22T16:09:41,,READ,846,905,37,35,9673,9048,1,812.5,3.0-1,elbencho
2026-05-22T16:09:42,,RMFILES,8,9,370,350,,,,,3.0-1,elbencho
";

#[test]
fn the_last_threads_figures_are_read() {
    let values = |wanted| -> Vec<f64> { parse(CSV, wanted).unwrap().figures.iter().map(|one| one.value).collect() };
    assert_eq!(values(&STREAM), [2941.0, 9383.0, 9048.0, 812.5]);
    assert_eq!(values(&FILES), [1466.0, 12.0, 350.0]);
    assert_eq!(parse(CSV, &FILES).unwrap().version.as_deref(), Some("3.0-1"));
}

#[test]
fn fields_in_quotes_hold_commas() {
    assert_eq!(fields("a,\"b,\"\"c\"\"\",,d"), ["a", "b,\"c\"", "", "d"]);
    assert_eq!(fields(""), [""]);
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(parse("", &STREAM), Err(Problem::missing("first line with a column operation")));
    let stat = Wanted { operations: &["stat"], ..FILES };
    assert_eq!(parse(CSV, &stat), Err(Problem::missing("line of STAT")));
    let of_files = Wanted { operations: &["remove"], ..STREAM };
    assert_eq!(parse(CSV, &of_files), Err(Problem::missing("number in column IO lat us [avg] of RMFILES")));
    let renamed = CSV.replace("entries/s [last]", "entries/s [end]");
    assert_eq!(parse(&renamed, &FILES), Err(Problem::missing("number in column entries/s [last] of MKDIRS")));
}

#[test]
fn command_lines_are_those_of_the_papers() {
    let lines = |sizes| -> Vec<String> {
        workloads(sizes).iter().flat_map(|one| one.starts.iter().map(|start| start.args.join(" "))).collect()
    };
    let plain = lines(&SIZES);
    let begin = "--threads 3 --dirs 1 --lat --nolive --files 1 --size 4194304 --block 1M --iodepth 4 --direct --rand";
    assert_eq!(plain[0], format!("{begin} --mkdirs --write --csvfile @output@ --resfile @output@.txt ."));
    assert!(
        plain[3].contains("--files 50 --size 4096 --block 4096 --stat --read --delfiles --deldirs"),
        "{}",
        plain[3]
    );
    let verified = lines(&Sizes { verify: true, ..SIZES });
    assert!(verified[0].contains("--verify 27") && !verified[0].contains("--rand") && verified[1].contains("--rand"));
}

#[test]
fn an_output_that_was_cut_lacks_what_comes_later() {
    let last = CSV.find("READ,").unwrap();
    for end in 0..last {
        assert!(parse(&CSV[..end], &STREAM).is_err(), "{}", &CSV[..end]);
    }
}
