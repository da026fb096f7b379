// SPDX-License-Identifier: Apache-2.0

//! A plan is shown, agreed to, and done.

use super::plan::Plan;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, print, show};
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// What was done.
#[derive(Serialize)]
struct Report<'a> {
    done: bool,
    #[serde(flatten)]
    plan: &'a Plan,
}

/// Shows what would be done, and does it when somebody says yes, on the terminal or with `--yes`.
pub fn carry_out(plan: &Plan, yes: bool, output: Output) -> Outcome {
    if output == Output::Table {
        print(&shown(plan))?;
    }
    if !plan.steps.is_empty() && !yes && !agreed(output)? {
        return Err(Failure::usage("nothing was changed; --yes does it"));
    }
    for step in &plan.steps {
        step.perform().map_err(|error| {
            error.context("set-up ends here; what was done stays, and the same command again does the rest")
        })?;
    }
    let text = |report: &Report<'_>| {
        let next = report.plan.next.iter().map(|next| format!("Next: {next}\n")).collect::<String>();
        let done =
            if report.plan.steps.is_empty() { "Everything is as asked; nothing was changed.\n" } else { "Done.\n" };
        done.to_owned() + &next
    };
    show(output, &Report { done: true, plan }, text)?;
    Ok(Exit::Ok)
}

fn shown(plan: &Plan) -> String {
    let steps = plan.steps.iter().map(|step| format!("  * {step}\n")).collect::<String>();
    let notes = plan.notes.iter().map(|note| format!("Note: {note}\n")).collect::<String>();
    if steps.is_empty() { notes } else { format!("{notes}This is to be done:\n{steps}") }
}

/// Asks on the terminal; nobody is there to be asked where there is none.
fn agreed(output: Output) -> Result<bool, Failure> {
    if output != Output::Table || !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut out = std::io::stdout();
    // A question that nobody can see is answered by nobody.
    let _ = write!(out, "Do it? [y/N] ").and_then(|()| out.flush());
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(crate::exit::io("cannot read the answer"))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Step;

    #[test]
    fn without_a_word_nothing_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        let steps = vec![Step::MakeDir { path: path.clone(), mode: 0o700 }];
        let plan = Plan { steps, notes: vec!["think".into()], next: vec!["go".into()] };
        assert_eq!(
            shown(&plan),
            format!("Note: think\nThis is to be done:\n  * make the directory {} (mode 0700)\n", path.display())
        );
        let refused = carry_out(&plan, false, Output::Json).unwrap_err();
        assert_eq!((refused.exit, path.exists()), (Exit::Usage, false));
        assert_eq!(carry_out(&plan, true, Output::Table), Ok(Exit::Ok));
        assert!(path.exists());
        assert_eq!(carry_out(&Plan::default(), false, Output::Table), Ok(Exit::Ok), "nothing to be asked");
    }
}
