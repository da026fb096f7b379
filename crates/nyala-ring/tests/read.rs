// SPDX-License-Identifier: Apache-2.0

//! Reads of files: what comes, how much, and what fails.

use nyala_ring::{Event, Ring};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::AsRawFd;

#[test]
fn reads_come_in_any_order_with_their_results() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let Ok(ring) = Ring::attached(8) else { return };
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&(0..10_000_u32).map(|n| n as u8).collect::<Vec<u8>>()).unwrap();
        let mut memory = vec![[0_u8; 4096]; 40];
        for round in 0..10_u64 {
            for (tag, memory) in memory.iter_mut().enumerate() {
                memory.fill(0);
                let offset = tag as u64 * 256;
                // SAFETY: memory and file live until all reads are done, below.
                unsafe { ring.push_read(tag as u64, file.as_raw_fd(), memory.as_mut_ptr(), 4096, offset) }.unwrap();
            }
            let mut results = BTreeMap::new();
            while results.len() < memory.len() {
                if let Event::Done { tag, result } = ring.next().await.unwrap() {
                    results.insert(tag, result);
                }
            }
            for (tag, result) in results {
                let there = (10_000 - tag as i32 * 256).clamp(0, 4096);
                assert_eq!(result, there, "round {round}, read {tag}");
                let read = &memory[tag as usize][..there as usize];
                assert!(read.iter().enumerate().all(|(at, byte)| *byte == at as u8));
            }
        }
        let mut memory = [0; 16];
        // SAFETY: as above.
        unsafe { ring.push_read(7, -1, memory.as_mut_ptr(), 16, 0) }.unwrap();
        let done = ring.next().await.unwrap();
        assert_eq!(done, Event::Done { tag: 7, result: -libc::EBADF });
    });
}
