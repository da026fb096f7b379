// SPDX-License-Identifier: Apache-2.0

//! Tests of the rows, with reports of known figures.

use super::super::table::table;
use super::*;
use crate::document::Document;
use crate::plan::Step;
use crate::report::tests::{report, row, servers};
use crate::report::{Backend, Row, Setting};

fn away<T>() -> Result<T, String> {
    Err("no cluster".to_owned())
}

fn nothing() -> Parts {
    Parts { meta: away(), data: away(), sessions: away(), mirrors: away(), floor: away(), mirrored_data: away() }
}

fn text(scores: &[Score]) -> String {
    let mut text = Document::default();
    text.table(table(scores));
    text.plain()
}

#[test]
fn every_row_is_there_and_says_why_it_has_no_figure() {
    let mirrors = vec![at_most("longest stall when a mirror member's process is killed", Some(0.4), 1.0, "s")];
    let scores = scores(&Parts { mirrors: Ok(mirrors), ..nothing() });
    // Twenty of the design's aims, the client's two ratios to its floor, four of mirrored files.
    assert_eq!(scores.len(), 26);
    for score in &scores {
        assert_eq!(score.aim.ok, score.aim.value.is_some(), "{score:?}");
        assert_eq!(score.aim.why.is_some(), score.aim.value.is_none(), "{score:?}");
    }
    let text = text(&scores);
    assert_eq!(text.matches("MISS (no cluster)").count(), 22, "{text}");
    assert_eq!(text.matches("MISS (not measured)").count(), 3, "{text}");
    assert!(text.lines().any(|line| line.contains("stall") && line.contains("0.40 s") && line.contains(" ok ")));
}

/// A GiB written at so much CPU of storage, and 4 KiB read at so much.
fn rows(workloads: [&'static str; 2], backend: Backend, storage_us: u64) -> Vec<Row> {
    let stream = row(workloads[0], Step::Write, backend, 2048, 1 << 30, 1.0, servers(0, storage_us));
    let random = row(workloads[1], Step::RandomRead, backend, 1000, 4_096_000, 1.0, servers(0, storage_us / 20));
    vec![stream, random]
}

#[test]
fn rows_of_data_are_ratios_to_the_floor_beside_their_absolute_aims() {
    let floor = floors::FloorReport {
        bench: "floor",
        setting: Setting::default(),
        sizes: floors::Sizes {
            connections: 2,
            depth: 16,
            files: 64,
            file_bytes: 16 << 20,
            block: 512 << 10,
            random: 64_000,
            seed: 1,
        },
        rounds: 1,
        rows: rows(["floor", "floor"], Backend::Floor, 200_000),
        interrupted: false,
        notes: Vec::new(),
    };
    let data = report(rows(["easy", "random"], Backend::Native, 240_000));
    let mirrored = report(rows(["easy", "random"], Backend::Native, 480_000));
    let parts = Parts { data: Ok(data), floor: Ok(floor), mirrored_data: Ok(mirrored), ..nothing() };
    let all = scores(&parts);
    let of = |what: &str| all.iter().find(|score| score.aim.what.starts_with(what)).cloned().unwrap();
    let written = of("storage CPU per GiB written ÷ floor");
    assert!(written.aim.ok && written.aim.value.is_some_and(|ratio| (ratio - 1.2).abs() < 1e-9), "{written:?}");
    let absolute = written.absolute.unwrap();
    assert_eq!((absolute.value, absolute.ok, written.floor), (Some(0.24), false, Some(0.2)));
    assert!(of("storage CPU per 4 KiB random read ÷ floor").aim.ok);
    let mirrored = of("storage CPU per GiB written, mirrored");
    assert_eq!((mirrored.aim.value, mirrored.aim.ok, mirrored.absolute), (Some(2.0), true, None));
    assert_eq!(of("storage CPU per 4 KiB random read, mirrored").aim.value, Some(2.0));
    let none = of("storage CPU per GiB read ÷ floor");
    assert_eq!((none.aim.why.as_deref(), none.aim.ok), (Some("its phase did nothing"), false));
    assert!(!all.iter().any(|score| score.aim.what == "storage CPU per GiB written, checksums on"), "only beside");
    let text = text(&all);
    let line = text.lines().find(|line| line.starts_with("storage CPU per GiB written ÷ floor")).unwrap();
    assert!(line.contains("1.20 × floor ≤ 1.25 × floor 0.96 ok 0.24 s (≤ 0.22 s) MISS 0.20"), "{line}");
}

#[test]
fn rows_of_before_there_were_floors_are_read() {
    let old = r#"{"what":"storage CPU per GiB read, checksums on","value":0.27,"aim":0.15,"unit":"s","at_least":false,"ok":false,
        "before":null,"worse":false}"#;
    let old: Score = serde_json::from_str(old).unwrap();
    assert_eq!((old.absolute.clone(), old.floor, old.aim.value), (None, None, Some(0.27)));
    let json = serde_json::to_value(&old).unwrap();
    assert!(json.get("absolute").is_none() && json.get("floor").is_none(), "{json}");
    let new = Score { absolute: Some(old.aim.clone()), floor: Some(0.2), ..old };
    let again: Score = serde_json::from_str(&serde_json::to_string(&new).unwrap()).unwrap();
    assert_eq!(again, new);
}
