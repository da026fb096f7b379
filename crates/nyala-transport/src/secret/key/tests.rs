// SPDX-License-Identifier: Apache-2.0

//! Tests of roles and rules.

use super::*;

#[test]
fn each_role_needs_its_own_right() {
    let only = |text: &str| text.parse::<KeyRoles>().expect("roles");
    let roles = [Role::Client, Role::Meta, Role::Storage, Role::Mgmt, Role::Cli, Role::Mon, Role::Other].into_iter();
    let covered = |text: &str| roles.clone().filter(|role| only(text).covers(*role)).collect::<Vec<_>>();
    assert_eq!(covered("client"), [Role::Client, Role::Mon, Role::Other]);
    assert_eq!(covered("server"), [Role::Meta, Role::Storage, Role::Mgmt]);
    assert_eq!(covered("admin"), [Role::Client, Role::Cli, Role::Mon, Role::Other]);
    assert_eq!(covered("all").len(), 7);
}

#[test]
fn words_survive_the_round_trip_and_others_are_refused() {
    for text in ["client", "server", "client,admin", "client,server,admin"] {
        assert_eq!(text.parse::<KeyRoles>().map(|roles| roles.to_string()), Ok(text.to_owned()));
    }
    assert_eq!("read-only".parse(), Ok(KeyRules { read_only: true }));
    assert_eq!(KeyRules { read_only: true }.to_string(), "read-only");
    assert!("root".parse::<KeyRoles>().is_err() && "".parse::<KeyRoles>().is_err());
    assert!("ro".parse::<KeyRules>().is_err() && KeyRules::default().is_empty());
}
