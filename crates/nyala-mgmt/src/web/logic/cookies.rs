// SPDX-License-Identifier: Apache-2.0

//! The cookie of a session.

/// Its value in a header `Cookie`.
pub(crate) fn find<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.split(';').find_map(|pair| {
        let (known, value) = pair.trim().split_once('=')?;
        (known == name).then_some(value)
    })
}

/// Sets it: for this host, not for scripts, not sent along by pages of other origins.
/// Where the page is encrypted, it is not sent where it would not be.
pub(crate) fn set(name: &str, value: &str, seconds: u64, is_encrypted: bool) -> String {
    let secure = if is_encrypted { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_among_others() {
        assert_eq!(find("a=1; nyala_1=xyz; b=2", "nyala_1"), Some("xyz"));
        assert_eq!(find("xnyala_1=1;nyala_1x=2", "nyala_1"), None);
        assert_eq!(find("", "nyala_1"), None);
        assert_eq!(find("nyala_1", "nyala_1"), None);
    }

    #[test]
    fn it_is_for_us_alone() {
        let cookie = set("nyala_1", "abc", 60, false);
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        assert!(!cookie.contains("Secure") && set("nyala_1", "abc", 60, true).ends_with("; Secure"));
    }
}
