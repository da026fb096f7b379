// SPDX-License-Identifier: Apache-2.0

//! The bytes of the handshake: the preamble that travels in clear and the hello inside the Noise messages. Pure.
//!
//! **Failure model.** A preamble comes from anybody and is believed in nothing but the length of what follows, which is
//! bounded. A hello comes from a holder of the secret, of perhaps another version: unknown roles and trailing bytes are
//! accepted, anything that does not fit its layout is refused.

use nyala_wire::frame::PROTOCOL_VERSION;

/// First four bytes in either direction.
pub(crate) const MAGIC: [u8; 4] = *b"NYHS";
/// Bytes of a preamble.
pub(crate) const PREAMBLE_BYTES: usize = 16;
/// Longest Noise message of a handshake, bytes.
pub(crate) const MAX_MESSAGE: usize = 4096;
const FLAG_ENCRYPT: u16 = 1;
const FLAG_RELAYED: u16 = 2;
const HELLO_FIXED: usize = 28;
const MAX_SOFTWARE: usize = 64;

/// What a peer is, as it says of itself in the handshake; its key has to be for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// A mount or a library client.
    Client = 1,
    /// Metadata service.
    Meta = 2,
    /// Storage service.
    Storage = 3,
    /// Management service.
    Mgmt = 4,
    /// An operator's command.
    Cli = 5,
    /// Monitoring service.
    Mon = 6,
    /// A role that this build does not know.
    Other = 255,
}

impl Role {
    fn from_byte(byte: u8) -> Role {
        [Role::Client, Role::Meta, Role::Storage, Role::Mgmt, Role::Cli, Role::Mon]
            .into_iter()
            .find(|role| *role as u8 == byte)
            .unwrap_or(Role::Other)
    }

    fn name(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Meta => "metadata service",
            Role::Storage => "storage service",
            Role::Mgmt => "management service",
            Role::Cli => "command that administers the cluster",
            Role::Mon => "monitoring service",
            Role::Other => "peer of an unknown kind",
        }
    }

    /// Is it one of the cluster's own services, whose requests others wait for?
    pub fn is_server(self) -> bool {
        matches!(self, Role::Meta | Role::Storage | Role::Mgmt)
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a server hangs up, in clear, before any secret was proven. Says nothing that a port scan could not find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Status {
    Ok = 0,
    WrongSecret = 1,
    Version = 2,
    Encryption = 3,
}

/// What stands before each of the three handshake messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preamble {
    pub version: u16,
    pub encrypt: bool,
    /// It travels through another server.
    pub relayed: bool,
    pub status: u16,
    pub length: usize,
}

impl Preamble {
    pub(crate) fn new(encrypt: bool, status: Status, length: usize) -> Preamble {
        Preamble { version: PROTOCOL_VERSION, encrypt, relayed: false, status: status as u16, length }
    }

    pub(crate) fn encode(&self) -> [u8; PREAMBLE_BYTES] {
        let mut out = [0; PREAMBLE_BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[4..6].copy_from_slice(&self.version.to_le_bytes());
        let flags = (u16::from(self.encrypt) * FLAG_ENCRYPT) | (u16::from(self.relayed) * FLAG_RELAYED);
        out[6..8].copy_from_slice(&flags.to_le_bytes());
        out[8..10].copy_from_slice(&self.status.to_le_bytes());
        out[12..16].copy_from_slice(&(self.length as u32).to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8; PREAMBLE_BYTES]) -> Result<Preamble, String> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if bytes[..4] != MAGIC {
            return Err(format!("not a Nyala service (it says {:02x?})", &bytes[..4]));
        }
        let length = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) as usize;
        if length > MAX_MESSAGE {
            return Err(format!("handshake message of {length} bytes is longer than {MAX_MESSAGE}"));
        }
        let (encrypt, relayed) = (u16_at(6) & FLAG_ENCRYPT != 0, u16_at(6) & FLAG_RELAYED != 0);
        Ok(Preamble { version: u16_at(4), encrypt, relayed, status: u16_at(8), length })
    }
}

/// Whether a server takes a client that has proven a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Verdict {
    Accepted = 0,
    /// It is of another cluster.
    Cluster = 1,
    /// Its key is not for the role that it claims.
    Role = 2,
    /// For a reason that this build does not know.
    Refused = 255,
}

impl Verdict {
    fn from_byte(byte: u8) -> Verdict {
        [Verdict::Accepted, Verdict::Cluster, Verdict::Role]
            .into_iter()
            .find(|verdict| *verdict as u8 == byte)
            .unwrap_or(Verdict::Refused)
    }
}

/// What each side says of itself once only a holder of the secret can read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub role: Role,
    /// The server's.
    pub verdict: Verdict,
    pub node_id: u32,
    /// 0: unknown, fits any.
    pub cluster_id: u128,
    pub software: String,
    /// Ciphers that it does fast, beside the one that all know.
    pub ciphers: u8,
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut software = self.software.as_str();
        while software.len() > MAX_SOFTWARE {
            let end = software.char_indices().next_back().map_or(0, |(at, _)| at);
            software = &software[..end];
        }
        let mut out = Vec::with_capacity(HELLO_FIXED + software.len() + 1);
        out.extend_from_slice(&1u16.to_le_bytes());
        out.push(self.role as u8);
        out.push(self.verdict as u8);
        out.extend_from_slice(&self.node_id.to_le_bytes());
        out.extend_from_slice(&self.cluster_id.to_le_bytes());
        out.extend_from_slice(&PROTOCOL_VERSION.to_le_bytes());
        out.extend_from_slice(&(software.len() as u16).to_le_bytes());
        out.extend_from_slice(software.as_bytes());
        out.push(self.ciphers);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Hello, String> {
        let (fixed, rest) = bytes.split_first_chunk::<HELLO_FIXED>().ok_or("hello is cut short")?;
        let layout = u16::from_le_bytes([fixed[0], fixed[1]]);
        if layout != 1 {
            return Err(format!("hello has layout {layout}, this build knows 1"));
        }
        let software_len = usize::from(u16::from_le_bytes([fixed[26], fixed[27]]));
        let software = rest.get(..software_len).ok_or("hello is cut short")?;
        if software_len > MAX_SOFTWARE {
            return Err(format!("software version of {software_len} bytes is longer than {MAX_SOFTWARE}"));
        }
        let mut cluster_id = [0; 16];
        cluster_id.copy_from_slice(&fixed[8..24]);
        Ok(Hello {
            role: Role::from_byte(fixed[2]),
            verdict: Verdict::from_byte(fixed[3]),
            node_id: u32::from_le_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            cluster_id: u128::from_le_bytes(cluster_id),
            software: String::from_utf8_lossy(software).into_owned(),
            // Missing: an earlier build, which knows one cipher.
            ciphers: rest.get(software_len).copied().unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hellos_survive_the_round_trip(
            role in 0u8..8, verdict in 0u8..4, node_id: u32, cluster_id: u128, software in "\\PC{0,20}", ciphers: u8,
        ) {
            let mut hello = Hello { role: Role::from_byte(role), verdict: Verdict::from_byte(verdict), node_id, cluster_id, software, ciphers };
            let back = Hello::decode(&hello.encode());
            while hello.software.len() > MAX_SOFTWARE {
                hello.software.pop();
            }
            prop_assert_eq!(back, Ok(hello));
        }

        #[test]
        fn random_hellos_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = bytes;
            let _ = Hello::decode(&bytes);
            if bytes.len() >= 2 {
                bytes[..2].copy_from_slice(&[1, 0]);
                if let Ok(hello) = Hello::decode(&bytes) {
                    prop_assert!(hello.software.len() <= 3 * MAX_SOFTWARE);
                }
            }
        }

        #[test]
        fn preambles_are_bounded(bytes: [u8; PREAMBLE_BYTES], length in 0usize..8192) {
            let mut bytes = bytes;
            bytes[..4].copy_from_slice(&MAGIC);
            bytes[12..].copy_from_slice(&(length as u32).to_le_bytes());
            prop_assert_eq!(Preamble::decode(&bytes).map(|p| p.length).ok(), Some(length).filter(|l| *l <= MAX_MESSAGE));
        }
    }

    #[test]
    fn preamble_round_trip_and_offsets() {
        let preamble = Preamble::new(true, Status::Version, 0x102);
        assert_eq!(preamble.encode(), *b"NYHS\x01\0\x01\0\x02\0\0\0\x02\x01\0\0");
        assert_eq!(Preamble::decode(&preamble.encode()), Ok(preamble));
        let relayed = Preamble { relayed: true, ..preamble };
        assert_eq!((relayed.encode()[6], Preamble::decode(&relayed.encode())), (3, Ok(relayed)));
    }
}
