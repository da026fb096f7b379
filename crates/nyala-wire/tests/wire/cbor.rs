// SPDX-License-Identifier: Apache-2.0

//! CBOR as a list of items, to change it in places. Knows what the codec writes and nothing else.

/// Unsigned integers.
pub const UNSIGNED: u8 = 0;
/// Arrays.
pub const ARRAY: u8 = 4;

/// One item: where it starts, where its head and its content end.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub major: u8,
    pub value: u64,
    pub start: usize,
    pub head_end: usize,
    pub end: usize,
    pub depth: usize,
}

/// All items, each before what is in it. Panics if there is anything that the codec does not write.
pub fn items(bytes: &[u8]) -> Vec<Item> {
    let mut found = Vec::new();
    let end = scan(bytes, 0, 0, &mut found);
    assert_eq!(end, bytes.len(), "one item and nothing behind it");
    found
}

fn scan(bytes: &[u8], start: usize, depth: usize, found: &mut Vec<Item>) -> usize {
    let (major, info) = (bytes[start] >> 5, bytes[start] & 31);
    let len = match info {
        0..24 => 0,
        24..28 => 1 << (info - 24),
        _ => panic!("no indefinite lengths"),
    };
    let head_end = start + 1 + len;
    let value = match len {
        0 => u64::from(info),
        _ => bytes[start + 1..head_end].iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
    };
    assert_eq!(bytes[start..head_end], head(major, value), "the shortest head");
    let place = found.len();
    found.push(Item { major, value, start, head_end, end: head_end, depth });
    let end = match major {
        0 | 1 => head_end,
        2 | 3 => head_end + value as usize,
        ARRAY => (0..value).fold(head_end, |at, _| scan(bytes, at, depth + 1, found)),
        7 if (20..=22).contains(&value) => head_end,
        _ => panic!("no maps, tags or floating point numbers"),
    };
    found[place].end = end;
    end
}

/// The head of an item, as short as can be.
pub fn head(major: u8, value: u64) -> Vec<u8> {
    let (info, len) = match value {
        0..24 => (value as u8, 0),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    let mut head = vec![major << 5 | info];
    head.extend_from_slice(&value.to_be_bytes()[8 - len..]);
    head
}

/// With another value in place of an integer.
pub fn with_integer(bytes: &[u8], item: &Item, value: u64) -> Vec<u8> {
    [&bytes[..item.start], &head(UNSIGNED, value), &bytes[item.end..]].concat()
}

/// With one more element at the end of an array.
pub fn with_element(bytes: &[u8], array: &Item, element: &[u8]) -> Vec<u8> {
    let longer = head(ARRAY, array.value + 1);
    [&bytes[..array.start], &longer, &bytes[array.head_end..array.end], element, &bytes[array.end..]].concat()
}

/// Lines of `hex`, one for each item that is not just a number among numbers, indented by depth.
pub fn dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut short = false;
    for item in items(bytes) {
        let is_short = item.major != ARRAY && item.end - item.start <= 9;
        let own = if item.major == ARRAY { item.head_end } else { item.end };
        if !(short && is_short) {
            out.push('\n');
            out.push_str(&"  ".repeat(item.depth));
        } else {
            out.push(' ');
        }
        let hex: Vec<String> = bytes[item.start..own].iter().map(|byte| format!("{byte:02x}")).collect();
        out.push_str(&hex.join(" "));
        short = is_short;
    }
    out
}
