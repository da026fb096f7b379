// SPDX-License-Identifier: Apache-2.0

//! What a page shows of a cluster while something goes on there.

use nyala_e2e::Cluster;
use nyala_e2e::browser::Browser;
use std::fs;

/// Notes the rate of writes that the page shows with each round of figures, by the round's time: the sum over rounds is what was written.
const WATCH_WRITTEN: &str = "
    window.rates = new Map();
    const units = {B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3};
    const note = () => {
        const time = document.querySelector('.state time');
        const tile = Array.from(document.querySelectorAll('.tile')).find(tile => tile.querySelector('dt').textContent === 'Written');
        if (!time || !tile) return;
        const [number, unit] = tile.querySelector('dd').textContent.split(/[ /]/);
        rates.set(Date.parse(time.dateTime), Number(number) * units[unit]);
    };
    window.written = () => Array.from(rates.keys()).slice(1)
        .reduce((sum, at, n) => sum + rates.get(at) * (at - Array.from(rates.keys())[n]) / 1000, 0);
    new MutationObserver(note).observe(document.body, {subtree: true, childList: true});
    note();
";

/// What is written is shown without a reload, and as much as it was.
pub fn shows_the_rate(cluster: &Cluster, browser: &mut Browser) {
    browser.evaluate(WATCH_WRITTEN);
    browser.wait("rates.size >= 2");
    for n in 0..8 {
        fs::write(cluster.mount().join(format!("file{n}")), vec![7; 4 << 20]).unwrap();
        fs::File::open(cluster.mount().join(format!("file{n}"))).unwrap().sync_all().unwrap();
    }
    // Both members of each group write it.
    let counted = f64::from(2 * 8 * (4 << 20));
    browser.wait(&format!("written() >= 0.95 * {counted}"));
    let rounds = browser.evaluate("rates.size").as_u64().unwrap();
    browser.wait(&format!("rates.size >= {}", rounds + 2));
    let shown = browser.evaluate("written()").as_f64().unwrap();
    println!("the page shows {shown} bytes, counted {counted}");
    assert!((shown - counted).abs() <= 0.05 * counted, "{shown}, but the load counted {counted}");
}

/// The page of mirrors is open while the service comes back and is brought up to date.
pub fn shows_a_resync(cluster: &Cluster, browser: &mut Browser, address: &str) {
    fs::write(cluster.mount().join("while-away"), vec![8; 64 << 20]).unwrap();
    fs::File::open(cluster.mount().join("while-away")).unwrap().sync_all().unwrap();
    browser.open(&format!("{address}mirrors"));
    browser.wait("document.querySelector('#live .live-state').innerText.includes('Live')");
    browser.wait_for_text("needs resync");
    browser.evaluate(
        "window.mark = 'the same page'; window.seen = new Set(); new MutationObserver(() => document.querySelectorAll('.badge') \
         .forEach(badge => seen.add(badge.textContent.trim()))).observe(document.querySelector('main'), {subtree: true, childList: true})",
    );
    cluster.start_service("storage1");
    browser.wait("Array.from(seen).some(badge => badge.includes('resyncing'))");
    browser.wait(
        "!/offline|resync/.test(Array.from(document.querySelectorAll('.badge'), badge => badge.textContent).join(' '))",
    );
    assert_eq!(browser.evaluate("window.mark"), "the same page");
}

/// By its path, typed into the form; and a check of the file system. The page is the overview again afterwards.
pub fn shows_where_a_file_lies(cluster: &Cluster, browser: &mut Browser, address: &str) {
    fs::create_dir_all(cluster.mount().join("deep/er")).unwrap();
    fs::rename(cluster.mount().join("file7"), cluster.mount().join("deep/er/a file")).unwrap();
    // Its size is known to its server then.
    fs::File::open(cluster.mount().join("deep/er/a file")).unwrap().sync_all().unwrap();
    let dir = cluster.dir().display().to_string();
    cluster.nyala(["fsck", "--dir", &dir, "--grace", "1s"]).must();
    browser.open(&format!("{address}files"));
    browser.wait("document.querySelector('#checks').innerText.includes('0 findings, 0 repaired')");
    browser.evaluate("document.getElementById('path').value = '/deep/er/a file'");
    browser.evaluate("document.querySelector('form.search button').click()");
    browser.wait(
        "location.search.includes('deep') && document.querySelector('#found h2').innerText === '/deep/er/a file'",
    );
    let path = cluster.mount().join("deep/er/a file").display().to_string();
    let info = cluster.nyala(["entry", "info", &path, "--output", "json"]).must();
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let found = browser.evaluate("document.querySelector('#found').innerText").as_str().unwrap().to_owned();
    for said in
        [info["inode"].as_str().unwrap(), "4194304 bytes", "striped over mirror groups", "primary", "good", "online"]
    {
        assert!(found.contains(said), "{said}: {found}");
    }
    let targets = info["stripe"]["targets"].as_array().unwrap();
    assert!(
        targets.len() == 2 && targets.iter().all(|target| found.contains(&format!("{target} "))),
        "{info}: {found}"
    );
    browser.open(&format!("{address}files?path=/deep/nothing"));
    browser.wait_for_text("there is no /deep/nothing");
    browser.open(address);
    browser.evaluate("window.mark = 'the same page'");
    browser.wait("document.querySelector('#live .live-state').innerText.includes('Live')");
}
