// SPDX-License-Identifier: Apache-2.0

//! `nyala bench report`: stored runs as one HTML page.
//!
//! **Failure model.** Files may be missing, huge, or no runs: one that was named is an error then; one that lies in a named directory is left out, and
//! the page says why.

use crate::exit::{Failure, Outcome, io};
use crate::output::{Output, show};
use nyala_bench::page::{Stored, page, read};
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest file of a run, bytes.
const LONGEST: u64 = 64 << 20;

/// Flags of `nyala bench report`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// Runs, as `nyala bench all --out` or a benchmark with `--output json` has written them; of a directory, all in it. The last by name is
    /// compared with the others
    #[arg(value_name = "FILE|DIR", default_value = "bench/results")]
    runs: Vec<PathBuf>,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "nyala-bench.html")]
    out: PathBuf,
}

/// A page that was made.
#[derive(Debug, Serialize)]
struct Made {
    file: PathBuf,
    runs: Vec<String>,
    left_out: Vec<String>,
}

/// Makes the page.
pub fn run(args: &ReportArgs, output: Output) -> Outcome {
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for path in &args.runs {
        if !path.is_dir() {
            runs.push(load(path).map_err(|why| Failure::failed(format!("{}: {why}", path.display())))?);
            continue;
        }
        for file in in_directory(path)? {
            match load(&file) {
                Ok(run) => runs.push(run),
                Err(why) => left_out.push((file.display().to_string(), why)),
            }
        }
    }
    if runs.is_empty() {
        return Err(Failure::failed("there are no runs in what was named; `nyala bench all --out DIR` makes some"));
    }
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    std::fs::write(&args.out, page(&runs, &left_out)).map_err(io(format!("cannot write {}", args.out.display())))?;
    let made = Made {
        file: args.out.clone(),
        runs: runs.into_iter().map(|run| run.name).collect(),
        left_out: left_out.into_iter().map(|(file, _)| file).collect(),
    };
    show(output, &made, |made| {
        let left_out =
            if made.left_out.is_empty() { String::new() } else { format!(", {} files left out", made.left_out.len()) };
        format!("{} made: {} runs{left_out}\n", made.file.display(), made.runs.len())
    })
}

fn load(path: &Path) -> Result<Stored, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > LONGEST {
        return Err("it is longer than 64 MiB".to_owned());
    }
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    read(&name, &text).map_err(|error| error.to_string())
}

/// The JSON files in a directory, by name.
fn in_directory(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(dir).map_err(io(format!("cannot read {}", dir.display())))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_files_have_to_be_runs_and_others_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).unwrap();
            dir.path().join(name)
        };
        let run_of = |bench: &str| {
            format!(r#"{{"bench":"{bench}","rows":[{{"workload":"easy","step":"create","place":"native"}}]}}"#)
        };
        file("b.json", &run_of("meta"));
        let notes = file("notes.json", "{}");
        file("x.svg", "<svg/>");
        let args = |runs: &[&Path]| ReportArgs {
            runs: runs.iter().map(|path| path.to_path_buf()).collect(),
            out: dir.path().join("page.html"),
        };
        run(&args(&[dir.path()]), Output::Json).unwrap();
        let page = std::fs::read_to_string(dir.path().join("page.html")).unwrap();
        assert!(page.contains("notes.json") && page.contains("One run"), "{page}");
        let error = run(&args(&[&notes]), Output::Json).unwrap_err();
        assert!(error.message.contains("notes.json") && error.message.contains("no figures"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(run(&args(&[empty.path()]), Output::Json).unwrap_err().message.contains("no runs"));
    }
}
