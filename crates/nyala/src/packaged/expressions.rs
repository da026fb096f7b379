// SPDX-License-Identifier: Apache-2.0

//! The words that values of the role's tasks stand for: by Jinja, with the filters that Ansible adds to it. A variable or a filter that is not known
//! panics, so that the role cannot use what no test reads.

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, UndefinedBehavior, Value};

/// Words of a YAML value: an expression in quotes, or a list whose items are words or expressions.
pub fn expanded(value: &str, variables: &serde_json::Value) -> Vec<String> {
    let value = value.trim();
    if let Some(inner) = value.trim_matches('"').trim().strip_prefix("{{") {
        return evaluate(inner.strip_suffix("}}").unwrap(), variables);
    }
    let list = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let list = list.unwrap_or_else(|| panic!("neither a list nor an expression: {value}"));
    let items = list.split(", ").map(str::trim).filter(|item| !item.is_empty());
    let unquoted = |item: &str| vec![item.trim_matches(['"', '\'']).to_owned()];
    items.flat_map(|item| if item.contains("{{") { expanded(item, variables) } else { unquoted(item) }).collect()
}

fn evaluate(expression: &str, variables: &serde_json::Value) -> Vec<String> {
    let mut jinja = Environment::new();
    jinja.set_undefined_behavior(UndefinedBehavior::Strict);
    jinja.add_filter("flatten", |list: Value| flat(&list));
    jinja.add_filter("product", |left: Vec<Value>, right: Vec<Value>| {
        let pairs = left.iter().flat_map(|one| right.iter().map(move |other| vec![one.clone(), other.clone()]));
        pairs.collect::<Vec<_>>()
    });
    let evaluated = jinja.compile_expression(expression).and_then(|compiled| compiled.eval(Serde(variables)));
    let found = evaluated.unwrap_or_else(|error| panic!("{expression}: {error}"));
    flat(&found).iter().map(ToString::to_string).collect()
}

/// What is in a list and in the lists in it; what is no list is one itself.
fn flat(value: &Value) -> Vec<Value> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => value.try_iter().unwrap().flat_map(|item| flat(&item)).collect(),
        _ => vec![value.clone()],
    }
}

#[test]
fn expressions_become_words() {
    let variables = serde_json::json!({
        "a": ["1", "2"], "none": [], "start": true, "role": "client",
        "hosts": {"node01": {"address": "10.0.0.1"}, "node02": {}}, "settings": {"client": {"y": "2", "x": "1"}},
    });
    let said = |value: &str| expanded(value, &variables).join(" ");
    assert_eq!(said("[x, --y, \"{{ role }}\"]"), "x --y client");
    assert_eq!(said("\"{{ ['x'] + a + ['z'] }}\""), "x 1 2 z");
    assert_eq!(said("\"{{ (['--s'] if start | bool else []) + ['--t'] | product(a) | flatten }}\""), "--s --t 1 --t 2");
    assert_eq!(said("\"{{ ['-i', a | join(',')] if a and role != 'meta' else [] }}\""), "-i 1,2");
    assert_eq!(said("\"{{ (['-i'] if none and role != 'meta' else ['-j']) + ['k'] }}\""), "-j k");
    let sets = "\"{{ ['--set'] | product(settings[role] | default({}) | dictsort | map('join', '=')) | flatten }}\"";
    assert_eq!(said(sets), "--set x=1 --set y=2");
    assert_eq!(said("[\"{{ hosts['node01'].address | default('none') }}\"]"), "10.0.0.1");
    assert_eq!(said("[\"{{ hosts['node02'].address | default('none') }}\"]"), "none");
    assert!(std::panic::catch_unwind(|| expanded("\"{{ unknown + ['x'] }}\"", &serde_json::json!({}))).is_err());
}
