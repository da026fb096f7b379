// SPDX-License-Identifier: Apache-2.0

//! States and kinds in tables, in the words that JSON has.

use serde::Serialize;

/// The name that a value has in JSON.
pub fn json_name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::map::{Reachability, Role};

    #[test]
    fn tables_and_json_use_the_same_words() {
        assert_eq!(json_name(&Reachability::ProbablyOffline), "probably-offline");
        assert_eq!(json_name(&Role::Meta), "meta");
        assert_eq!(json_name(&7), "7");
    }
}
