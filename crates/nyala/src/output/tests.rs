// SPDX-License-Identifier: Apache-2.0

//! Tables and JSON as they are printed.

use super::layout::{fit, render_within};
use super::*;

#[test]
fn columns_are_aligned() {
    let mut table = Table::new(&["ID", "ALIAS", "FREE"]);
    table.row(["1".into(), "meta1".into(), "-".into()]);
    table.row(["101".into(), "s".into(), "2.0GiB".into()]);
    let want = " ID  ALIAS    FREE\n===  =====  ======\n  1  meta1       -\n101  s      2.0GiB\n";
    assert_eq!(table.render(), want);
}

#[test]
fn wide_letters_take_their_room() {
    let mut table = Table::new(&["NAME", "STATE"]);
    table.row(["東京".into(), "ok".into()]);
    table.row(["".into(), "ok".into()]);
    assert_eq!(table.render(), "NAME  STATE\n====  =====\n東京  ok\n      ok\n");
}

#[test]
fn each_entry_of_a_list_is_a_line_of_its_own() {
    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        id: u32,
        also: Option<Vec<u8>>,
    }
    let row = |id, name| Row { name, id, also: (id == 2).then(|| vec![1, 2]) };
    let want = "{\"also\":null,\"id\":1,\"name\":\"a\\nb\"}\n{\"also\":[1,2],\"id\":2,\"name\":\"c\"}\n";
    assert_eq!(lines(&[row(1, "a\nb"), row(2, "c")]).unwrap(), want);
    assert_eq!(lines(&Vec::<u32>::new()).unwrap(), "", "an empty list has no line");
    assert_eq!(lines(&row(3, "d")).unwrap(), "{\"also\":null,\"id\":3,\"name\":\"d\"}\n");
}

#[test]
fn an_empty_table_has_its_heading() {
    assert_eq!(Table::new(&["ID", "ALIAS"]).render(), "ID  ALIAS\n==  =====\n");
}

#[test]
fn the_widest_column_gives_way() {
    assert_eq!(fit(vec![3, 40, 20], &[2, 5, 9], 80), [3, 40, 20], "it fits");
    assert_eq!(fit(vec![3, 60, 20], &[2, 5, 9], 80), [3, 53, 20]);
    assert_eq!(fit(vec![60, 60, 60], &[4, 4, 4], 80), [26, 25, 25]);
    // Down to the headings, then farther, and not for ever.
    assert_eq!(fit(vec![30, 30], &[20, 30], 40), [19, 19]);
    assert_eq!(fit(vec![9; 20], &[9; 20], 80), [4; 20]);
    assert_eq!(fit(Vec::new(), &[], 80), [0_usize; 0]);
}

#[test]
fn what_does_not_fit_goes_on_in_the_next_line() {
    let mut table = Rows::new(&["ID", "ALIAS", "ADDRESSES"]);
    table.row(["1".into(), "storage1".into(), "10.0.0.1:8008 10.0.0.2:8008 10.0.0.3:8008".into()]);
    table.row(["2".into(), "storage2".into(), "10.0.0.4:8008".into()]);
    let want = "\
ID  ALIAS     ADDRESSES
==  ========  ===========================
 1  storage1  10.0.0.1:8008 10.0.0.2:8008
              10.0.0.3:8008
 2  storage2  10.0.0.4:8008
";
    assert_eq!(render_within(&table, 41), want);
}

/// The headings of every table that the sources of this crate print, as they are written there.
fn headings() -> Vec<Vec<&'static str>> {
    fn sources(dir: &std::path::Path, all: &mut Vec<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => sources(&path, all),
                false => all.push(std::fs::read_to_string(&path).unwrap()),
            }
        }
    }
    let mut all = Vec::new();
    for of in ["src", "../nyala-bench/src"] {
        sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(of), &mut all);
    }
    let mut headings = Vec::new();
    for text in all {
        let text: &'static str = text.leak();
        for list in text.split("Table::new(&[").skip(1) {
            let list = list.split(']').next().unwrap();
            headings.push(list.split('"').skip(1).step_by(2).collect());
        }
    }
    headings
}

/// Each table, with names as long as they may be, and a sentence in its last column.
#[test]
fn every_table_fits_80_columns() {
    let mut headings = headings();
    assert!(headings.len() > 30, "{}", headings.len());
    // The longest of those that are put together.
    headings.push(vec!["ID", "TYPE", "ALIAS", "NODE", "POOL", "REACHABILITY", "CONSISTENCY", "CAP_POOL"]);
    for heads in headings.into_iter().filter(|heads| !heads.is_empty()) {
        let mut table = Rows::new(&heads);
        let name = |at: usize| format!("rack{at}-{}-with-a-long-name", "storage".repeat(4));
        let mut long: Vec<String> = (0..heads.len()).map(name).collect();
        *long.last_mut().unwrap() = "a reason in some words ".repeat(9);
        table.row(long);
        table.row((0..heads.len()).map(|at| at.to_string()));
        let text = render_within(&table, 80);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        // With more than 13 columns nothing helps but fewer of them.
        assert!(widest <= 80 || heads.len() > 13, "{widest} columns: {heads:?}\n{text}");
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        let said: usize = table
            .rows
            .iter()
            .flatten()
            .chain(&heads.iter().map(ToString::to_string).collect::<Vec<_>>())
            .map(|text| letters(text))
            .sum();
        assert_eq!(letters(&text), said, "nothing is cut off: {text}");
    }
}
