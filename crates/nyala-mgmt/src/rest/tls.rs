// SPDX-License-Identifier: Apache-2.0

//! HTTP that is encrypted: whose certificate, and when it is read again.
//!
//! **Failure model.** Files may be missing, half written or of different pairs: at the start that is an error, later the pair that was read
//! before goes on, with a warning for each change. A key that others may read is refused. What a connection sends before it has agreed on
//! keys is bounded in time by its caller ([`super::connections`]).

use super::setup_error::RestError;
use crate::MgmtError;
use crate::directory::{mode_of, read_small, write_whole};
use parking_lot::Mutex;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A changed file is seen after so long.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What is spoken at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// HTTP as it is.
    Plain,
    /// Encrypted, with a certificate that the node makes for itself.
    OwnCertificate,
    /// Encrypted, with this certificate and its key.
    Certificate(PathBuf, PathBuf),
}

/// What is spoken, by what the settings say: others can reach only what is encrypted, unless somebody insists.
pub(crate) fn spoken(
    listen: SocketAddr,
    insecure: bool,
    certificate: Option<&Path>,
    key: Option<&Path>,
) -> Result<Spoken, MgmtError> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Spoken::Certificate(certificate.to_owned(), key.to_owned())),
        (None, None) if listen.ip().is_loopback() || insecure => Ok(Spoken::Plain),
        (None, None) => Ok(Spoken::OwnCertificate),
        _ => Err(RestError::Half.into()),
    }
}

/// Certificate and key, as they are on disk.
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

struct Current {
    acceptor: TlsAcceptor,
    changed: [Option<SystemTime>; 2],
    looked: Instant,
}

impl Tls {
    /// Reads both files.
    pub(crate) fn load(certificate: &Path, key: &Path) -> Result<Tls, MgmtError> {
        let changed = changed(certificate, key);
        let current = Current { acceptor: acceptor(certificate, key)?, changed, looked: Instant::now() };
        Ok(Tls { certificate: certificate.to_owned(), key: key.to_owned(), current: Mutex::new(current) })
    }

    /// Reads `rest.crt` and `rest.key` of the directory, or makes them, for these hosts.
    pub(crate) fn own(dir: &Path, hosts: &[String]) -> Result<Tls, MgmtError> {
        let (certificate, key) = (dir.join("rest.crt"), dir.join("rest.key"));
        // The key comes first: a certificate without one is of no use, and is replaced.
        if read_small(&certificate)?.is_none() || read_small(&key)?.is_none() {
            let failed = |error: rcgen::Error| -> MgmtError {
                RestError::Tls { path: certificate.clone(), reason: error.to_string() }.into()
            };
            let made = rcgen::generate_simple_self_signed(hosts).map_err(failed)?;
            write_whole(&key, made.signing_key.serialize_pem().as_bytes(), 0o600)?;
            write_whole(&certificate, made.cert.pem().as_bytes(), 0o644)?;
        }
        Tls::load(&certificate, &key)
    }

    /// For the next connection; reads the files again when they have changed.
    pub(crate) fn acceptor(&self, now: Instant) -> TlsAcceptor {
        let mut current = self.current.lock();
        if now.saturating_duration_since(current.looked) >= LOOK_EVERY {
            current.looked = now;
            let found = changed(&self.certificate, &self.key);
            if found != current.changed {
                current.changed = found;
                match acceptor(&self.certificate, &self.key) {
                    Ok(acceptor) => current.acceptor = acceptor,
                    Err(error) => tracing::warn!(%error, "the certificate that was read before goes on"),
                }
            }
        }
        current.acceptor.clone()
    }
}

/// Names under which a node with an own certificate is reached.
pub(crate) fn hosts(listen: SocketAddr, advertised: &[SocketAddr], name: Option<String>) -> Vec<String> {
    let addresses = [listen.ip()].into_iter().chain(advertised.iter().map(SocketAddr::ip));
    let named = addresses.filter(|address| !address.is_unspecified()).map(|address: IpAddr| address.to_string());
    // A certificate's names are ASCII; the host is reached at its addresses all the same.
    let name = name.filter(|name| name.is_ascii() && !name.is_empty());
    let mut hosts: Vec<String> = named.chain(name).chain(["localhost".into(), "127.0.0.1".into()]).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn changed(certificate: &Path, key: &Path) -> [Option<SystemTime>; 2] {
    [certificate, key].map(|path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok())
}

fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, MgmtError> {
    let wrong = |path: &Path, reason: String| MgmtError::from(RestError::Tls { path: path.to_owned(), reason });
    let bytes = |path: &Path| read_small(path)?.ok_or_else(|| wrong(path, "it does not exist".to_owned()));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes(certificate)?).collect();
    let chain = chain.map_err(|error| wrong(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(wrong(certificate, "it has no certificate in PEM form".to_owned()));
    }
    let mode = mode_of(key)?;
    if mode & 0o007 != 0 {
        return Err(wrong(key, format!("its mode is {mode:04o}, others may read it; run chmod o= on it")));
    }
    let secret = PrivateKeyDer::from_pem_slice(&bytes(key)?).map_err(|error| wrong(key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(|error| wrong(certificate, error.to_string()))?;
    let config = config.with_no_client_auth().with_single_cert(chain, secret);
    let mut config = config.map_err(|error| wrong(certificate, format!("with the key {}: {error}", key.display())))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests;
