// SPDX-License-Identifier: Apache-2.0

//! The web page of management in a real browser.

use nyala_e2e::browser::Browser;
use nyala_e2e::{Cluster, Options, beside_others};
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
    for n in 0..8 {
        fs::write(cluster.mount().join(format!("file{n}")), vec![7; 4 << 20]).unwrap();
    }
    let written = "Array.from(document.querySelectorAll('.tile')).some(t => t.innerText.startsWith('Written') && /[KM]iB/.test(t.innerText))";
    browser.wait(written);

    cluster.kill("storage1");
    browser.wait_for_text("Degraded: ");
    browser.wait_for_text("needs resync");
    browser.wait("document.querySelector('#findings').innerText.includes('systemctl start nyala-storage')");
    browser.wait_for_text("is primary of mirror group");
    browser.wait_for_text("the lease of storage node");
    fs::write(cluster.mount().join("while-away"), vec![8; 8 << 20]).unwrap();
    cluster.start_service("storage1");
    browser.wait_for_text("All is well");
    browser.wait_for_text("holds everything");
    assert_eq!(browser.evaluate("window.mark"), "the same page");
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
    browser.evaluate("document.querySelector(\"a[href*='do=switch']\").click()");
    browser.wait_for_text("What will happen");
    browser.wait_for_text("becomes primary of mirror group");
    let asked = browser.text();
    let target = asked.split("Target ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    browser.evaluate("document.querySelector('button.primary').click()");
    browser.wait_for_text("Done.");
    browser.wait_for_text(&format!("{target} "));
    browser.open(&format!("{address}events"));
    browser.wait(&format!(
        "document.body.innerText.includes('target {target} ') && document.body.innerText.includes('is primary of mirror group') \
         && document.body.innerText.includes('by an operator')"
    ));
    // Without scripts every page is whole.
    for page in ["", "topology", "targets", "mirrors", "services", "clients", "events"] {
        browser.open(&format!("{address}{page}"));
        // Not wider than the window, and with a title. What is live may be put in its place at this moment.
        browser.wait("document.documentElement.scrollWidth <= document.documentElement.clientWidth");
        browser.wait("document.querySelectorAll('h1').length === 1");
    }
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
