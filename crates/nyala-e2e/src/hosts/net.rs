// SPDX-License-Identifier: Apache-2.0

//! Network namespaces and a switch between them.
//!
//! Failure model: making one may fail half way, the test may die at any moment. Names are written to a file first and removed
//! by it, whether they exist or not. The switch is in a namespace of its own: nothing of the machine's network is touched, and
//! the addresses cannot meet others of the same range.

use crate::run::{Outcome, sh};
use std::fs::OpenOptions;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How long a command about networks may take.
const LIMIT: Duration = Duration::from_secs(20);
/// File in the test's directory with the names of its namespaces.
const LIST: &str = "namespaces";

/// A host of its own, as far as networks go.
#[derive(Clone, Debug)]
pub struct Namespace {
    name: String,
    address: Ipv4Addr,
}

/// The switch that all hosts of a test are plugged into.
#[derive(Clone, Debug)]
pub struct Switch {
    name: String,
    tag: String,
}

fn note(root: &Path, name: &str) {
    let list = OpenOptions::new().create(true).append(true).open(root.join(LIST));
    let written = list.and_then(|mut list| writeln!(list, "{name}"));
    written.expect("the test's directory takes a file");
}

impl Switch {
    /// Makes a switch.
    pub fn make(root: &Path) -> Switch {
        static MADE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let tag = format!("ny{}x{}", std::process::id(), MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let name = format!("{tag}-switch");
        note(root, &name);
        let script = format!("ip netns add {name}; ip -n {name} link add sw type bridge; ip -n {name} link set sw up");
        sh(&script, LIMIT).must();
        Switch { name, tag }
    }

    /// Makes a host with the address 10.77.0.`number` and plugs it in.
    pub fn host(&self, root: &Path, number: u8) -> Namespace {
        let name = format!("{}-h{number}", self.tag);
        note(root, &name);
        let (switch, address) = (&self.name, Ipv4Addr::new(10, 77, 0, number));
        let script = format!(
            "ip netns add {name}; ip -n {name} link set lo up
             ip -n {switch} link add p{number} type veth peer name eth0 netns {name}
             ip -n {switch} link set p{number} master sw up
             ip -n {name} addr add {address}/24 dev eth0; ip -n {name} link set eth0 up"
        );
        sh(&script, LIMIT).must();
        Namespace { name, address }
    }

    /// Gives a host a second interface, with an address in a network of its own.
    pub fn add_rail(&self, host: &Namespace) {
        let (switch, name, address) = (&self.name, &host.name, host.second_address());
        let [.., number] = address.octets();
        let script = format!(
            "ip -n {switch} link add r{number} type veth peer name eth1 netns {name}
             ip -n {switch} link set r{number} master sw up
             ip -n {name} addr add {address}/24 dev eth1; ip -n {name} link set eth1 up"
        );
        sh(&script, LIMIT).must();
    }
}

impl Namespace {
    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The address of its second interface, if it has one.
    pub fn second_address(&self) -> Ipv4Addr {
        let [.., number] = self.address.octets();
        Ipv4Addr::new(10, 78, 0, number)
    }

    /// A command that runs a program on this host. It has the file systems of all: a mount made there is seen everywhere.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.name)).arg(program);
        command
    }

    /// From now on no packet leaves or reaches the host; it says no to nobody.
    pub fn cut(&self) {
        let rules = "table inet cut {\n\
            chain in { type filter hook input priority 0; policy drop; iif lo accept; }\n\
            chain out { type filter hook output priority 0; policy drop; oif lo accept; }\n}";
        self.filter(&format!("echo '{rules}' | nft -f -")).must();
    }

    /// From now on no packet goes from this host to another one; those that come arrive. The host notices that it may not send.
    pub fn cut_to(&self, other: Ipv4Addr) {
        let chain = format!("type filter hook output priority 0; ip daddr {other} drop;");
        let rules = format!("table ip way {{\nchain out {{ {chain} }}\n}}");
        self.filter(&format!("echo '{rules}' | nft -f -")).must();
    }

    /// From now on packets of another host get lost on their way here, which neither notices: those of more bytes than that.
    pub fn lose_from(&self, other: Ipv4Addr, longer_than: u16) {
        let chain = format!("type filter hook input priority 0; ip saddr {other} meta length > {longer_than} drop;");
        let rules = format!("table ip way {{\nchain in {{ {chain} }}\n}}");
        self.filter(&format!("echo '{rules}' | nft -f -")).must();
    }

    /// From now on packets leave one by one, as they do on a real network, and not many as one large one.
    pub fn send_one_by_one(&self) {
        sh(&format!("ip -n {} link set eth0 gso_max_segs 1", self.name), LIMIT).must();
    }

    /// The host is back in the network.
    pub fn mend(&self) {
        self.filter("nft flush ruleset").must();
    }

    fn filter(&self, script: &str) -> Outcome {
        let name = &self.name;
        sh(&format!("nsenter --net=/run/netns/{name} sh -euc \"{script}\""), LIMIT)
    }
}

/// Removes all namespaces that the directory's list names. Says what did not work.
pub fn remove(root: &Path) -> Vec<String> {
    let names = std::fs::read_to_string(root.join(LIST)).unwrap_or_default();
    let mut wrong = Vec::new();
    for name in names.lines().filter(|name| Path::new("/run/netns").join(name).exists()) {
        let gone = sh(&format!("ip netns del {name}"), LIMIT);
        if !gone.ok() {
            wrong.push(gone.describe());
        }
    }
    wrong
}
