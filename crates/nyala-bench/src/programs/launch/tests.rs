// SPDX-License-Identifier: Apache-2.0

//! Programs that end, fail, hang and hide.

use super::*;

fn with<T>(script: &str, limit: Duration, does: impl FnOnce(&Launch<'_>) -> T) -> T {
    let dir = tempfile::tempdir().unwrap();
    let (args, output) = (["-c".to_owned(), script.to_owned()], dir.path().join("start"));
    does(&Launch { program: Path::new("/bin/sh"), args: &args, dir: dir.path(), output: &output, limit })
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn what_a_program_says_is_in_files() {
    with("echo out; echo err >&2; echo $NYALA_BENCH_START; pwd", LONG, |launch| {
        launch.run(&Stop::default()).unwrap();
        let out = fs::read_to_string(launch.said("out")).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines, ["out", launch.output.to_str().unwrap(), launch.dir.to_str().unwrap()]);
        assert_eq!(fs::read_to_string(launch.said("err")).unwrap(), "err\n");
    });
}

#[test]
fn a_failure_tells_the_last_lines() {
    let failed =
        with("for n in 1 2 3 4 5 6; do echo line $n >&2; done; exit 3", LONG, |launch| launch.run(&Stop::default()));
    let failed = failed.unwrap_err().to_string();
    assert!(failed.contains("status: 3") && failed.ends_with(": line 3; line 4; line 5; line 6"), "{failed}");
    let said_out = with("echo only here; exit 1", LONG, |launch| launch.run(&Stop::default()).unwrap_err().to_string());
    assert!(said_out.ends_with(": only here"), "{said_out}");
    with("", LONG, |launch| {
        let launch = Launch { program: Path::new("/no/such/program"), ..*launch };
        assert!(launch.run(&Stop::default()).unwrap_err().to_string().starts_with("cannot start /no/such/program: "));
    });
}

#[test]
fn what_never_ends_is_killed_with_all_that_it_started() {
    // One that listens to no signal, and one that has left the group.
    let script = "trap '' TERM; setsid sh -c 'echo away; while :; do sleep 1; done' & while :; do sleep 1; done";
    with(script, Duration::from_millis(500), |launch| {
        let error = launch.run(&Stop::default()).unwrap_err().to_string();
        assert!(error.contains("did not end within 0 s and was killed: away"), "{error}");
        assert_eq!(marked(launch.output), []);
    });
}

#[test]
fn a_wish_to_stop_ends_it() {
    let stop = Stop::default();
    stop.ask();
    let began = Instant::now();
    let stopped = with("exec sleep 100", LONG, |launch| launch.run(&stop));
    assert!(matches!(stopped, Err(LaunchError::Stopped)) && began.elapsed() < LONG, "{stopped:?}");
}
