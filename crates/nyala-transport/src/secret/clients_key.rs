// SPDX-License-Identifier: Apache-2.0

//! Which keys clients can be held to something by. Pure.

use super::key::{Grant, KeyRoles};

/// Refuses a rule for a key that is not for clients alone, in words that say what to do: services and commands are held to
/// nothing, so a rule of a key that is theirs as well would be a mistake.
pub fn check_clients_key(grants: &[Grant], id: &str) -> Result<(), String> {
    let Some(grant) = grants.iter().find(|grant| *grant.key == *id) else {
        return Err(format!("the secret file has no key {id}; see nyala secret list"));
    };
    match grant.roles == (KeyRoles { client: true, ..KeyRoles::default() }) {
        true => Ok(()),
        false => Err(format!(
            "key {id} is for {} and not for clients alone; make one with nyala secret add --role client",
            grant.roles
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_for_clients_alone_takes_a_rule() {
        let grant = |key: &str, roles: KeyRoles| Grant { key: key.into(), roles, ..Grant::default() };
        let client = KeyRoles { client: true, ..KeyRoles::default() };
        let grants = [grant("lab", client), grant("ops", KeyRoles { admin: true, ..client }), Grant::default()];
        assert_eq!(check_clients_key(&grants, "lab"), Ok(()));
        let said = |id| check_clients_key(&grants, id).unwrap_err();
        assert!(said("ops").contains("key ops is for client,admin and not for clients alone"), "{}", said("ops"));
        assert!(said("other").contains("has no key other; see nyala secret list"), "{}", said("other"));
    }
}
