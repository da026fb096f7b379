// SPDX-License-Identifier: Apache-2.0

//! What pages say in each state, and that they are made for everybody.

use crate::clusters::{World, degraded, empty, healthy, lost_majority, resyncing};
use nyala_web::{Page, Visitor, document, parts};

fn page(world: &World, page: Page, may_act: bool) -> String {
    let facts = world.facts(may_act);
    document(page, &facts, &parts(page, &facts), &Visitor { may_act, ..Visitor::default() })
}

#[test]
fn each_state_says_what_it_is() {
    for (world, headline) in [
        (empty(), "There are no targets yet"),
        (healthy(), "All is well"),
        (degraded(), "Degraded: "),
        (resyncing(), "Mending itself"),
        (lost_majority(), "Management has no majority"),
    ] {
        for each in Page::ALL {
            let html = page(&world, each, false);
            assert!(html.contains(headline), "{headline} on {}", each.title());
        }
    }
}

#[test]
fn findings_come_with_what_to_do_and_the_worst_first() {
    let html = page(&degraded(), Page::Overview, false);
    for said in [
        "storage node storage1 [ID: 6] is offline",
        "<code>systemctl start nyala-storage</code>",
        "Degraded: 2 things need you",
        "<li>mirror group 2: target 101 needs resync",
    ] {
        assert!(html.contains(said), "{said}");
    }
    let html = page(&lost_majority(), Page::Overview, false);
    let (down, degraded) =
        (html.find("no majority, as far").unwrap(), html.find("m2 [ID: 2] cannot be reached").unwrap());
    assert!(down < degraded);
}

#[test]
fn mirrors_show_roles_and_progress() {
    let html = page(&resyncing(), Page::Mirrors, false);
    for said in ["41%: 14 GiB copied, 20 GiB left", "resyncing", "primary", "to go"] {
        assert!(html.contains(said), "{said}");
    }
    assert!(!html.contains("/act?"), "a viewer gets no actions");
    let html = page(&degraded(), Page::Mirrors, true);
    for action in ["/act?do=stop-resync&amp;group=2", "/act?do=switch&amp;group=1&amp;target=2"] {
        assert!(html.contains(action), "{action}");
    }
    assert!(!html.contains("do=declare&amp;target=101&amp;to=good"), "not while a good member serves");
}

#[test]
fn without_figures_the_map_is_shown() {
    let mut world = healthy();
    world.figures = None;
    assert!(page(&world, Page::Overview, false).contains("No figures yet"));
    assert!(page(&world, Page::Targets, false).contains("disk-108"));
    assert!(page(&world, Page::Services, false).contains("not asked yet"));
}

#[test]
fn pages_are_made_for_everybody() {
    for each in Page::ALL {
        let html = page(&resyncing(), each, true);
        for said in [
            "<html lang=\"en\">",
            "<main id=\"main\"",
            "<nav aria-label",
            "Skip to the content",
            "<h1>",
            "aria-current=\"page\"",
        ] {
            assert!(html.contains(said), "{said} on {}", each.title());
        }
        let (tables, captions) = (html.matches("<table").count(), html.matches("<caption").count());
        assert_eq!(tables, captions, "every table on {} has a caption", each.title());
        for (at, _) in html.match_indices("<th") {
            let head = &html[at..html.len().min(at + 40)];
            assert!(head.starts_with("<thead") || head.contains("scope="), "{head}");
        }
        for (at, _) in html.match_indices("<svg") {
            assert!(
                html[at..].split('>').next().unwrap().contains("role=\"img\" aria-label"),
                "{}",
                &html[at..at + 90]
            );
        }
        // The policy for content allows none of these.
        assert!(!html.contains("style=") && !html.contains("<style") && !html.contains("onclick"), "{}", each.title());
        assert!(!html.contains("http://") && !html.contains("https://"), "nothing from elsewhere");
    }
}
