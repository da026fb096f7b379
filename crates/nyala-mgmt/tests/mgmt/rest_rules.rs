// SPDX-License-Identifier: Apache-2.0

//! The REST API: rules of keys, and which clients are let in.

use crate::common::*;
use nyala_transport::secret::file::{self, Existing};
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{Grant, KeyRules};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use serde_json::{Value, json};
use std::path::Path;

/// A management service whose secret file has a key of servers and operators, and one for clients.
fn running(dir: &Path) -> Running {
    let key = |id: &str, roles: &str| KeyEntry {
        grant: Grant { key: id.into(), roles: roles.parse().unwrap(), rules: KeyRules::default() },
        made: 0,
        secret: format!("{id:.<32}").into_bytes(),
    };
    let keys = vec![key("lab", "client"), key("main", "all")];
    file::write(&dir.join("secret"), &KeyFile { keys }.print(), Existing::Kept).unwrap();
    Running::start(config(dir))
}

fn refused(mgmt: &Running, (method, path, body): (&str, &str, Value), status: u16, code: &str, says: &str) {
    let (got, answer) = mgmt.api(method, path, &body.to_string());
    assert_eq!((got, &answer["code"]), (status, &json!(code)), "{method} {path} {body}: {answer}");
    assert!(answer["message"].as_str().unwrap().contains(says), "{method} {path} {body}: {answer}");
}

#[tokio::test]
async fn rules_of_keys_are_set_listed_and_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = running(dir.path());
    assert_eq!(mgmt.api("GET", "/keys", ""), (200, json!([])));
    let users = json!([{"client": 1000, "server": 50000, "count": 10}]);
    let rule = json!({"read_only": true, "squash": "root", "users": users});
    let (status, rules) = mgmt.api("PUT", "/keys/lab", &rule.to_string());
    let held = json!({"read_only": true, "squash": "root", "anonymous_uid": 65534, "anonymous_gid": 65534, "users": users, "groups": []});
    assert_eq!((status, &rules), (200, &json!([{"key": "lab", "held": held}])));
    let map = map(&mgmt.client()).await;
    assert!(map.key_rule("lab").is_some_and(|rule| rule.read_only && rule.users[0].server == 50_000));

    let viewer = std::fs::read_to_string(dir.path().join("mgmt/view.token")).unwrap();
    let viewer = Some(viewer.trim());
    assert_eq!(mgmt.http("GET", "/keys", viewer, ""), (200, rules));
    assert_eq!(mgmt.http("DELETE", "/keys/lab", viewer, "").0, 403);

    refused(&mgmt, ("PUT", "/keys/lab", json!({})), 400, "invalid", "DELETE /api/v1/keys/lab");
    refused(&mgmt, ("PUT", "/keys/lab", json!({"readonly": true})), 400, "invalid", "unknown field");
    refused(&mgmt, ("PUT", "/keys/main", json!({"read_only": true})), 400, "invalid", "not for clients alone");
    refused(&mgmt, ("PUT", "/keys/none", json!({"read_only": true})), 400, "invalid", "see nyala secret list");
    let root = json!({"squash": "all", "anonymous_uid": 0});
    refused(&mgmt, ("PUT", "/keys/lab", root), 400, "invalid", "must not be root");
    refused(&mgmt, ("DELETE", "/keys/main", json!(null)), 404, "not_found", "see nyala key list");
    assert_eq!(mgmt.api("DELETE", "/keys/lab", ""), (200, json!([])));

    let anywhere = json!({"key": "lab", "admit": "refused"});
    assert_eq!(mgmt.api("PUT", "/access", &anywhere.to_string()).0, 200);
    refused(&mgmt, ("PUT", "/keys/lab", json!({"read_only": true})), 409, "conflict", "has an access rule");
}

#[tokio::test]
async fn access_rules_are_set_listed_and_ended_and_written_down() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = running(dir.path());
    assert_eq!(mgmt.api("GET", "/access", ""), (200, json!([])));
    // More digits than a floating-point number keeps.
    let root = json!({"inode": "18446462598732840962", "path": "/projects"});
    let asked = json!({"key": "*", "from": "10.1.0.0/16", "root": root, "held": {"squash": "root"}});
    let (status, rules) = mgmt.api("PUT", "/access", &asked.to_string());
    assert_eq!((status, rules.as_array().map(Vec::len)), (200, Some(1)), "{rules}");
    assert_eq!((&rules[0]["key"], &rules[0]["from"]), (&asked["key"], &asked["from"]));
    assert_eq!(
        (&rules[0]["root"], &rules[0]["admit"], &rules[0]["held"]["squash"]),
        (&root, &json!("held"), &json!("root"))
    );
    // What is shown can be set again, and is then the same.
    assert_eq!(mgmt.api("PUT", "/access", &rules[0].to_string()), (200, rules.clone()));
    let map = map(&mgmt.client()).await;
    assert_eq!(map.access_rules[0].subtree.as_ref().map(|tree| tree.inode.0), Some(18_446_462_598_732_840_962));
    let (_, both) = mgmt.api("PUT", "/access", r#"{"key":"lab","admit":"free"}"#);
    assert_eq!((both.as_array().map(Vec::len), &both[1]["admit"]), (Some(2), &json!("free")), "{both}");

    for (body, says) in [
        (json!({"key": "lab"}), "nobody to anything"),
        (json!({"key": "lab", "admit": "refused", "held": {"read_only": true}}), "cannot be held"),
        (json!({"key": "lab", "from": "10.0.0.1/8", "admit": "free"}), "the network is 10.0.0.0/8"),
        (json!({"key": "lab", "root": {"inode": "x", "path": "/p"}}), "stat -c %i"),
        (json!({"key": "lab", "root": {"inode": "9", "path": "p"}}), "such as /projects"),
        (json!({"key": "main", "admit": "refused"}), "not for clients alone"),
        (json!({"key": "none", "admit": "refused"}), "see nyala secret list"),
    ] {
        refused(&mgmt, ("PUT", "/access", body), 400, "invalid", says);
    }
    refused(&mgmt, ("DELETE", "/access", json!({"key": "*"})), 404, "not_found", "see nyala access list");
    let counts = |key: &str, address: &str| mgmt.api("GET", &format!("/access?key={key}&address={address}"), "");
    assert_eq!(counts("other", "10.1.2.3"), (200, json!([both[0]])));
    assert_eq!(counts("other", "10.2.2.3"), (200, json!([])));
    assert_eq!(counts("lab", "10.2.2.3"), (200, json!([both[1]])));
    for (query, says) in
        [("key=lab", "give key and address"), ("address=10.1.2.3", "give key"), ("key=lab&address=here", "IP address")]
    {
        refused(&mgmt, ("GET", &format!("/access?{query}"), json!(null)), 400, "invalid", says);
    }
    assert_eq!(mgmt.api("DELETE", "/access", r#"{"key":"*","from":"10.1.0.0/16"}"#).1, json!([both[1]]));

    let operator = client_as(nyala_transport::Role::Cli, mgmt.address, &dir.path().join("secret"));
    let MgmtReply::Audit(records) = operator.call(&MgmtRequest::Audit).await.unwrap() else { panic!("no records") };
    let last = records.last().unwrap();
    assert_eq!((last.key.as_str(), last.outcome.as_deref()), ("rest.token", Some("done")));
    assert_eq!(last.what, r#"DELETE /access {"key":"*","from":"10.1.0.0/16"}"#);
    assert!(
        records
            .iter()
            .any(|r| r.what.starts_with("PUT /access") && r.outcome.as_deref() == Some("refused: 400 Bad Request"))
    );
}
