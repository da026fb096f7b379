// SPDX-License-Identifier: Apache-2.0

//! The web page of management in a real browser.

mod keyboard;
mod shows;

use keyboard::{is_reached_by_keyboard, tab_to, works_without_scripts};
use nyala_e2e::browser::Browser;
use nyala_e2e::{Cluster, Options, beside_others};
use shows::{shows_a_resync, shows_the_rate, shows_where_a_file_lies};
use std::fs;

fn token(cluster: &Cluster, service: &str, name: &str) -> String {
    let path = cluster.dir().join(service).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).trim().to_owned()
}

/// Opens the page and comes in through the form, by the keyboard alone.
fn login(browser: &mut Browser, address: &str, token: &str) {
    browser.open(address);
    browser.wait("location.pathname === '/login' && document.activeElement.id === 'token'");
    browser.evaluate(&format!("document.getElementById('token').value = '{token}'"));
    browser.press("Enter");
    browser.wait("location.pathname === '/' && document.querySelector('h1').innerText === 'Overview'");
}

/// The address of the page, as `nyala up` says it.
fn address(cluster: &Cluster) -> String {
    let dir = cluster.dir().display().to_string();
    let out = cluster.nyala(["up", "--dir", &dir, "--output", "json", "--no-mount"]).must();
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    report["page"].as_str().unwrap_or_else(|| panic!("{out}")).to_owned()
}

#[test]
fn e2e_web_page_shows_a_failover_while_it_happens() {
    let _one = beside_others();
    let more = vec!["--mirror".to_owned()];
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more });
    let address = address(&cluster);
    let mut browser = Browser::start(cluster.root());
    login(&mut browser, &address, &token(&cluster, "mgmt", "view.token"));
    browser.wait_for_text("All is well");
    browser.wait("document.querySelector('#live .live-state').innerText.includes('Live')");
    // The policy for content let style and drawings through.
    browser.wait("getComputedStyle(document.querySelector('header')).backgroundColor !== 'rgba(0, 0, 0, 0)'");
    browser.wait("document.querySelectorAll('svg[role=img]').length >= 3");

    // What is written is shown, without a reload: the mark stays.
    browser.evaluate("window.mark = 'the same page'");
    shows_the_rate(&cluster, &mut browser);
    shows_where_a_file_lies(&cluster, &mut browser, &address);
    cluster.kill("storage1");
    browser.wait_for_text("Degraded: ");
    browser.wait_for_text("needs resync");
    browser.wait("document.querySelector('#findings').innerText.includes('systemctl start nyala-storage')");
    browser.wait_for_text("is primary of mirror group");
    browser.wait_for_text("the lease of storage node");
    assert_eq!(browser.evaluate("window.mark"), "the same page");
    shows_a_resync(&cluster, &mut browser, &address);
    browser.open(&address);
    browser.wait_for_text("All is well");
    for said in ["is being resynced", "holds everything"] {
        browser.wait_for_text(said);
    }
}

#[test]
fn e2e_web_page_acts_after_a_question() {
    let _one = beside_others();
    let more = vec!["--mirror".to_owned()];
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more });
    let address = address(&cluster);
    let mut browser = Browser::start(cluster.root());
    login(&mut browser, &address, &token(&cluster, "mgmt", "rest.token"));
    browser.open(&format!("{address}mirrors"));
    browser.wait("document.querySelector(\"a[href*='do=switch']\") !== null");
    // The first thing that Tab leads to is the way past the navigation.
    browser.press("Tab");
    assert_eq!(browser.evaluate("document.activeElement.className"), "skip");
    browser.press("Enter");
    browser.wait("location.hash === '#main'");
    tab_to(&mut browser, "e.matches(\"a[href*='do=switch']\")");
    browser.press("Enter");
    browser.wait_for_text("What will happen");
    browser.wait_for_text("becomes primary of mirror group");
    let asked = browser.text();
    let target = asked.split("Target ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    tab_to(&mut browser, "e.matches('button.primary')");
    browser.press("Enter");
    browser.wait_for_text("Done.");
    browser.wait_for_text(&format!("{target} "));
    browser.open(&format!("{address}events"));
    browser.wait(&format!(
        "document.body.innerText.includes('target {target} ') && document.body.innerText.includes('is primary of mirror group') \
         && document.body.innerText.includes('by an operator')"
    ));
    for page in ["", "topology", "mirrors", "files?path=/"] {
        is_reached_by_keyboard(&mut browser, &address, page);
    }
    works_without_scripts(&mut browser, &address);
}

#[test]
fn e2e_web_page_of_a_node_without_a_majority() {
    let _one = beside_others();
    let more = ["--mgmt", "3"].map(str::to_owned).to_vec();
    let cluster = Cluster::prepare(Options { meta: 1, storage: 2, storage_services: 1, more });
    cluster.up().must();
    let address = address(&cluster);
    let mut browser = Browser::start(cluster.root());
    login(&mut browser, &address, &token(&cluster, "mgmt", "view.token"));
    browser.wait_for_text("All is well");
    let others = ["mgmt2".to_owned(), "mgmt3".to_owned()];
    cluster.kill_all(&others);
    browser.wait_for_text("Management has no majority");
    browser.wait_for_text("Start the other management nodes");
    for other in &others {
        cluster.start_service(other);
    }
    browser.wait("!document.body.innerText.includes('no majority')");
}
