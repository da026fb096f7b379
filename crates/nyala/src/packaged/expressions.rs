// SPDX-License-Identifier: Apache-2.0

//! The words that expressions of the role's tasks stand for: the part of Jinja that they use, which is lists, sums, choices and a few
//! filters. Everything is a list of words. A choice is made as if everything was asked for: a name alone holds, and only `!=` may not. What is not
//! known panics, so that the role cannot use what no test reads.

/// Words of a YAML value: an expression in quotes, or a list whose items are words or expressions.
pub fn words(value: &str, of: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let value = value.trim();
    if let Some(inner) = value.trim_matches('"').trim().strip_prefix("{{") {
        return evaluate(inner.strip_suffix("}}").unwrap(), of);
    }
    let list = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let list = list.unwrap_or_else(|| panic!("neither a list nor an expression: {value}"));
    let items = list.split(", ").map(str::trim).filter(|item| !item.is_empty());
    items.flat_map(|item| if item.contains("{{") { words(item, of) } else { vec![unquoted(item)] }).collect()
}

fn unquoted(item: &str) -> String {
    item.trim_matches(['"', '\'']).to_owned()
}

/// Words of an expression. `of`: those of a variable.
fn evaluate(text: &str, of: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let tokens = tokens(text);
    let mut reader = Reader { tokens: &tokens, at: 0, of };
    let found = reader.sum();
    assert_eq!(reader.at, tokens.len(), "read up to {:?}: {text}", reader.peek());
    found
}

/// Quoted texts (with their first quote), names with dots, and marks.
fn tokens(text: &str) -> Vec<String> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => rest[1..].find('\'').unwrap() + 2,
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    of: &'a dyn Fn(&str) -> Vec<String>,
}

impl Reader<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens[self.at - 1].clone()
    }

    fn takes(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn sum(&mut self) -> Vec<String> {
        let mut words = self.filtered();
        while self.takes("+") {
            words.extend(self.filtered());
        }
        if !self.takes("if") {
            return words;
        }
        let holds = self.condition();
        assert!(self.takes("else"), "{}", self.peek());
        let otherwise = self.sum();
        if holds { words } else { otherwise }
    }

    fn condition(&mut self) -> bool {
        let mut holds = true;
        loop {
            let left = self.filtered();
            if self.takes("!") {
                assert!(self.takes("="));
                holds &= left != self.filtered();
            }
            if !self.takes("and") {
                return holds;
            }
        }
    }

    fn filtered(&mut self) -> Vec<String> {
        let mut words = self.primary();
        while self.takes("|") {
            words = match self.next().as_str() {
                "product" => {
                    assert!(self.takes("("));
                    let others = self.sum();
                    assert!(self.takes(")"));
                    let pairs = others.iter().flat_map(|other| words.iter().map(move |word| [word, other]));
                    pairs.flatten().cloned().collect()
                }
                "join" => {
                    self.arguments();
                    vec![words.join(",")]
                }
                "flatten" | "bool" | "default" | "dictsort" | "map" => {
                    self.arguments();
                    words
                }
                other => panic!("the filter {other} is not known to this test"),
            };
        }
        words
    }

    fn primary(&mut self) -> Vec<String> {
        if self.takes("(") {
            let words = self.sum();
            assert!(self.takes(")"), "{}", self.peek());
            return words;
        }
        if self.takes("[") {
            let mut words = Vec::new();
            while !self.takes("]") {
                words.extend(self.sum());
                self.takes(",");
            }
            return words;
        }
        let token = self.next();
        if let Some(text) = token.strip_prefix('\'') {
            return vec![text.trim_end_matches('\'').to_owned()];
        }
        assert!(token.chars().all(is_name), "{token} is not known to this test");
        // An index, and what has one there.
        while self.peek() == "[" || self.peek().starts_with('.') {
            if self.takes("[") {
                self.until("]");
            }
            self.at += 1;
        }
        (self.of)(&token)
    }

    /// Over the arguments of a filter, if it has some.
    fn arguments(&mut self) {
        if self.takes("(") {
            self.until(")");
            self.at += 1;
        }
    }

    /// Up to this, brackets in between closed.
    fn until(&mut self, end: &str) {
        let mut depth = 0;
        while depth > 0 || self.peek() != end {
            match self.next().as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
        }
    }
}

#[test]
fn expressions_become_words() {
    let of = |name: &str| match name {
        "a" => vec!["1".to_owned(), "2".to_owned()],
        "hosts" | "start" => vec!["node01".to_owned()],
        other => panic!("{other}"),
    };
    let said = |value: &str| words(value, &of).join(" ");
    assert_eq!(said("[x, --y, \"{{ hosts }}\"]"), "x --y node01");
    assert_eq!(said("\"{{ ['x'] + a + ['z'] }}\""), "x 1 2 z");
    assert_eq!(said("\"{{ (['--s'] if start | bool else []) + ['--t'] | product(a) | flatten }}\""), "--s --t 1 --t 2");
    assert_eq!(said("\"{{ ['-i', a | join(',')] if a and hosts != 'c' else [] }}\""), "-i 1,2");
    assert_eq!(said("\"{{ (['-i'] if hosts != 'node01' and a else ['-j']) + ['k'] }}\""), "-j k");
    assert_eq!(said("[\"--join\", \"{{ hosts[groups.all[0]].address | default(groups.all[0]) }}\"]"), "--join node01");
}
