// SPDX-License-Identifier: Apache-2.0

//! Writes the pages as files for a browser, where `NYALA_WEB_PAGES` names a directory: for the pictures in `docs`, each made by
//! `chromium --headless --no-sandbox --window-size=1200,900 --screenshot=NAME.png file://DIRECTORY/NAME.html`.

use crate::clusters::{check, degraded, empty, healthy, lost_majority, resyncing};
use crate::files::{info, layout};
use nyala_web::{
    Action, CheckState, ICON, Looked, Page, STYLE, Visitor, confirmation, consequences, document, login, parts,
    with_file,
};
use nyala_wire::map::Consistency;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{FileKind, Pattern, TargetId};
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
    // A file that somebody has looked up, while its file system is checked.
    let mut checked = resyncing();
    checked.checks = vec![
        check(CheckState::GoesOn("second look: 1,204,288 of 3,010,544 chunk files".to_owned())),
        check(CheckState::Over("0 findings, 0 repaired".to_owned())),
    ];
    let (facts, visitor) = (checked.facts(false), Visitor::default());
    let file = EntryInfo { layout: layout(Pattern::Mirror, &[2, 3]), ..info(FileKind::File) };
    let looked = Looked { path: "/projects/climate/run-17.nc".to_owned(), found: Ok(file) };
    let page = with_file(&facts, &parts(Page::Files, &facts), Some(&looked));
    write("file-found", &document(Page::Files, &facts, &page, &visitor));
    let action = Action::Declare { target: TargetId(101), consistency: Consistency::Good };
    let degraded = &worlds[2].1;
    write("confirm", &confirmation(&action, &consequences(&action, &degraded.facts(true)).unwrap(), "c"));
    write("login", &login(None));
    assert!(std::fs::read_to_string(dir.join("login.html")).unwrap().contains("href=\"assets/style.css\""));
    if wanted.is_none() {
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
