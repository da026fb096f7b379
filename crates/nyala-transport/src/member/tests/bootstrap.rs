// SPDX-License-Identifier: Apache-2.0

//! The start of a service: what it tells management, and that it listens only where it can.

use super::*;
use crate::error::TransportError;

fn bootstrap(mgmt: SocketAddr, listen: SocketAddr) -> Bootstrap {
    let secret = Secret::from_bytes(&[b's'; 32]).unwrap();
    let (advertise, mgmt) = (Vec::new(), vec![mgmt]);
    Bootstrap { role: ServiceRole::Storage, listen, advertise, mgmt, secret, encrypt: false }
}

fn identity() -> Identity {
    Identity { cluster: ClusterId::UNKNOWN, uuid: ClusterId([1; 16]), alias: "left".into() }
}

#[tokio::test]
async fn a_service_registers_where_it_will_listen_and_listens_in_its_cluster() {
    let test = async {
        let fake = fake();
        let (mgmt, _stop) = serve(&fake, any_port());
        let joined = bootstrap(mgmt, any_port()).join(identity(), register().targets, Vec::new).await.unwrap();
        let listen = joined.listen;
        assert_ne!(listen.port(), 0);
        let registered = fake.borrow().registrations[0].clone();
        assert_eq!(registered.addresses, [listen.to_string()], "the port is known before the registration");
        assert_eq!((registered.role, &registered.alias[..]), (nyala_wire::map::Role::Storage, "left"));
        assert_eq!(joined.handshake.cluster_id, u128::from_le_bytes(CLUSTER.0));
        assert_eq!((joined.handshake.node_id, joined.handshake.role), (3, Role::Storage));
        let servers = joined.bind(ServerOptions::default(), 2).unwrap();
        assert_eq!(servers.len(), 2);
        assert!(servers.iter().all(|server| server.local_addresses() == [listen]));
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn what_is_configured_is_advertised_and_each_start_is_a_run_of_its_own() {
    let test = async {
        let fake = fake();
        let (mgmt, _stop) = serve(&fake, any_port());
        let elsewhere: SocketAddr = "10.9.8.7:1234".parse().unwrap();
        for _ in 0..2 {
            let bootstrap = Bootstrap { advertise: vec![elsewhere], ..bootstrap(mgmt, any_port()) };
            bootstrap.join(identity(), register().targets, Vec::new).await.unwrap();
        }
        let registrations = fake.borrow().registrations.clone();
        assert!(registrations.iter().all(|register| register.addresses == [elsewhere.to_string()]));
        assert_ne!(registrations[0].incarnation, registrations[1].incarnation);
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn nobody_hears_of_a_service_that_cannot_listen() {
    let test = async {
        let fake = fake();
        let (mgmt, _stop) = serve(&fake, any_port());
        let taken = std::net::TcpListener::bind(any_port()).unwrap();
        let listen = taken.local_addr().unwrap();
        let joined = bootstrap(mgmt, listen).join(identity(), register().targets, Vec::new).await;
        let error = joined.err().unwrap();
        let BootstrapError::Transport(TransportError::PortInUse { address }) = error else { panic!("{error}") };
        assert_eq!(address, listen);
        assert!(fake.borrow().registrations.is_empty());
    };
    LocalSet::new().run_until(test).await;
}
