// SPDX-License-Identifier: Apache-2.0

//! The page of stored runs, byte by byte. After a change on purpose, look at the page that the test leaves (it says where) in a browser, and
//! take it over as `golden.html`.

use nyala_bench::page::{Stored, page, read};
use std::path::Path;

fn runs() -> Vec<Stored> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/runs");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| read("unnamed", &std::fs::read_to_string(file).unwrap()).unwrap()).collect()
}

#[test]
fn the_page_is_as_it_was() {
    let now = page(&runs(), &[]);
    assert_eq!(now, page(&runs(), &[]), "the same runs, the same bytes");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden.html");
    std::fs::write(&place, &now).unwrap();
    let golden = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/golden.html"));
    assert!(golden.is_ok_and(|golden| golden == now), "the page has changed: {}", place.display());
}

#[test]
fn the_page_needs_nothing_else() {
    let page = page(&runs(), &[]);
    for outside in ["<script", "http", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("<svg") && page.contains("lang=\"en\""));
    assert!(page.contains("not all made on the same kind of machine"));
    assert_eq!(page.matches("<section>").count(), page.matches("</section>").count());
}

#[test]
fn one_run_and_none_have_a_page_too() {
    assert!(page(&runs()[..1], &[]).contains("nothing to compare with"));
    let left_out = [("<notes>.json".to_owned(), "it is no run & no page".to_owned())];
    let none = page(&[], &left_out);
    assert!(none.contains("no runs") && none.contains("&lt;notes&gt;.json") && none.contains("no run &amp; no page"));
}

#[test]
fn all_results_of_this_repository_can_be_read() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let json: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    assert!(json.len() >= 5);
    for file in json {
        let run = read("unnamed", &std::fs::read_to_string(&file).unwrap()).unwrap();
        assert!(run.rows.len() > 40 && run.aims.len() > 15 && run.name != "unnamed", "{}", file.display());
    }
}
