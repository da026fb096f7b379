// SPDX-License-Identifier: Apache-2.0

//! The part of `docs/rest.md` that is made from the description of the API, and the tests that hold both to the routes.

use super::openapi;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rest.md");
const BEGIN: &str = "<!-- From the description of the API: UPDATE_DOCS=1 cargo test -p nyala-mgmt reference -->\n";
const END: &str = "<!-- Until here. -->\n";
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

fn description() -> Value {
    serde_json::to_value(openapi::description()).unwrap()
}

/// All paths of the description with their methods, in its order.
fn operations(api: &Value) -> Vec<(String, &'static str, &Value)> {
    let paths = api["paths"].as_object().unwrap().iter();
    let each = paths.flat_map(|(path, item)| METHODS.iter().map(move |method| (path.clone(), *method, &item[*method])));
    each.filter(|(_, _, operation)| operation.is_object()).collect()
}

/// The type that a schema names.
fn shown(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[`{name}`](#{})", name.to_lowercase());
    }
    if let Some(options) = schema["oneOf"].as_array() {
        let kinds: Vec<String> = options.iter().filter(|option| option["type"] != "null").map(shown).collect();
        return format!("{} or null", kinds.join(" or "));
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("list of {}", shown(&schema["items"])),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// A description in one line.
fn flat(text: &Value) -> String {
    text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn body(content: &Value) -> String {
    let schema = &content["content"]["application/json"]["schema"];
    if schema.is_null() { "-".to_owned() } else { shown(schema) }
}

/// The generated part.
fn rendered(api: &Value) -> String {
    let mut text = String::from("## Paths\n\n| Request | Does | Body | Answer |\n|---|---|---|---|\n");
    for (path, method, operation) in operations(api) {
        let said = [flat(&operation["summary"]), flat(&operation["description"])].join(" ");
        let (ask, answer) = (body(&operation["requestBody"]), body(&operation["responses"]["200"]));
        writeln!(text, "| `{} {path}` | {} | {ask} | {answer} |", method.to_uppercase(), said.trim()).unwrap();
    }
    text += "\n## Bodies\n";
    for (name, schema) in api["components"]["schemas"].as_object().unwrap() {
        write!(text, "\n### {name}\n\n{}\n", flat(&schema["description"])).unwrap();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let fields = schema["properties"].as_object().into_iter().flatten();
        text += "\n| Field | Type | Meaning |\n|---|---|---|\n";
        for (field, is) in fields {
            let may = if required.contains(&field.as_str()) { "" } else { ", may be left out" };
            writeln!(text, "| `{field}` | {}{may} | {} |", shown(is), flat(&is["description"])).unwrap();
        }
    }
    text
}

#[test]
fn the_page_has_what_the_api_has() {
    let page = std::fs::read_to_string(Path::new(PAGE)).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("docs/rest.md has the line where the generated part begins");
    let (there, after) = rest.split_once(END).expect("docs/rest.md has the line where the generated part ends");
    let fresh = format!("\n{}\n", rendered(&description()));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, format!("{before}{BEGIN}{fresh}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(there, fresh, "docs/rest.md is behind: UPDATE_DOCS=1 cargo test -p nyala-mgmt reference");
}

#[test]
fn every_route_is_described_and_every_operation_explained() {
    let api = description();
    let described: Vec<String> = operations(&api).iter().map(|(path, method, _)| format!("{method} {path}")).collect();
    // The routes as the router's own text has them: axum does not tell.
    let source = include_str!("mod.rs");
    let routes = source.split(".route(\"").skip(1).filter(|route| !route.starts_with("/api"));
    let mut routed: Vec<String> = routes
        .flat_map(|route| {
            let (path, handlers) = route.split_once('"').unwrap();
            let handlers = handlers.lines().next().unwrap_or_default();
            let has = |method: &&&str| handlers.contains(&format!("{method}("));
            METHODS.iter().filter(has).map(|method| format!("{method} /api/v1{path}")).collect::<Vec<_>>()
        })
        .collect();
    let mut sorted = described.clone();
    sorted.sort();
    routed.sort();
    assert_eq!(routed, sorted);
    for (path, method, operation) in operations(&api) {
        assert!(
            operation["summary"].as_str().is_some_and(|said| said.len() > 8),
            "{method} {path} says nothing of itself"
        );
    }
    for (name, schema) in api["components"]["schemas"].as_object().unwrap() {
        assert!(schema["description"].is_string(), "{name} says nothing of itself");
    }
}
