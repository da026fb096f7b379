// SPDX-License-Identifier: Apache-2.0

//! `docs/operating.md`, or another page, as commands: each code span that begins with `nyala`, and each code block. Which of them ran is kept.

use nyala_e2e::binary;
use std::collections::BTreeSet;
use std::fs;

/// The page.
pub struct Page {
    commands: BTreeSet<String>,
    blocks: Vec<String>,
    ran: BTreeSet<String>,
}

impl Page {
    pub fn read() -> Page {
        let page = Page::of("docs/operating.md");
        assert!(page.commands.len() > 40 && page.blocks.len() >= 2, "{:?} {:?}", page.commands, page.blocks);
        page
    }

    /// Another page.
    pub fn of(path: &str) -> Page {
        let text = fs::read_to_string(binary::repository().join(path)).unwrap();
        let (mut commands, mut blocks) = (BTreeSet::new(), Vec::new());
        // Every other part lies within a fence; in the others, every other one within a pair of backquotes.
        for (number, part) in text.split("```").enumerate() {
            if number % 2 == 1 {
                let lines: Vec<&str> = part.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
                blocks.push(lines.join("\n"));
                continue;
            }
            let spans = part.split('`').enumerate().filter(|(number, _)| number % 2 == 1).map(|(_, span)| span);
            commands.extend(spans.filter(|span| span.starts_with("nyala ")).map(str::to_owned));
        }
        Page { commands, blocks, ran: BTreeSet::new() }
    }

    /// A command of the page, with what it names in capitals filled in. Each name ends where its capitals end.
    #[track_caller]
    pub fn command(&mut self, said: &str, names: &[(&str, &str)]) -> String {
        assert!(self.commands.contains(said), "the page does not say: {said}");
        self.ran.insert(said.to_owned());
        fill(said, names)
    }

    /// The one code block that contains this, likewise.
    #[track_caller]
    pub fn block(&mut self, what: &str, names: &[(&str, &str)]) -> String {
        let at = self.blocks.iter().position(|block| block.contains(what)).expect("the page has the block");
        fill(&self.blocks.remove(at), names)
    }

    /// What nobody ran.
    pub fn unused(self) -> (Vec<String>, Vec<String>) {
        (self.commands.difference(&self.ran).cloned().collect(), self.blocks)
    }
}

fn fill(said: &str, names: &[(&str, &str)]) -> String {
    let (mut filled, mut word) = (String::new(), String::new());
    for letter in said.chars().chain(['\n']) {
        if letter.is_ascii_uppercase() {
            word.push(letter);
            continue;
        }
        let value = names.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        filled.push_str(value.unwrap_or(&word));
        word.clear();
        filled.push(letter);
    }
    filled.trim_end().to_owned()
}

#[test]
fn e2e_operating_names_are_filled_in() {
    let names = [("HOST", "10.0.0.1"), ("OLD", "7")];
    assert_eq!(fill("nyala mount HOST:/ /mnt OLD", &names), "nyala mount 10.0.0.1:/ /mnt 7");
    assert_eq!(fill("nyala mgmt add NEWHOST", &names), "nyala mgmt add NEWHOST");
}
