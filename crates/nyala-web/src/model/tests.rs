// SPDX-License-Identifier: Apache-2.0

//! Lists that are cut.

use super::*;

#[test]
fn the_largest_come_first_and_the_others_are_counted() {
    let all: Vec<(f64, String)> = (0..1000).map(|n| (f64::from(n % 500), format!("c{n:04}"))).collect();
    let cut = largest(&all, 4, |row| row.0, |row| &row.1);
    let names: Vec<&str> = cut.rows.iter().map(|row| row.1.as_str()).collect();
    assert_eq!((names, cut.more), (vec!["c0499", "c0999", "c0498", "c0998"], 996));
    assert_eq!(largest(&all[..2], 4, |row| row.0, |row| &row.1).more, 0);
    assert_eq!(Cut::of(vec![1, 2, 3], 2), Cut { rows: vec![1, 2], more: 1 });
}
