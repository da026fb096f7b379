// SPDX-License-Identifier: Apache-2.0

//! Names may be anything.

use crate::clusters::{NOW, World, change, check as clusters_check, degraded};
use nyala_cluster::Mood;
use nyala_web::{Check, CheckState, Looked, Page, Visitor, document, login, notice, parts, with_file};

const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&lt;";

fn hostile() -> World {
    let mut world = degraded();
    world.map.nodes.iter_mut().for_each(|node| node.alias = format!("{HOSTILE}{}", node.id));
    world.map.targets.iter_mut().for_each(|target| target.alias = format!("{HOSTILE}{}", target.id));
    world.map.pools.iter_mut().for_each(|pool| pool.alias = HOSTILE.to_owned());
    world.here.alias = HOSTILE.to_owned();
    crate::clusters::figures(&mut world);
    let figures = world.figures.as_mut().unwrap();
    figures.clients.iter_mut().for_each(|client| client.name = HOSTILE.to_owned());
    figures.users.iter_mut().for_each(|user| user.uid = HOSTILE.to_owned());
    figures.files.iter_mut().for_each(|file| file.path = HOSTILE.to_owned());
    figures.services.iter_mut().for_each(|service| service.failed = Some(HOSTILE.to_owned()));
    world.changes.push(change(NOW, Mood::Worse, HOSTILE, HOSTILE));
    let said = || HOSTILE.to_owned();
    for state in [CheckState::GoesOn(said()), CheckState::Over(said())] {
        world.checks.push(Check { host: said(), what: said(), ..clusters_check(state) });
    }
    world
}

fn check(html: &str, what: &str) {
    // What a parser would take for an element or an attribute of its own.
    assert!(!html.contains("<script>alert") && !html.contains("<img"), "{what}");
    for tag in html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default()) {
        assert!(!tag.contains("onerror") || !tag.starts_with("img"), "{what}: {tag}");
        assert!(tag.matches('"').count().is_multiple_of(2), "{what}: {tag}");
    }
}

#[test]
fn no_name_becomes_markup() {
    let world = hostile();
    for page in Page::ALL {
        for may_act in [false, true] {
            let facts = world.facts(may_act);
            let flash = Some((true, HOSTILE.to_owned()));
            let html =
                document(page, &facts, &parts(page, &facts), &Visitor { csrf: HOSTILE.to_owned(), may_act, flash });
            check(&html, page.title());
            assert!(html.contains("&lt;script&gt;alert(1)"), "{} shows it as text", page.title());
        }
    }
    let (facts, found) = (world.facts(true), Err(HOSTILE.to_owned()));
    let looked = Looked { path: HOSTILE.to_owned(), found };
    let parts = with_file(&facts, &parts(Page::Files, &facts), Some(&looked));
    check(&document(Page::Files, &facts, &parts, &Visitor::default()), "a file");
    check(&login(Some(HOSTILE)), "login");
    check(&notice(HOSTILE, HOSTILE), "notice");
}
