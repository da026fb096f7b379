// SPDX-License-Identifier: Apache-2.0

//! Lists of figures of benchmarks that this page has no form of its own for, as tables.

use crate::report::table::figure;
use serde_json::Value;

/// Most rows and columns of such a table.
const MOST: (usize, usize) = (200, 16);

/// A table whose columns are those of its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// A name for each column.
    pub heads: Vec<String>,
    /// Values, one for each column.
    pub rows: Vec<Vec<String>>,
}

/// A list of objects as a table of those of its fields that are no lists themselves; none for anything else.
pub fn table(list: &Value) -> Option<Grid> {
    let rows: Vec<_> = list.as_array()?.iter().map(Value::as_object).collect::<Option<_>>()?;
    let plain = |value: &Value| !value.is_array() && !value.is_object();
    let mut heads: Vec<String> = Vec::new();
    for (key, _) in rows.iter().flat_map(|row| row.iter()).filter(|(_, value)| plain(value)) {
        if !heads.contains(key) && heads.len() < MOST.1 {
            heads.push(key.clone());
        }
    }
    if heads.is_empty() {
        return None;
    }
    let cell = |row: &serde_json::Map<String, Value>, head: &String| {
        row.get(head).filter(|value| plain(value)).map_or_else(String::new, text)
    };
    let rows = rows.iter().take(MOST.0).map(|row| heads.iter().map(|head| cell(row, head)).collect()).collect();
    Some(Grid { heads, rows })
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => figure(number.as_f64()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_of_objects_is_a_table() {
        let list = json!([{"a": 1, "b": 2.345, "c": [1]}, {"a": "x", "d": null}]);
        let table = table(&list).unwrap();
        assert_eq!(table.heads, ["a", "b", "d"]);
        assert_eq!(table.rows, [["1", "2.35", ""], ["x", "", "-"]]);
        for other in [json!([1, 2]), json!({"a": 1}), json!([]), json!([{"a": []}])] {
            assert_eq!(super::table(&other), None, "{other}");
        }
    }
}
