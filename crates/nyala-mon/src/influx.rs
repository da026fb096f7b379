// SPDX-License-Identifier: Apache-2.0

//! Writes points to InfluxDB, version 1 or 2.
//!
//! **Failure model.** The database may be away, refuse, hang, or lose its reply: [`crate::logic::outbox`] decides what then. A token or password that it does
//! not accept, a bucket that it does not have: those are failures that an operator can mend, and are tried again. Of version 1, a
//! database that is missing is made.

use crate::config::{InfluxConfig, InfluxDestination, MonError};
use crate::http::{self, Ask};
use crate::logic::outbox::{Answer, Batch};
use crate::secrets::read_secret;
use crate::url::{Url, encoded};
use hyper::Method;
use std::time::Duration;

/// Longest time of a write.
const WRITE: Duration = Duration::from_secs(20);
/// Longest reply that is read, bytes.
const LONGEST_REPLY: usize = 64 << 10;

/// A database, with what proves who we are.
pub struct Influx {
    url: Url,
    path: String,
    /// Version 1: how to make the database.
    create: Option<String>,
    authorization: Option<String>,
    logged: String,
}

impl InfluxConfig {
    /// Whether the files with secrets that it names can be used.
    pub fn check(&self) -> Result<(), MonError> {
        Influx::new(self.clone()).map(drop)
    }
}

impl Influx {
    /// Reads the files with secrets.
    pub fn new(config: InfluxConfig) -> Result<Influx, MonError> {
        let (path, create, authorization) = match config.destination {
            InfluxDestination::Database { name, user } => {
                let user = user.map(|(user, file)| Ok::<_, MonError>((user, read_secret(&file)?))).transpose()?;
                let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
                let create = format!("/query?q={}", encoded(&format!("CREATE DATABASE \"{quoted}\"")));
                let basic =
                    user.map(|(user, password)| format!("Basic {}", base64(format!("{user}:{password}").as_bytes())));
                (format!("/write?db={}&precision=ms", encoded(&name)), Some(create), basic)
            }
            InfluxDestination::Bucket { org, bucket, token_file } => {
                let token = read_secret(&token_file)?;
                let path = format!("/api/v2/write?org={}&bucket={}&precision=ms", encoded(&org), encoded(&bucket));
                (path, None, Some(format!("Token {token}")))
            }
        };
        Ok(Influx { url: config.url, path, create, authorization, logged: String::new() })
    }

    /// Writes a batch.
    pub async fn write(&mut self, batch: &Batch) -> Answer {
        let mut said = self.post(&self.path, batch.body.clone()).await;
        if let (Ok((404, _)), Some(create)) = (&said, &self.create) {
            tracing::info!(url = %self.url, "the database is missing and is made");
            said = match self.post(create, String::new()).await {
                Ok((200, _)) => self.post(&self.path, batch.body.clone()).await,
                other => other,
            };
        }
        let (answer, why) = match said {
            Ok((200..=299, _)) => (Answer::Written, String::new()),
            Ok((413, _)) => (Answer::TooLong, String::new()),
            Ok((status @ (400 | 422), said)) => (Answer::Refused, format!("status {status}: {}", said.trim())),
            Ok((status, said)) => (Answer::Failed, format!("status {status}: {}", said.trim())),
            Err(why) => (Answer::Failed, why),
        };
        if why != self.logged {
            match why.is_empty() {
                true => tracing::info!(url = %self.url, "the database takes points again"),
                false => tracing::warn!(url = %self.url, "the database does not take points: {why}"),
            }
            self.logged = why;
        }
        answer
    }

    async fn post(&self, path: &str, body: String) -> Result<(u16, String), String> {
        let authorization = self.authorization.as_deref();
        let ask = Ask {
            method: Method::POST,
            path,
            authorization,
            body,
            content_type: http::TEXT,
            longest: LONGEST_REPLY,
            within: WRITE,
        };
        http::ask(&self.url, ask).await
    }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let place = (number >> (18 - 6 * digit)) as usize & 63;
            out.push(if digit <= three.len() { char::from(DIGITS[place]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::history::{History, Limits};
    use crate::logic::outbox::Outbox;
    use crate::logic::series::{Field, Key, Kind};
    use nyala_metrics::catalog::Source;
    use std::io::{Read, Write};
    use std::os::unix::fs::OpenOptionsExt;

    fn batch() -> Batch {
        let limits = Limits { raw_ms: 1000, folded_ms: 1000, step_ms: 1000, series: 9, memory: 1 << 20, disk: 1 << 20 };
        let mut history = History::new(limits);
        let (metric, instance) = ("m".to_owned(), "meta1".to_owned());
        let (field, kind) = (Field::Value, Kind::Counter);
        let key = Key { metric, service: Source::Meta, instance, labels: Vec::new(), field, kind, micros: false };
        history.sample(1_700_000_000_000, vec![(key, 7)]);
        Outbox::new(0).next(0, &history).unwrap()
    }

    /// What a database was sent that answers with this status.
    fn written(destination: InfluxDestination, status: &str) -> (Answer, String) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
        let database = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut piece) = (String::new(), [0; 4096]);
            while !request.ends_with('\n') || !request.contains("value=") {
                let length = stream.read(&mut piece).unwrap();
                request.push_str(std::str::from_utf8(&piece[..length]).unwrap());
            }
            stream.write_all(reply.as_bytes()).unwrap();
            request
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut influx = Influx::new(InfluxConfig { url, destination }).unwrap();
        let answer = runtime.block_on(influx.write(&batch()));
        (answer, database.join().unwrap().to_lowercase())
    }

    #[test]
    fn both_versions_are_asked_as_they_want_it() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&secret).unwrap();
        file.write_all(b"s3cret\n").unwrap();
        let bucket =
            || InfluxDestination::Bucket { org: "my org".into(), bucket: "b".into(), token_file: secret.clone() };
        let (answer, request) = written(bucket(), "204 No Content");
        assert_eq!(answer, Answer::Written);
        assert!(request.starts_with("post /api/v2/write?org=my%20org&bucket=b&precision=ms http/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nauthorization: token s3cret\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\nm,instance=meta1,service=meta value=7i 1700000000000\n"), "{request}");
        for (status, answer) in [
            ("400 Bad Request", Answer::Refused),
            ("401 Unauthorized", Answer::Failed),
            ("404 Not Found", Answer::Failed),
            ("413 Too Large", Answer::TooLong),
            ("503 Busy", Answer::Failed),
        ] {
            assert_eq!(written(bucket(), status).0, answer, "{status}");
        }
        let database = InfluxDestination::Database { name: "n".into(), user: Some(("u".into(), secret.clone())) };
        let request = written(database, "204 No Content").1;
        assert!(request.starts_with("post /write?db=n&precision=ms "), "{request}");
        // Base64 of "u:s3cret", in small letters.
        assert!(request.contains("\r\nauthorization: basic dtpzm2nyzxq=\r\n"), "{request}");
    }

    #[test]
    fn nobody_there_is_a_failure() {
        let url = format!("http://{}", std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
        let destination = InfluxDestination::Database { name: "n".into(), user: None };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut influx = Influx::new(InfluxConfig { url: url.parse().unwrap(), destination }).unwrap();
        assert_eq!(runtime.block_on(influx.write(&batch())), Answer::Failed);
    }

    #[test]
    fn base64_as_the_rfc_has_it() {
        let of = |text: &str| base64(text.as_bytes());
        assert_eq!([of(""), of("f"), of("fo"), of("foo"), of("foobar")], ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYmFy"]);
    }
}
