// SPDX-License-Identifier: Apache-2.0

//! Tables and JSON as they are printed.

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
