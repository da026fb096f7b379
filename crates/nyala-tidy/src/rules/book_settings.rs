// SPDX-License-Identifier: Apache-2.0

//! `docs/book.toml` has only what mdBook reads (it refuses other keys), names files that there are, and a theme that there is.

use crate::Finding;
use crate::repo::Repo;
use toml::{Table, Value};

const FILE: &str = "docs/book.toml";
const THEMES: [&str; 5] = ["light", "rust", "coal", "navy", "ayu"];

/// What a key takes.
#[derive(Clone, Copy)]
enum Takes {
    Text,
    Flag,
    Number,
    Theme,
    /// A file or directory below `docs/`, or a list of them.
    Paths,
    /// A table with these keys.
    Keys(&'static [(&'static str, Takes)]),
}

use Takes::{Flag, Keys, Number, Paths, Text, Theme};

/// The keys that a book of pages has a use for. Those of code that can be run, of hosts and of other renderers are not among them.
const ALL: &[(&str, Takes)] = &[
    ("book", Keys(&[("title", Text), ("description", Text), ("language", Text), ("src", Paths)])),
    ("build", Keys(&[("build-dir", Text), ("create-missing", Flag)])),
    ("output", Keys(&[("html", Keys(HTML))])),
];

const HTML: &[(&str, Takes)] = &[
    ("theme", Paths),
    ("default-theme", Theme),
    ("preferred-dark-theme", Theme),
    ("smart-punctuation", Flag),
    ("additional-css", Paths),
    ("additional-js", Paths),
    ("no-section-label", Flag),
    ("site-url", Text),
    ("fold", Keys(&[("enable", Flag), ("level", Number)])),
    ("print", Keys(&[("enable", Flag), ("page-break", Flag)])),
    ("search", Keys(&[("enable", Flag), ("limit-results", Number), ("heading-split-level", Number)])),
];

/// The settings of the book.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let Some(text) = &repo.book else { return Vec::new() };
    match text.parse::<Table>() {
        Ok(table) => {
            let mut wrong = Vec::new();
            look(repo, &table, ALL, "", &mut wrong);
            let titled = table.get("book").and_then(|book| book.get("title")).is_some();
            wrong.extend((!titled).then(|| "book.title is missing".to_owned()));
            wrong.into_iter().map(|what| Finding::file(FILE, what)).collect()
        }
        Err(error) => vec![Finding::file(FILE, format!("is no TOML: {}", error.message()))],
    }
}

fn look(repo: &Repo, table: &Table, known: &[(&str, Takes)], under: &str, wrong: &mut Vec<String>) {
    for (key, value) in table {
        let name = format!("{under}{key}");
        let Some((_, takes)) = known.iter().find(|(known, _)| known == key) else {
            wrong.push(format!("{name} is no key of a book"));
            continue;
        };
        let fits = match (takes, value) {
            (Keys(keys), Value::Table(inner)) => {
                look(repo, inner, keys, &format!("{name}."), wrong);
                true
            }
            (Text, Value::String(text)) => !text.is_empty(),
            (Theme, Value::String(theme)) => THEMES.contains(&theme.as_str()),
            (Flag, Value::Boolean(_)) => true,
            (Number, Value::Integer(number)) => (0..=255).contains(number),
            (Paths, Value::String(path)) => there(repo, path),
            (Paths, Value::Array(all)) => all.iter().all(|path| path.as_str().is_some_and(|path| there(repo, path))),
            _ => false,
        };
        if !fits {
            wrong.push(format!("{name} cannot be {value}"));
        }
    }
}

fn there(repo: &Repo, path: &str) -> bool {
    path == "." || repo.paths.contains(&format!("docs/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let repo = Repo::of(&[(FILE, text), ("docs/extra.css", "")]);
        check(&repo).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn what_mdbook_reads_passes() {
        let good = "[book]\ntitle = \"A\"\nsrc = \".\"\n[output.html]\ndefault-theme = \"navy\"\nadditional-css = [\"extra.css\"]\n\
                    [output.html.fold]\nenable = true\nlevel = 0\n";
        assert_eq!(findings(good), Vec::<String>::new());
    }

    #[test]
    fn what_it_refuses_is_found() {
        for (bad, word) in [
            ("", "title"),
            ("[book", "no TOML"),
            ("[book]\ntitle = \"A\"\nmultilingual = false\n", "book.multilingual"),
            ("[book]\ntitle = 7\n", "book.title"),
            ("[book]\ntitle = \"A\"\nsrc = \"pages\"\n", "book.src"),
            ("[book]\ntitle = \"A\"\n[output.html]\ndefault-theme = \"pink\"\n", "default-theme"),
            ("[book]\ntitle = \"A\"\n[output.html]\nadditional-css = [\"none.css\"]\n", "additional-css"),
            ("[book]\ntitle = \"A\"\n[output.html]\nfold = true\n", "output.html.fold"),
            ("[book]\ntitle = \"A\"\n[output.html.fold]\nlevel = 300\n", "fold.level"),
        ] {
            let found = findings(bad);
            assert!(found.len() == 1 && found[0].contains(word), "{bad}: {found:?}");
        }
    }
}
