// SPDX-License-Identifier: Apache-2.0

//! The REST API and the page, encrypted; tokens that end.

use crate::common::*;
use nyala_mgmt::{MgmtConfig, issue_token};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A pair of files for localhost.
fn certificate(dir: &Path) -> MgmtConfig {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (dir.join("site.crt"), dir.join("site.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    // As another user's program would find it: the group may read it.
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    MgmtConfig { rest_certificate: Some(certificate), rest_key: Some(key), ..config(dir) }
}

/// What comes back for a request, from who trusts this certificate only.
fn ask(mgmt: &Running, trusted: &Path, request: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted).unwrap()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TcpStream::connect(mgmt.rest)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut stream = StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream);
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn request(method: &str, path: &str, token: &str, body: &str) -> String {
    let len = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Length: {len}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn with_a_certificate_everything_is_encrypted() {
    let dir = tempfile::tempdir().unwrap();
    let config = certificate(dir.path());
    let trusted = config.rest_certificate.clone().unwrap();
    let mgmt = Running::start(config);
    let mut answer = String::new();
    for _ in 0..200 {
        answer = ask(&mgmt, &trusted, &request("GET", "/api/v1/health", &mgmt.token, "")).unwrap();
        if !answer.starts_with("HTTP/1.1 503") {
            break;
        }
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"status\""), "{answer}");
    let form = format!("token={}", mgmt.token);
    let login = format!(
        "POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    let answer = ask(&mgmt, &trusted, &login).unwrap();
    assert!(answer.to_lowercase().contains("; secure"), "the cookie does not go where it is not encrypted: {answer}");
    // In the open nothing is said but where to go; a wrong certificate is seen by who asks.
    let mut open = TcpStream::connect(mgmt.rest).unwrap();
    open.write_all(request("GET", "/api/v1/health", &mgmt.token, "").as_bytes()).unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("https"), "{answer}");
    let length = answer.split("Content-Length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    assert_eq!(length, answer.split_once("\r\n\r\n").unwrap().1.len().to_string());
    let other = tempfile::tempdir().unwrap();
    let other = certificate(other.path()).rest_certificate.unwrap();
    assert!(ask(&mgmt, &other, &request("GET", "/api/v1/health", &mgmt.token, "")).is_err());
}

/// An address that others reach is encrypted without anything being set up.
#[tokio::test]
async fn an_address_that_others_reach_has_a_certificate_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut mgmt = Running::start(MgmtConfig { rest_listen: ([0, 0, 0, 0], 0).into(), ..config(dir.path()) });
    mgmt.rest = ([127, 0, 0, 1], mgmt.rest.port()).into();
    let answer = ask(&mgmt, &dir.path().join("mgmt/rest.crt"), &request("GET", "/api/v1/openapi.json", "", ""));
    assert!(answer.unwrap().starts_with("HTTP/1.1 200"));
}

/// Connections that say nothing, or no TLS, take nobody's place for long.
#[tokio::test]
async fn strangers_who_never_agree_keep_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    let config = certificate(dir.path());
    let trusted = config.rest_certificate.clone().unwrap();
    let mgmt = Running::start(config);
    let mut strangers = Vec::new();
    for number in 0..200 {
        let mut stranger = TcpStream::connect(mgmt.rest).unwrap();
        let said: &[u8] = [&b"\x16\x03\x01"[..], b"\xff\xff\xff", b""][number % 3];
        stranger.write_all(said).unwrap();
        strangers.push(stranger);
    }
    let answer = ask(&mgmt, &trusted, &request("GET", "/api/v1/openapi.json", "", "")).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn issued_tokens_do_what_they_say_until_they_end() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    mgmt.api("GET", "/cluster", "");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let of = |changes, ends| issue_token(&dir.path().join("mgmt"), "alice", changes, ends).unwrap();
    let (view, admin, ended) = (of(false, now + 600), of(true, now + 600), of(true, now));
    assert_eq!(mgmt.http("GET", "/map", Some(&view), "").0, 200);
    assert_eq!(mgmt.http("PATCH", "/nodes/1", Some(&view), "{\"alias\":\"x\"}").0, 403);
    assert_eq!(mgmt.http("PATCH", "/nodes/1", Some(&admin), "{\"alias\":\"renamed\"}").0, 200);
    assert_eq!(mgmt.http("GET", "/map", Some(&ended), "").0, 401);
    let nyala_wire::mgmt::MgmtReply::Audit(log) =
        client_as(nyala_transport::Role::Cli, mgmt.address, &secret_file(dir.path()))
            .call(&nyala_wire::mgmt::MgmtRequest::Audit)
            .await
            .unwrap()
    else {
        panic!()
    };
    assert!(log.iter().any(|entry| format!("{entry:?}").contains("token of alice")), "{log:?}");
    assert!(issue_token(dir.path(), "alice", true, now).is_err(), "no directory of a management service");
    assert!(issue_token(&dir.path().join("mgmt"), "a b", true, now).is_err());
}
