// SPDX-License-Identifier: Apache-2.0

//! The page for who has a keyboard and no mouse, and for who has no scripts.

use nyala_e2e::browser::Browser;
use std::collections::BTreeSet;

/// More than any page under test has to go through.
const MOST_TABS: usize = 200;

/// Says whether the element with the focus looks like it.
const FOCUS_IS_SEEN: &str = "(() => { const e = document.activeElement, s = getComputedStyle(e); return e.matches(':focus-visible') \
    && (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none'); })()";

/// Presses Tab until a script says true of the element `e` that has the focus then; it must be seen which one that is.
pub fn tab_to(browser: &mut Browser, wanted: &str) {
    let look = format!("(() => {{ const e = document.activeElement; return {wanted}; }})()");
    for _ in 0..MOST_TABS {
        browser.press("Tab");
        if browser.evaluate(&look) == true {
            assert_eq!(browser.evaluate(FOCUS_IS_SEEN), true, "the focus is not seen: {wanted}");
            return;
        }
    }
    panic!("{MOST_TABS} times Tab do not lead to: {wanted}\n{}", browser.text());
}

/// Puts a number on all that can have the focus, and says how many there are.
const NUMBERED: &str = "(() => { const all = Array.from(document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, \
    [tabindex=\"0\"]')).filter(e => e.getClientRects().length > 0); all.forEach((e, n) => e.setAttribute('data-number', n)); return all.length; })()";

/// By Tab alone, everything that can be used is reached, and seen to be.
pub fn is_reached_by_keyboard(browser: &mut Browser, address: &str, page: &str) {
    browser.open(&format!("{address}{page}"));
    // Nothing is replaced meanwhile.
    tab_to(browser, "e.textContent === 'Hold'");
    browser.press("Enter");
    browser.wait("document.querySelector('#live .live-state').innerText === 'Held'");
    let count = browser.evaluate(NUMBERED).as_u64().unwrap();
    assert!(count > 10, "{page}: {count}");
    let mut reached = BTreeSet::new();
    for _ in 0..count + 3 {
        browser.press("Tab");
        let number = browser.evaluate("document.activeElement.getAttribute('data-number')");
        if let Some(number) = number.as_str() {
            assert_eq!(browser.evaluate(FOCUS_IS_SEEN), true, "{page}: the focus on {number} is not seen");
            reached.insert(number.parse::<u64>().unwrap());
        }
    }
    let missing: Vec<u64> = (0..count).filter(|number| !reached.contains(number)).collect();
    let what = |n: &u64| browser.evaluate(&format!("document.querySelector('[data-number=\"{n}\"]').outerHTML"));
    let missing: Vec<_> = missing.iter().map(what).collect();
    assert!(missing.is_empty(), "{page}: Tab does not lead to {missing:?}");
}

/// Without scripts every page is there, with its parts filled, and a file is found.
pub fn works_without_scripts(browser: &mut Browser, address: &str) {
    browser.let_scripts_run(false);
    for page in ["", "topology", "targets", "mirrors", "services", "clients", "files", "events"] {
        browser.open(&format!("{address}{page}"));
        assert_eq!(browser.evaluate("document.getElementById('live').children.length"), 0, "scripts run");
        // Not wider than the window, with a title, and nothing waits for a script to fill it.
        browser.wait("document.documentElement.scrollWidth <= document.documentElement.clientWidth");
        browser.wait("document.querySelectorAll('h1').length === 1");
        browser.wait("Array.from(document.querySelectorAll('[data-part]')).every(part => part.innerText.trim() !== '' || part.id === 'found')");
        browser.wait("document.querySelectorAll('nav a[href]').length === 8");
    }
    browser.open(&format!("{address}files"));
    tab_to(browser, "e.id === 'path'");
    browser.evaluate("document.activeElement.value = '/'");
    browser.press("Enter");
    browser.wait("location.search !== '' && document.querySelector('#found h2').innerText === '/'");
    browser.let_scripts_run(true);
}
