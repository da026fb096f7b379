// SPDX-License-Identifier: Apache-2.0

//! The client that a command asks for one path after the other, as long as they are of one cluster: a client registers, opens sessions and
//! says goodbye, which is more than most questions are.
//!
//! **Failure model.** That of the client. A client whose cluster went away stays the one that is asked: each question gives up for itself.

use super::Cluster;
use crate::exit::Failure;
use nyala_client::Client;
use std::net::SocketAddr;
use std::sync::Arc;

/// Where a client belongs: management services, whether its traffic is encrypted, and the key that it shows.
type Identity = (Vec<SocketAddr>, bool, Option<Arc<str>>);

fn identity(cluster: &Cluster) -> Identity {
    let key = cluster.secret.offered(cluster.role()).ok().map(|grant| grant.key);
    (cluster.mgmt.clone(), cluster.encrypt, key)
}

/// Whom the last path was asked of. [`LastClient::leave`] is to be called in the end.
#[derive(Default)]
pub struct LastClient {
    last: Option<(Identity, Client)>,
    excludes: bool,
}

impl LastClient {
    /// `excludes`: clients take delegations, which keep others out.
    pub fn new(excludes: bool) -> LastClient {
        LastClient { last: None, excludes }
    }

    /// A client of this cluster: the last one, if it is of the same cluster with the same key. Another one is ended first.
    pub async fn of(&mut self, cluster: &Cluster) -> Result<Client, Failure> {
        let wanted = identity(cluster);
        match self.last.take() {
            Some((of, client)) if of == wanted => {
                self.last = Some((of, client.clone()));
                return Ok(client);
            }
            other => self.last = other,
        }
        self.leave().await;
        let client = if self.excludes { cluster.leasing_client().await? } else { cluster.client().await? };
        self.last = Some((wanted, client.clone()));
        Ok(client)
    }

    /// Ends what was begun with the last cluster. What it asked for is known: a goodbye that fails changes nothing.
    pub async fn leave(&mut self) {
        if let Some((_, client)) = self.last.take() {
            let _ = client.shutdown().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
    use nyala_transport::{Grant, KeyRules, Secret};

    fn cluster(mgmt: &str, key: &str, encrypt: bool) -> Cluster {
        let grant = Grant { key: key.into(), roles: "client".parse().unwrap(), rules: KeyRules::default() };
        let keys = vec![KeyEntry { grant, made: 0, secret: format!("{key:.<32}").into_bytes() }];
        Cluster { mgmt: vec![mgmt.parse().unwrap()], secret: Secret::from_keys(&KeyFile { keys }), encrypt }
    }

    #[test]
    fn another_cluster_key_or_encryption_is_another_identity() {
        let one = identity(&cluster("127.0.0.1:8008", "a", false));
        assert_eq!(one, identity(&cluster("127.0.0.1:8008", "a", false)));
        for other in [
            cluster("127.0.0.2:8008", "a", false),
            cluster("127.0.0.1:8008", "b", false),
            cluster("127.0.0.1:8008", "a", true),
        ] {
            assert_ne!(one, identity(&other));
        }
    }
}
