// SPDX-License-Identifier: Apache-2.0

//! Addresses of what speaks HTTP.

/// Where HTTP is spoken: `http://HOST[:PORT][/PATH]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Host and port as they were written.
    pub authority: String,
    /// Where to connect.
    pub address: String,
    /// What comes before every path.
    pub path: String,
}

/// What is wrong with an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Encrypted.
    #[error("{0:?}: https is not spoken here; put a proxy that does beside this service and name its http address")]
    Encrypted(String),
    /// Something else.
    #[error("{0:?} is not http://HOST[:PORT]")]
    Malformed(String),
}

impl std::str::FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Url, UrlError> {
        if text.starts_with("https:") {
            return Err(UrlError::Encrypted(text.to_owned()));
        }
        let bad = || UrlError::Malformed(text.to_owned());
        let rest = text.strip_prefix("http://").ok_or_else(bad)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let port = authority.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        let address = match port {
            Some((_, port)) => {
                port.parse::<u16>().map_err(|_| bad())?;
                authority.to_owned()
            }
            None => format!("{authority}:80"),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        let plain = |c: char| c.is_ascii_graphic() && !"?#".contains(c);
        if authority.is_empty()
            || authority.starts_with(':')
            || !authority.chars().all(fits)
            || !path.chars().all(plain)
        {
            return Err(bad());
        }
        let path = path.trim_end_matches('/');
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Url { authority: authority.to_owned(), address, path })
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

/// Text in a query of an address.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        let url = |text: &str| text.parse::<Url>();
        assert_eq!(url("http://db:8086").unwrap().address, "db:8086");
        assert_eq!(url("http://[::1]/influx/").unwrap().to_string(), "http://[::1]/influx");
        assert_eq!(url("http://[::1]").unwrap().address, "[::1]:80");
        assert!(matches!(url("https://db:8086"), Err(UrlError::Encrypted(_))));
        for bad in [
            "",
            "db:8086",
            "http://",
            "http://:1",
            "http://a:b",
            "http://a b",
            "http://a/?x",
            "http://u@a",
            "http://a:70000",
        ] {
            assert!(matches!(url(bad), Err(UrlError::Malformed(_))), "{bad}");
        }
        assert_eq!(encoded("a b/ü"), "a%20b%2F%C3%BC");
    }
}
