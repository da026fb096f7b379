// SPDX-License-Identifier: Apache-2.0

//! What services say in text, and what browsers send.

use nyala_metrics::parse::parse;
use nyala_web::Action;

/// A page of metrics, as `nyala stats` and `nyala mon` read it.
pub fn metrics_page(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match parse(text) {
        Ok(_) => true,
        Err(malformed) => {
            assert!(malformed.line <= text.lines().count() && !malformed.what.is_empty());
            false
        }
    }
}

/// The fields of a form of the page, `name=value` and `&` between them.
pub fn web_action(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let pairs = |text: &str| -> Vec<(String, String)> {
        let field = |field: &str| field.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        text.split('&').filter_map(field).collect()
    };
    Action::parse(&pairs(text)).is_ok_and(|action| {
        let address = action.address();
        let (_, query) = address.split_once('?').expect("an address has fields");
        assert_eq!(Action::parse(&pairs(query)), Ok(action));
        true
    })
}
