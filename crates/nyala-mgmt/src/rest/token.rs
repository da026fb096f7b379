// SPDX-License-Identifier: Apache-2.0

//! The token that the REST API wants to see.
//!
//! **Failure model.** The file may be readable by others (refused), empty or cut short (refused), or missing (made,
//! whole or not at all). The comparison takes the same time wherever the first wrong byte is.

use super::access::{Access, Shown};
use super::issued::{self, Issued};
use super::setup_error::RestError;
use crate::MgmtError;
use crate::directory::{mode_of, random_id, read_small, write_whole};
use std::path::Path;
use std::sync::Arc;

const MIN_TOKEN: usize = 32;

/// The token for each.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    admin: Token,
    view: Token,
}

impl Tokens {
    /// Reads or makes `rest.token` and `view.token` in a directory.
    pub(crate) fn load_or_create(dir: &Path) -> Result<Tokens, MgmtError> {
        let of = |name| Token::load_or_create(&dir.join(name));
        Ok(Tokens { admin: of("rest.token")?, view: of("view.token")? })
    }

    /// What somebody may do who shows this, at this time in seconds since 1970.
    pub(crate) fn shown(&self, given: &[u8], now_s: u64) -> Option<Shown> {
        let (admin, view) = (self.admin.matches(given), self.view.matches(given));
        let of_file = |access, name: &str| Some(Shown { access, name: name.to_owned(), ends_s: None });
        if admin {
            return of_file(Access::Admin, "rest.token");
        }
        if view {
            return of_file(Access::View, "view.token");
        }
        let issued = issued::read(&self.admin.0, given, now_s)?;
        let name = format!("token of {}", issued.name);
        Some(Shown { access: issued.access, name, ends_s: Some(issued.ends_s) })
    }
}

/// A token for somebody, to look or to change things too, that ends at this time (seconds since 1970). It counts at the nodes whose
/// `rest.token` is that of this directory.
pub fn issue_token(dir: &Path, name: &str, changes: bool, ends_s: u64) -> Result<String, MgmtError> {
    if !issued::is_name(name) {
        let reason = format!("{name:?} is no name for a token: letters, digits, `-`, `_` and `@`, up to 64 of them");
        return Err(RestError::NotIssued(reason).into());
    }
    let path = dir.join("rest.token");
    if read_small(&path)?.is_none() {
        let reason = format!("{} does not exist: this is not the directory of a management service", path.display());
        return Err(RestError::NotIssued(reason).into());
    }
    let key = Token::load_or_create(&path)?;
    let access = if changes { Access::Admin } else { Access::View };
    Ok(issued::make(&key.0, &Issued { access, name: name.to_owned(), ends_s }))
}

/// The token. Printing it shows nothing.
#[derive(Clone)]
pub(crate) struct Token(Arc<[u8]>);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads the token file, or makes it: 64 hexadecimal digits, mode 0600.
    pub(crate) fn load_or_create(path: &Path) -> Result<Token, MgmtError> {
        let Some(bytes) = read_small(path)? else {
            let text = format!("{}{}\n", random_id()?, random_id()?);
            write_whole(path, text.as_bytes(), 0o600)?;
            return Ok(Token(text.trim_end().as_bytes().into()));
        };
        let mode = mode_of(path)?;
        if mode & 0o077 != 0 {
            return Err(MgmtError::TokenMode { path: path.to_owned(), mode });
        }
        let token = bytes.trim_ascii();
        if token.len() < MIN_TOKEN {
            let reason = format!("a token has at least {MIN_TOKEN} characters; remove the file to get a new one");
            return Err(MgmtError::Damaged { path: path.to_owned(), reason });
        }
        Ok(Token(token.into()))
    }

    /// Whether `given` is the token.
    pub(crate) fn matches(&self, given: &[u8]) -> bool {
        let differences = self.0.iter().zip(given).fold(0_u8, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
        differences == 0 && given.len() == self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn tokens_are_made_once_and_checked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rest.token");
        let token = Token::load_or_create(&path).unwrap();
        assert_eq!(mode_of(&path).unwrap(), 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.trim_end();
        assert_eq!(text.len(), 64);
        assert!(token.matches(text.as_bytes()) && Token::load_or_create(&path).unwrap().matches(text.as_bytes()));
        for wrong in ["", &text[1..], &format!("{text}0"), &text.replace(&text[..1], "x")] {
            assert!(!token.matches(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Token::load_or_create(&path), Err(MgmtError::TokenMode { mode: 0o640, .. })));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "short").unwrap();
        assert!(matches!(Token::load_or_create(&path), Err(MgmtError::Damaged { .. })));
    }
}
