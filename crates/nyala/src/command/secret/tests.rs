// SPDX-License-Identifier: Apache-2.0

//! Keys come and go in a file.

use super::keys::{FileArgs, read};
use super::*;
use crate::exit::Exit;

fn keys(path: &Path) -> Vec<(String, String)> {
    let grants = Secret::load(path).unwrap().grants();
    grants.iter().map(|grant| (grant.key.to_string(), grant.roles.to_string())).collect()
}

fn add(path: &Path, id: Option<&str>, roles: &str, read_only: bool) -> Result<(), Failure> {
    let file = FileArgs { file: path.to_owned() };
    let roles = roles.parse().unwrap();
    add::run(&add::AddArgs { file, id: id.map(str::to_owned), role: roles, read_only }, Output::Json).map(drop)
}

fn retire(path: &Path, id: &str, yes: bool) -> Result<(), Failure> {
    let file = FileArgs { file: path.to_owned() };
    retire::run(&retire::RetireArgs { id: id.to_owned(), yes, file }, Output::Json).map(drop)
}

#[test]
fn a_plain_secret_is_rotated_into_a_list_and_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    make(&path, Output::Json).unwrap();
    let plain = read(&path).unwrap().0.keys[0].secret.clone();
    add(&path, None, "all", false).unwrap();
    let all = "client,server,admin".to_owned();
    assert_eq!(keys(&path), [("plain".to_owned(), all.clone()), ("k1".to_owned(), all.clone())]);
    assert_eq!(read(&path).unwrap().0.keys[0].secret, plain, "who has the plain file is known as before");
    let asked = retire(&path, "plain", false).unwrap_err();
    assert!(asked.exit == Exit::Usage && asked.message.contains("--yes"), "{asked}");
    retire(&path, "plain", true).unwrap();
    assert_eq!(keys(&path), [("k1".to_owned(), all)]);
    let last = retire(&path, "k1", true).unwrap_err();
    assert!(last.message.contains("only key") && last.message.contains("nyala secret add"), "{last}");
    add(&path, None, "all", false).unwrap();
    assert_eq!(keys(&path)[1].0, "k2");
}

#[test]
fn no_role_is_left_without_a_key_and_no_id_is_given_twice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    make(&path, Output::Json).unwrap();
    for (id, roles) in [("c", "client"), ("s", "server")] {
        add(&path, Some(id), roles, false).unwrap();
    }
    assert!(retire(&path, "plain", true).unwrap_err().message.contains("admin"));
    add(&path, Some("a"), "admin", false).unwrap();
    assert!(add(&path, Some("a"), "client", false).unwrap_err().message.contains("already"));
    assert!(add(&path, Some("a b"), "client", false).is_err());
    retire(&path, "plain", true).unwrap();
    assert!(retire(&path, "s", true).unwrap_err().message.contains("server"));
    assert!(retire(&path, "no", true).unwrap_err().message.contains("nyala secret list"));
}

#[test]
fn what_is_exported_gives_no_more_than_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("secret"), dir.path().join("client"));
    make(&path, Output::Json).unwrap();
    let export = |roles: &str, replace| {
        let (file, to) = (FileArgs { file: path.clone() }, out.clone());
        let args = export::ExportArgs { to, role: roles.parse().unwrap(), key: Vec::new(), replace, file };
        export::run(&args, Output::Json)
    };
    let none = export("client", false).unwrap_err();
    assert!(none.message.contains("nyala secret add --role client"), "{none}");
    add(&path, Some("c"), "client", false).unwrap();
    add(&path, Some("ro"), "client", true).unwrap();
    add(&path, Some("a"), "admin", false).unwrap();
    export("client", false).unwrap();
    assert_eq!(keys(&out).iter().map(|key| &*key.0).collect::<Vec<_>>(), ["c", "ro"]);
    assert!(export("client", false).unwrap_err().message.contains("--replace"));
    export("client,admin", true).unwrap();
    assert_eq!(keys(&out).len(), 3);
}
