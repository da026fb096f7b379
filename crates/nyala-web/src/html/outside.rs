// SPDX-License-Identifier: Apache-2.0

//! Pages beside the pages: the way in, questions before something is done, and notices.

use super::shell::frame;
use crate::action::{Action, Confirmation};
use maud::html;

/// The way in; `failed` says why the last try did not work.
pub fn login(failed: Option<&str>) -> String {
    let body = html! {
        main id="main" class="outside" {
            h1 { span class="logo" aria-hidden="true" {} "Nyala" }
            form method="post" action="/login" class="card" {
                @if let Some(failed) = failed { p class="flash critical" role="alert" { (failed) } }
                label for="token" { "Token" }
                input id="token" name="token" type="password" autocomplete="current-password" required autofocus
                    aria-describedby="where";
                button type="submit" class="primary" { "Look at the cluster" }
                p id="where" class="quiet" {
                    "In the directory of the management service (" code { "/var/lib/nyala/mgmtd" } "): "
                    code { "view.token" } " to look, " code { "rest.token" } " to look and act."
                }
            }
        }
    };
    frame("Log in", &body)
}

/// Asks before something is done.
pub fn confirmation(action: &Action, asked: &Confirmation, csrf: &str) -> String {
    let body = html! {
        main id="main" class="outside" {
            h1 { (asked.title) }
            form method="post" action="/act" class="card" {
                h2 { "What will happen" }
                ul { @for sentence in &asked.will { li { (sentence) } } }
                @if let Some(warning) = &asked.warning { p class="flash critical" { strong { "May lose data. " } (warning) } }
                @for (name, value) in action.fields() { input type="hidden" name=(name) value=(value); }
                input type="hidden" name="csrf" value=(csrf);
                p class="buttons" {
                    button type="submit" class={ @if asked.warning.is_some() { "danger" } @else { "primary" } } { (asked.button) }
                    a class="button" href="/mirrors" { "Do nothing" }
                }
            }
        }
    };
    frame(&asked.title, &body)
}

/// Says something, with a way back.
pub fn notice(title: &str, text: &str) -> String {
    let body = html! {
        main id="main" class="outside" {
            h1 { (title) }
            div class="card" { p { (text) } p class="buttons" { a class="button" href="/" { "Back to the overview" } } }
        }
    };
    frame(title, &body)
}
