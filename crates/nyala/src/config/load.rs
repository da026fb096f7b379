// SPDX-License-Identifier: Apache-2.0

//! Reading a configuration file.
//!
//! **Failure model.** The file may be missing, a directory, not text, cut short, another program's, huge, or have a key
//! that we do not know: each is an error that names the file, the place and what is allowed. Nothing is guessed.

use super::{CONFIG_DIR, Settings};
use crate::exit::Failure;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Longest configuration file, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The settings in a file.
pub fn load<S: Settings>(path: &Path) -> Result<S, Failure> {
    let shown = path.display();
    let text = read(path).map_err(|reason| Failure::config(format!("configuration file {shown}: {reason}")))?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        Failure::config(format!("configuration file {shown}: {place}{}", error.message()))
    })
}

/// The settings in `/etc/nyala/ROLE.toml`, or none if there is no such file.
pub fn load_default<S: Settings>() -> Result<S, Failure> {
    let path = Path::new(CONFIG_DIR).join(format!("{}.toml", S::ROLE));
    if path.exists() { load(&path) } else { Ok(S::default()) }
}

fn read(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        _ => error.to_string(),
    })?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err("it is longer than 1 MiB; is it really a configuration file?".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "it is not text; is it really a configuration file?".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MetaSettings;
    use crate::exit::Exit;

    fn refusal(content: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meta.toml");
        std::fs::write(&path, content).unwrap();
        let error = load::<MetaSettings>(&path).unwrap_err();
        assert_eq!(error.exit, Exit::Config);
        assert!(error.message.contains(&path.display().to_string()), "{error}");
        error.message
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let unknown = refusal(b"dir = \"/d\"\nlissten = \"0.0.0.0:1\"\n");
        assert!(unknown.contains("line 2") && unknown.contains("lissten") && unknown.contains("listen"), "{unknown}");
        let cut = refusal(b"dir = \"/d\"\nmgmt = \"nod");
        assert!(cut.contains("line 2"), "{cut}");
        assert!(refusal(b"\x7fELF\xff\xfe").contains("not text"));
        assert!(refusal(&vec![b'#'; 1 << 21]).contains("longer than"));
        assert!(refusal(b"sync-interval = \"soon\"\n").contains("500ms"));
        assert!(refusal(b"listen = \"everywhere\"\n").contains("line 1"));
        let missing = load::<MetaSettings>(Path::new("/nonexistent/meta.toml")).unwrap_err();
        assert!(missing.message.contains("does not exist"), "{missing}");
    }

    #[test]
    fn upper_settings_win_key_by_key() {
        let flags = MetaSettings { alias: Some("flag".into()), ..Default::default() };
        let file: MetaSettings = toml::from_str("alias = \"file\"\nsync-interval = \"2s\"\n").unwrap();
        let merged = flags.over(file);
        assert_eq!(merged.alias.as_deref(), Some("flag"));
        assert_eq!(merged.sync_interval, Some("2s".parse().unwrap()));
        assert_eq!(merged.listen, None);
    }
}
