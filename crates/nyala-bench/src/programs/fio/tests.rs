// SPDX-License-Identifier: Apache-2.0

//! What is read of JSON, and command lines.

use super::*;

const SIZES: Sizes = Sizes { tasks: 2, bytes: 8 << 20, random: 100, files: 10, verify: false };
const WANTED: Wanted = Wanted { operations: &["write"], metric: Metric::Bandwidth };

fn output(error: u32, section: &str) -> String {
    format!(
        r#"note: queue depth is 1
{{ "fio version": "fio-3.33", "jobs": [ {{ "jobname": "job", "error": {error},
  "read": {{ "bw_bytes": 0, "iops": 0.0, "clat_ns": {{ "mean": 0.0 }} }}, {section} }} ] }}
afterwards"#
    )
}

const WRITE: &str = r#""write": { "bw_bytes": 104857600, "iops": 100.5, "clat_ns": { "mean": 402610.0, "percentile": { "50.000000": 1, "99.000000": 561152 } } }"#;

#[test]
fn figures_are_read_between_notes() {
    let parsed = parse(&output(0, WRITE), &WANTED).unwrap();
    assert_eq!(parsed.version.as_deref(), Some("3.33"));
    let found: Vec<_> = parsed.figures.iter().map(|figure| (figure.metric, figure.value)).collect();
    assert_eq!(found, [(Metric::Bandwidth, 100.0), (Metric::LatencyMean, 402.61), (Metric::LatencyP99, 561.152)]);
    let rate = Wanted { metric: Metric::Rate, ..WANTED };
    assert_eq!(parse(&output(0, WRITE), &rate).unwrap().figures[0].value, 100.5);
}

#[test]
fn what_is_missing_is_named() {
    let read = Wanted { operations: &["read"], ..WANTED };
    assert_eq!(parse(&output(0, WRITE), &read), Err(Problem::missing("bw_bytes of a read")));
    let no_percentile = WRITE.replace("99.000000", "98.000000");
    assert_eq!(parse(&output(0, &no_percentile), &WANTED), Err(Problem::missing("percentile of clat_ns of a write")));
    assert_eq!(parse("{\"jobs\":[]}", &WANTED), Err(Problem::missing("list of jobs")));
    for text in ["", "fio: nothing", "note\n{\"jobs\": [", "[1]"] {
        assert!(matches!(parse(text, &WANTED), Err(Problem::Form { .. })), "{text}");
    }
}

#[test]
fn an_error_of_a_job_is_one() {
    let error = parse(&output(84, WRITE), &WANTED).unwrap_err().to_string();
    assert!(error.contains("error 84"), "{error}");
}

#[test]
fn command_lines_are_those_of_the_papers() {
    let lines = |sizes: &Sizes| -> Vec<(&str, String)> {
        let all = workloads(sizes);
        all.iter().flat_map(|one| one.starts.iter().map(|start| (one.name, start.args.join(" ")))).collect()
    };
    let plain = lines(&SIZES);
    assert_eq!(plain.len(), 9);
    assert!(
        plain
            .iter()
            .all(|(_, line)| line.contains("--numjobs=2 --size=8388608 --output=@output@") && !line.contains("verify"))
    );
    assert!(plain[0].1.ends_with("--bs=1m --rw=write --end_fsync=1"), "{}", plain[0].1);
    assert!(plain[2].1.ends_with("--filename=shared --offset_increment=8388608"), "{}", plain[2].1);
    assert!(plain[7].1.ends_with("--bs=4k --direct=1 --rw=randread --io_size=409600"), "{}", plain[7].1);
    let verified = lines(&Sizes { verify: true, ..SIZES });
    let checked: Vec<_> = verified.iter().map(|(_, line)| line.contains("--verify=crc32c")).collect();
    assert_eq!(checked, [true, true, true, true, true, true, false, false, true], "what is laid out has no checksums");
}

#[test]
fn an_output_that_was_cut_has_no_figures() {
    let text = output(0, WRITE);
    let whole = text.rfind('}').unwrap();
    for end in 0..whole {
        assert!(parse(&text[..end], &WANTED).is_err(), "{}", &text[..end]);
    }
}
