// SPDX-License-Identifier: Apache-2.0

//! The rules by which a value is taken from what guides say.

use serde::Serialize;

/// Why a value was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// All guides that name it say this.
    Agreed,
    /// One guide names it.
    Alone,
    /// Guides contradict each other: what cannot stall a request wins.
    Calm,
    /// Guides contradict each other, and no value does harm: the largest number, which makes the fewest requests.
    Largest,
    /// What guides say can stall requests: the kernel's default stays.
    Default,
}

impl Rule {
    /// The rule, as it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Rule::Agreed => "the guides agree",
            Rule::Alone => "one guide names it, and nothing speaks against it",
            Rule::Calm => {
                "guides contradict each other or themselves: a value that can stall a request or drop a packet loses"
            }
            Rule::Largest => {
                "guides contradict each other and neither does harm: the larger number makes fewer requests"
            }
            Rule::Default => "what the guide says can stall requests: the kernel's default is taken",
        }
    }
}

/// What is taken, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The value.
    pub value: &'static str,
    /// The rule that gave it.
    pub rule: Rule,
}
