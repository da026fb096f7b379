// SPDX-License-Identifier: Apache-2.0

//! Connections that prove nothing: `nyala-e2e-strangers ADDRESS COUNT STOP` keeps so many open until the file STOP appears, and
//! prints how many it made, how many were refused and how many were open at once.

use nyala_e2e::strangers;
use std::path::PathBuf;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, count, stop] = args.as_slice() else { panic!("usage: nyala-e2e-strangers ADDRESS COUNT STOP") };
    let address = address.parse().expect("an address with a port");
    let count = count.parse().expect("a number");
    let opened = strangers::run(address, count, &PathBuf::from(stop));
    println!("{} {} {}", opened.made, opened.refused, opened.most);
}
