// SPDX-License-Identifier: Apache-2.0

//! A node that waits until an operator adds it.

use crate::common::{Running, map, secret_file};
use crate::nodes::config;
use nyala_mgmt::MgmtConfig;
use nyala_transport::member::{MgmtClient, MgmtError};
use nyala_transport::{HandshakeConfig, Role, Secret};
use nyala_wire::ErrorCode;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, MgmtRole};
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_standby_node_waits_until_it_is_added() {
    let root = tempfile::tempdir().unwrap();
    let any = ([127, 0, 0, 1], 0).into();
    let first = Running::start(config(&root.path().join("mgmt1"), any, Vec::new()));
    let before = map(&first.client()).await;
    let waits = MgmtConfig { standby: true, ..config(&root.path().join("mgmt2"), any, Vec::new()) };
    let second = Running::start(waits.clone());
    // A restart changes nothing: it waits on.
    let address = second.address;
    second.stop();
    let second = Running::start(MgmtConfig { listen: vec![address], ..waits });
    assert!(second.client().call(&MgmtRequest::MgmtNodes).await.unwrap_err().is_transient());
    let secret = Secret::load(&secret_file(root.path())).unwrap();
    let operator = |address| MgmtClient::new(vec![address], HandshakeConfig::new(secret.clone(), 0, Role::Cli, 0));
    let adopt = |text: String| MgmtRequest::AdoptMgmt { mgmt: vec![text] };
    let code = |answer: Result<MgmtReply, MgmtError>| match answer {
        Err(MgmtError::Refused(error)) => error.code,
        other => panic!("{other:?}"),
    };
    let add = adopt(first.address.to_string());
    assert_eq!(code(second.client().call(&add).await), ErrorCode::UNAUTHORIZED);
    assert_eq!(code(operator(address).call(&adopt("nowhere".into())).await), ErrorCode::INVALID);
    assert_eq!(code(operator(first.address).call(&add).await), ErrorCode::INVALID, "it has a cluster");
    assert!(matches!(operator(address).call(&add).await, Ok(MgmtReply::Done)));
    let since = Instant::now();
    loop {
        let MgmtReply::MgmtNodes(list) = crate::common::ask(&first.client(), MgmtRequest::MgmtNodes).await.unwrap()
        else {
            panic!()
        };
        if list.len() == 2 && list.iter().all(|node| node.role != MgmtRole::Learner) {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{list:?}");
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let after = map(&second.client()).await;
    assert_eq!((after.cluster, after.mgmt_addresses().count()), (before.cluster, 2));
}
