// SPDX-License-Identifier: Apache-2.0

//! A request that is followed goes on under its id to another server, whose record says who asked.

use crate::common::{ECHO, config};
use bytes::Bytes;
use nyala_transport::trace::{self, Tracer};
use nyala_transport::{
    Connection, Frame, HandshakeConfig, PeerInfo, Reply, Request, Role, Server, ServerOptions, Service,
};
use nyala_wire::trace::{TraceReply, TraceRequest};
use nyala_wire::{codec, message_type};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::LocalSet;

/// Asks another server if it knows one.
struct Asks(Option<Connection>);

impl Service for Asks {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        if let Some(other) = &self.0 {
            let asked = Request::new(ECHO, request.body.clone()).followed(trace::current());
            trace::part("mirrors", other.call(asked)).await.unwrap();
        }
        Reply::ok("")
    }
}

fn serve(service: Asks) -> SocketAddr {
    let server = Server::bind(&[([127, 0, 0, 1], 0).into()], config(Role::Storage), ServerOptions::default()).unwrap();
    let address = server.local_addresses()[0];
    tokio::task::spawn_local(server.serve(Rc::new(service)));
    address
}

async fn recorded(address: SocketAddr, trace: u64) -> TraceReply {
    let connection = Connection::connect(address, &config(Role::Client)).await.unwrap();
    let asks = Request::new(message_type::TRACE, codec::encode(&TraceRequest { trace }));
    codec::decode(&connection.call(asks).await.unwrap().body).unwrap()
}

#[test]
fn the_id_goes_on_and_says_who_asked() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let second = serve(Asks(None));
        let between = Connection::connect(second, &config(Role::Storage)).await.unwrap();
        let first = serve(Asks(Some(between)));
        let tracer = Arc::new(Tracer::default());
        let client = HandshakeConfig { node_id: 0, tracer: Some(tracer.clone()), ..config(Role::Client) };
        let client = Connection::connect(first, &client).await.unwrap();
        let ask = || client.call(Request::new(ECHO, Bytes::from_static(b"x")));
        ask().await.unwrap();
        tracer.follow(77);
        ask().await.unwrap();
        tracer.follow(0);
        ask().await.unwrap();
        let (near, far) = (recorded(first, 77).await.requests, recorded(second, 77).await.requests);
        assert_eq!((near.len(), far.len()), (1, 1), "{near:?} {far:?}");
        assert_eq!((near[0].from_node, far[0].from_node), (None, Some(config(Role::Storage).node_id)));
        assert!(near[0].parts.iter().any(|part| part.name == "mirrors" && part.ns > 0), "{near:?}");
        assert!(far[0].total_ns <= near[0].total_ns, "{near:?} {far:?}");
    });
}
