// SPDX-License-Identifier: Apache-2.0

//! A range of addresses, written as CIDR prefixes are: `10.1.0.0/16`, `fd00::/8`, or a single address.

use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Network {
    /// The first one; bits behind the prefix are 0.
    first: IpAddr,
    /// Bits of the prefix.
    bits: u8,
}

/// All bits of an address, and how many it has. An IPv4 address in IPv6's form is the IPv4 address.
fn bits_of(address: IpAddr) -> (u128, u8) {
    match address.to_canonical() {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

impl Network {
    /// Whether an address is in it.
    pub fn has(self, address: IpAddr) -> bool {
        let ((first, whole), (other, size)) = (bits_of(self.first), bits_of(address));
        whole == size && (first ^ other) & mask(self.bits) == 0
    }

    /// Bits of its prefix: the more, the fewer addresses.
    pub fn bits(self) -> u8 {
        self.bits
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let no = || format!("{text:?} is no network; write one as 10.1.0.0/16 or fd00::/8, or a single address");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address = address.parse::<IpAddr>().map_err(|_| no())?.to_canonical();
        let (value, whole) = bits_of(address);
        let bits = bits.map_or(Ok(whole), |bits| bits.parse::<u8>().map_err(|_| no()))?;
        if bits > whole {
            return Err(format!("{text:?} has a prefix of more than the {whole} bits that such an address has"));
        }
        let first = value & mask(bits);
        let first = match address {
            IpAddr::V4(_) => IpAddr::from(((first >> 96) as u32).to_be_bytes()),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(first)),
        };
        match first == address {
            true => Ok(Network { first, bits }),
            false => Err(format!(
                "{text:?} has bits behind its prefix; the network is {first}/{bits}, the single address {address}"
            )),
        }
    }
}

impl From<Network> for String {
    fn from(network: Network) -> String {
        network.to_string()
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Network, String> {
        text.parse()
    }
}

impl<C> Encode<C> for Network {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), EncodeError<W::Error>> {
        e.str(&self.to_string())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Network {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Network, DecodeError> {
        d.str()?.parse().map_err(|_| DecodeError::message("not a network"))
    }
}
