// SPDX-License-Identifier: Apache-2.0

//! What `nyala plan` prints, and what it says to what makes no sense.

use super::*;
use clap::Parser;

#[derive(Debug, clap::Parser)]
#[command(name = "plan")]
struct Line {
    #[command(flatten)]
    args: PlanArgs,
}

/// The flags of a command line.
fn line(flags: &str) -> Result<PlanArgs, String> {
    let parsed = Line::try_parse_from(["plan"].into_iter().chain(flags.split_whitespace()));
    parsed.map(|line| line.args).map_err(|error| error.to_string())
}

/// The first sentence of what is said to a wrong command line.
fn refusal(flags: &str) -> String {
    match line(flags) {
        Ok(args) => match answer(&args, None) {
            Ok(_) => format!("{flags:?} was taken"),
            Err(failure) => {
                assert_eq!(failure.exit, crate::exit::Exit::Usage, "{flags}");
                failure.message
            }
        },
        Err(said) => said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

/// A wrong input, and the whole sentence.
const WRONG: &[(&str, &str)] = &[
    ("--servers 0", "--servers 0 is out of range: write a number from 1 to 10000"),
    ("--servers 10001", "--servers 10001 is out of range: write a number from 1 to 10000"),
    (
        "--servers two",
        "invalid value 'two' for '--servers <N>': it is no number: write a whole one in digits, without a unit, as 4",
    ),
    ("--servers 2.5", "invalid value '2.5' for '--servers <N>': there are no parts of it: write a whole number, as 4"),
    ("--servers=-2", "invalid value '-2' for '--servers <N>': it is below 0: write a whole number from 0 on, as 4"),
    (
        "--servers 99999999999",
        "invalid value '99999999999' for '--servers <N>': it is too large: write a whole number, as 4",
    ),
    ("--enclosures 0", "--enclosures 0 is out of range: write a number from 1 to 100000"),
    ("--enclosures 100001", "--enclosures 100001 is out of range: write a number from 1 to 100000"),
    ("--drives 0", "--drives 0 is out of range: write the drives of one enclosure, 1 to 1000"),
    ("--drives 1001", "--drives 1001 is out of range: write the drives of one enclosure, 1 to 1000"),
    (
        "--drives 84",
        "84 drives of an enclosure cannot be divided into RAID groups of 10: leave 4 as spares and write --drives 80",
    ),
    (
        "--drives 4",
        "a RAID group of 10 drives is larger than an enclosure with 4: write --drives 10, or a smaller group as in --raid 1+1",
    ),
    ("--drive-size 0", "--drive-size 0 is out of range: write TB as printed on the drive, above 0 and at most 1000"),
    (
        "--drive-size=-16",
        "--drive-size -16 is out of range: write TB as printed on the drive, above 0 and at most 1000",
    ),
    (
        "--drive-size 16000",
        "--drive-size 16000 is out of range: write TB as printed on the drive, above 0 and at most 1000",
    ),
    (
        "--drive-size 16TB",
        "invalid value '16TB' for '--drive-size <TB>': it is no number: write it in digits, without a unit, as 12.5",
    ),
    ("--drive-size 7,68", "invalid value '7,68' for '--drive-size <TB>': write a point before the fraction, as 12.5"),
    (
        "--drive-size nan",
        "invalid value 'nan' for '--drive-size <TB>': it is no size: write a number in digits, as 12.5",
    ),
    (
        "--raid 6",
        "invalid value '6' for '--raid <DATA+PARITY>': write DATA+PARITY, as in 8+2 for RAID 6 of ten drives, 1+1 for pairs, 1+0 for none",
    ),
    (
        "--raid 0+2",
        "invalid value '0+2' for '--raid <DATA+PARITY>': a group needs 1 to 256 drives for data: write for instance 8+2",
    ),
    (
        "--raid 8+300",
        "invalid value '8+300' for '--raid <DATA+PARITY>': a group has 0 to 256 drives for parity or copies: write for instance 8+2",
    ),
    ("--copies 0", "--copies 0 is out of range: write 1 for no mirrors, or 2 to 4"),
    ("--copies 5", "--copies 5 is out of range: write 1 for no mirrors, or 2 to 4"),
    ("--copies 3", "3 copies need as many servers, and there are 2: write --servers 3 or --copies 2"),
    ("--overhead 1", "--overhead 1 is out of range: write a share from 0 to below 0.5, as 0.01 for one percent"),
    ("--overhead=-0.1", "--overhead -0.1 is out of range: write a share from 0 to below 0.5, as 0.01 for one percent"),
    ("--enclosure-read 0", "--enclosure-read 0 is out of range: write GB/s above 0 and at most 1000"),
    ("--enclosure-write 5740", "--enclosure-write 5740 is out of range: write GB/s above 0 and at most 1000"),
    ("--network 0", "--network 0 is out of range: write Gbit/s of one server, above 0 and at most 100000"),
    ("--network inf", "invalid value 'inf' for '--network <GBIT/S>': it is no size: write a number in digits, as 12.5"),
    ("--clients 100001", "--clients 100001 is out of range: write a number up to 100000, or 0 for as many as it takes"),
    (
        "--client-network 0",
        "--client-network 0 is out of range: write Gbit/s of one client, above 0 and at most 100000",
    ),
    (
        "--meta 10001",
        "--meta 10001 is out of range: write a number up to 10000, or 0 where metadata runs on the storage servers",
    ),
    (
        "--mgmt 2",
        "--mgmt 2 is out of range: write an odd number (1, 3 or 5): an even one survives no more losses than the odd one below it",
    ),
    (
        "--mgmt 7",
        "--mgmt 7 is out of range: write 0 where management runs on the other servers, or 1, 3 or 5 hosts of its own",
    ),
    ("--ports 0", "--ports 0 is out of range: write the network ports of each host, 1 to 16"),
    ("--switches 0", "--switches 0 is out of range: write a number from 1 to 16"),
    (
        "--switches 2",
        "with 2 switches and 1 network port(s) on each host, some hosts would not reach each other through one switch: write --ports 2 or --switches 1",
    ),
    ("--switch-ports 0", "--switch-ports 0 is out of range: write the ports of one switch, at least 1"),
    (
        "--clients 60 --switch-ports 40",
        "64 hosts with 1 network port(s) each need 64 ports on a switch, and --switch-ports says 40: write --switch-ports 64, for a larger \
         switch or several linked ones that count as one",
    ),
    ("--controllers 5", "--controllers 5 is out of range: write 1 to 4, or 0 where the drives are inside the servers"),
    (
        "--controllers 0 --enclosures 3",
        "drives inside the servers (--controllers 0) count as one enclosure for each server, and there are 3 for 2 servers: write --enclosures 2",
    ),
    ("--seconds 0", "--seconds 0 is out of range: write a number from 1 to 60"),
    (
        "--measure /nowhere",
        "--measure /nowhere is no directory of this machine: write one on the file system that is to be measured",
    ),
    ("--measure /tmp --measure /tmp", "--measure /tmp stands there twice: name each directory once"),
    (
        "--measure /tmp --enclosure-read 3",
        "--measure says what an enclosure streams: leave --enclosure-read and --enclosure-write out, or --measure",
    ),
];

#[test]
fn wrong_inputs_have_sentences_that_say_what_to_write() {
    const { assert!(WRONG.len() >= 40) };
    for (flags, sentence) in WRONG {
        assert_eq!(refusal(flags), *sentence, "{flags}");
        assert!(["write", "leave", "name each"].iter().any(|word| sentence.contains(word)), "{sentence}");
    }
    assert!(line("--published --svg /tmp/x").unwrap_err().contains("cannot be used with"));
}

#[test]
fn estimates_say_what_limits_and_what_is_assumed() {
    let shown = tables::shown(&answer(&line("--enclosures 4").unwrap(), None).unwrap());
    assert!(shown.contains("3688 TiB") && shown.contains("23.8 GB/s") && shown.contains("network"), "{shown}");
    assert!(shown.contains("Assumed:\n- throughput") && !shown.contains("enclosure1"), "{shown}");
    assert!(shown.contains("4 to switches, 16 to drives"), "{shown}");
    let shown = tables::published(&table());
    for word in ["2x L", "7376 TiB", "47.4 GB/s", "sums"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
}

#[test]
fn cables_are_listed_where_they_are_asked_for() {
    let answer = answer(&line("--cables --ports 2 --switches 2 --network 200").unwrap(), None).unwrap();
    let shown = tables::shown(&answer);
    let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["storage2", "net2", "switch2", "2", "100", "Gbit/s"]), "{shown}");
    assert!(lines.contains(&vec!["enclosure1", "B2", "storage2", "drives2", "-"]), "{shown}");
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["cables"].as_array().map(Vec::len), Some(8 + 8));
    assert_eq!(json["cables"][0]["carries"], "network");
    assert_eq!(json["estimate"]["bounds"][1]["limit"], "network");
}

#[test]
fn this_machine_is_measured_and_the_site_drawn() {
    let work = tempfile::tempdir().unwrap();
    let svg = work.path().join("site.svg");
    let args =
        PlanArgs { seconds: 1, svg: Some(svg.clone()), measure: vec![work.path().to_owned()], ..line("").unwrap() };
    run(args, Output::Json).unwrap();
    assert!(std::fs::read_to_string(&svg).unwrap().contains("the servers' processors"));
    std::fs::remove_file(&svg).unwrap();
    assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0, "its files are gone");
    let nowhere = PlanArgs { svg: Some("/nowhere/site.svg".into()), ..line("").unwrap() };
    assert!(run(nowhere, Output::Json).unwrap_err().message.contains("/nowhere/site.svg"));
}

/// The picture of the page on sizing is what the page's command draws.
#[test]
fn the_picture_of_the_page_is_drawn_so() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures/plan-large.svg");
    let answer = answer(&line("--enclosures 4 --clients 16").unwrap(), None).unwrap();
    let fresh = drawing::draw(&answer.site, &answer.fabric, &answer.estimate);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, &fresh).unwrap();
    }
    let there = std::fs::read_to_string(file).unwrap();
    assert!(there == fresh, "docs/pictures/plan-large.svg is behind: UPDATE_DOCS=1 cargo test -p nyala the_picture");
}
