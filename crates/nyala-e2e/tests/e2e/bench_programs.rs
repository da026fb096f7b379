// SPDX-License-Identifier: Apache-2.0

//! `nyala bench programs` on a mount: fio itself, and scripts that print what IOR, mdtest and elbencho would, so that the whole way is gone for all of
//! them: found on `PATH`, started (through an `mpirun`), their outputs read, figures of all runs, a page, nothing left.

use nyala_e2e::binary::nyala;
use nyala_e2e::cleanup::signal;
use nyala_e2e::cluster::text;
use nyala_e2e::run::{run, wait, wait_until};
use nyala_e2e::{beside_others, shared};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Each leaves something in its directory; the figure that counts is the number of its run.
const SCRIPTS: [(&str, &str); 4] = [
    ("mpirun", "test \"$1 $2\" = '-np 2' || exit 9\nshift 2\nexec \"$@\"\n"),
    (
        "ior",
        "\
for word; do case $word in -w) op=write;; -r) op=read; test -s data || exit 8;; esac; done
echo content > data
cat <<END
IOR-4.0.0: MPI Coordinated Test of Parallel I/O
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
$op       $(basename \"$PWD\" | cut -d- -f1).5        7       0.1         4          4          0          1          0          1          0
END
",
    ),
    (
        "mdtest",
        "\
mkdir -p test-dir.0 && touch test-dir.0/file
cat <<END
mdtest-4.0.0 was launched with 2 total task(s) on 1 node(s)
SUMMARY rate: (of 1 iterations)
   File creation     :        100.000        100.000        100.000          0.000
   File stat         :        200.000        200.000        200.000          0.000
   File read         :        300.000        300.000        300.000          0.000
   File removal      :        400.000        400.000        400.000          0.000
END
",
    ),
    (
        "elbencho",
        "\
while test $# -gt 0; do case $1 in --csvfile) csv=$2;; --write) ops=\"$ops WRITE\";; --read) ops=\"$ops READ\";; --stat) ops=\"$ops STAT RMFILES\";; esac; shift; done
echo 'ISO date,operation,entries/s [last],MiB/s [last],IO lat us [avg],version' > \"$csv\"
for op in $ops; do echo \"now,$op,10,20,30,3.0-1\" >> \"$csv\"; done
",
    ),
];

/// Scripts that stand for programs, and the `PATH` that has them before all others.
fn stand_ins(scripts: &[(&str, &str)]) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    for (name, script) in scripts {
        let file = dir.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", text(dir.path()), std::env::var("PATH").unwrap());
    (dir, path)
}

/// Runs are short, and caches of the whole machine stay as they are.
fn bench(on: &Path, path: &str, outputs: &Path) -> Command {
    let mut command = Command::new(nyala());
    command.args(["bench", "programs", "--short", "--keep-caches", "--tasks", "2", "--on"]).arg(on);
    command.env("PATH", path).env("TMPDIR", outputs);
    command
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn e2e_bench_programs_measures_all_of_them_on_a_mount() {
    let _lane = beside_others();
    let on = shared().test_dir("bench-programs");
    let (scripts, path) = stand_ins(&SCRIPTS);
    let (outputs, results) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = results.path().join("programs.json");
    let mut command = bench(&on, &path, outputs.path());
    command
        .args(["--verify", "--size", "2m", "--output", "json", "--out"])
        .arg(results.path())
        .arg("--save")
        .arg(&file);
    let printed = run(&mut command, Duration::from_secs(240)).must();
    let said: Value = serde_json::from_str(&printed).unwrap();
    let figures = said["figures"].as_array().unwrap();
    let of = |program: &str| figures.iter().filter(|row| row["program"] == program).collect::<Vec<_>>();
    // fio: four workloads, written and read, three figures each.
    assert_eq!(["fio", "ior", "mdtest", "elbencho"].map(|program| of(program).len()), [24, 8, 8, 8], "{said:#}");
    for row in figures {
        assert!(row["runs"] == 3 && row["values"].as_array().unwrap().len() == 3, "{row:#}");
        let in_order: Vec<f64> = ["min", "q1", "median", "q3", "max"].map(|name| row[name].as_f64().unwrap()).into();
        assert!(in_order[0] > 0.0 && in_order.is_sorted(), "{row:#}");
    }
    let ior = of("ior")[0];
    let numbers = ["min", "median", "mean", "max"].map(|name| ior[name].as_f64().unwrap());
    assert_eq!(numbers, [1.5, 2.5, 2.5, 3.5], "{ior:#}");
    let program = said["programs"].as_array().unwrap().iter().find(|used| used["program"] == "ior").unwrap();
    assert!(program["tasks"] == 2 && program["version"] == "4.0.0", "{program:#}");
    assert_eq!(program["file"].as_str().unwrap(), text(&scripts.path().join("ior")));

    let page = fs::read_to_string(results.path().join("nyala-programs.html")).unwrap();
    assert_eq!(page.matches("class=\"box\"").count(), figures.len(), "a box for each figure");
    let stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(stored, said);
    let report =
        ["bench", "report", &text(&file), "--out", &text(&results.path().join("report.html"))].map(str::to_owned);
    run(Command::new(nyala()).args(report), Duration::from_secs(60)).must();
    assert_eq!((entries(&on), entries(outputs.path())), (vec![], vec![]), "nothing is left");
}

#[test]
fn e2e_bench_programs_ends_programs_and_says_what_failed() {
    let _lane = beside_others();
    let on = shared().test_dir("bench-programs-ended");
    let outputs = tempfile::tempdir().unwrap();
    // One that fails: the command does, with what it said and where that is; others are told how to get.
    let (_scripts, path) = stand_ins(&[("fio", "echo no luck >&2\nexit 5\n")]);
    let failed = run(bench(&on, &path, outputs.path()).args(["--with", "fio", "--runs", "1"]), Duration::from_secs(60));
    assert_eq!(failed.code(), Some(1), "{}", failed.describe());
    assert!(
        failed.out.contains("status: 5: no luck") && failed.err.contains("their outputs are in"),
        "{}",
        failed.describe()
    );
    let kept = entries(outputs.path());
    assert!(entries(&kept[0]).iter().any(|file| file.ends_with("1-fio-1m-per-job-write.err")), "{kept:?}");
    fs::remove_dir_all(&kept[0]).unwrap();

    // One that never ends, and Ctrl-C.
    let waits = outputs.path().join("waits");
    let (_scripts, path) =
        stand_ins(&[("fio", &format!("echo $$ > '{0}.new'\nmv '{0}.new' '{0}'\nexec sleep 1000\n", text(&waits)))]);
    let mut command = bench(&on, &path, outputs.path());
    let mut child = command.args(["--with", "fio"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(Duration::from_secs(60), || waits.exists(), || "fio does not start".to_owned());
    signal(child.id() as i32, libc::SIGINT);
    let status = wait(&mut child, Duration::from_secs(60)).expect("it ends after a signal");
    let sleeper: i32 = fs::read_to_string(&waits).unwrap().trim().parse().unwrap();
    assert_eq!((status.code(), Path::new(&format!("/proc/{sleeper}")).exists()), (Some(1), false));
    let said = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert!(said.contains("a signal ended it"), "{said}");
    fs::remove_file(&waits).unwrap();
    assert_eq!((entries(&on), entries(outputs.path())), (vec![], vec![]), "nothing is left");
}
