// SPDX-License-Identifier: Apache-2.0

//! Writes the pages as files for a browser, where `NYALA_WEB_PAGES` names a directory: for the pictures in `docs`.

use crate::clusters::{degraded, empty, healthy, lost_majority, resyncing};
use nyala_web::{Action, ICON, Page, STYLE, Visitor, confirmation, consequences, document, login, parts};
use nyala_wire::TargetId;
use nyala_wire::map::Consistency;
use std::path::Path;

#[test]
fn pages_stand_alone_as_files() {
    let scratch = std::env::temp_dir().join(format!("nyala-web-pages-{}", std::process::id()));
    let wanted = std::env::var_os("NYALA_WEB_PAGES");
    let dir = wanted.as_ref().map_or(scratch.as_path(), Path::new);
    std::fs::create_dir_all(dir.join("assets")).unwrap();
    std::fs::write(dir.join("assets/style.css"), STYLE).unwrap();
    std::fs::write(dir.join("assets/icon.svg"), ICON).unwrap();
    let write = |name: &str, html: &str| {
        std::fs::write(dir.join(format!("{name}.html")), html.replace("\"/assets/", "\"assets/")).unwrap();
    };
    let worlds = [
        ("empty", empty()),
        ("healthy", healthy()),
        ("degraded", degraded()),
        ("resyncing", resyncing()),
        ("lost", lost_majority()),
    ];
    for (name, world) in &worlds {
        for page in Page::ALL {
            let facts = world.facts(true);
            let visitor = Visitor { may_act: true, ..Visitor::default() };
            let html = document(page, &facts, &parts(page, &facts), &visitor);
            write(&format!("{name}-{}", page.title().to_lowercase()), &html);
        }
    }
    let action = Action::Declare { target: TargetId(101), consistency: Consistency::Good };
    let degraded = &worlds[2].1;
    write("confirm", &confirmation(&action, &consequences(&action, &degraded.facts(true)).unwrap(), "c"));
    write("login", &login(None));
    assert!(std::fs::read_to_string(dir.join("login.html")).unwrap().contains("href=\"assets/style.css\""));
    if wanted.is_none() {
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
