// SPDX-License-Identifier: Apache-2.0

//! The beginning of an encrypted connection. How long it may take is its caller's to say ([`super::connections`]).

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// So much is read of what is not TLS, bytes.
const MOST: u64 = 16 << 10;

/// For who does not speak TLS.
const NOT_HERE: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 44\r\n\r\n\
    This port speaks TLS: the address is https:\n";

/// Agrees on keys. Who speaks HTTP as it is hears that this is not spoken here.
pub(super) async fn agree(stream: &mut TcpStream, acceptor: TlsAcceptor) -> Option<TlsStream<&mut TcpStream>> {
    let mut first = [0];
    // A record of TLS begins with its type, 22 for a handshake; a request of HTTP with a letter.
    if stream.peek(&mut first).await.ok()? == 1 && first[0].is_ascii_alphabetic() {
        stream.write_all(NOT_HERE).await.ok()?;
        stream.shutdown().await.ok()?;
        // With bytes unread the connection would be reset, and the answer lost with it.
        tokio::io::copy(&mut stream.take(MOST), &mut tokio::io::sink()).await.ok()?;
        return None;
    }
    acceptor.accept(stream).await.ok()
}
