// SPDX-License-Identifier: Apache-2.0

//! Pages, and what they load.

use super::render::{Known, View};
use super::state::WebState;
use super::visitor::Visitor;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, Uri};
use axum::response::Html;
use nyala_web::{ICON, Page, SCRIPT, STYLE, Span};

/// The time that a query asks for.
pub(super) fn span(pairs: &[(String, String)]) -> Span {
    let day = pairs.iter().any(|(name, value)| name == "span" && value == "day");
    if day { Span::Day } else { Span::Hour }
}

pub(super) async fn page(
    State(state): State<WebState>,
    visitor: Visitor,
    uri: Uri,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Html<String> {
    state.sampled.looked();
    let page = Page::at(uri.path()).unwrap_or(Page::Overview);
    let view = View { page, span: span(&pairs), may_act: visitor.may_act() };
    let flash = state.sessions.lock().take_flash(&visitor.id);
    let shown = nyala_web::Visitor { csrf: visitor.session.csrf.clone(), may_act: view.may_act, flash };
    made(move || {
        let known = Known::now(&state.core, &state.sampled);
        let parts = state.rendered.parts(view, &known);
        nyala_web::document(page, &known.facts(view.span, view.may_act), &parts, &shown)
    })
    .await
}

/// A document, made where it holds nobody up.
pub(super) async fn made(make: impl FnOnce() -> String + Send + 'static) -> Html<String> {
    let text = tokio::task::spawn_blocking(make).await;
    Html(text.unwrap_or_else(|_| {
        nyala_web::notice("This page could not be made", "The log of this management node says why.")
    }))
}

type Asset = ([(HeaderName, &'static str); 2], &'static str);

fn asset(kind: &'static str, text: &'static str) -> Asset {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "max-age=300")], text)
}

pub(super) async fn style() -> Asset {
    asset("text/css; charset=utf-8", STYLE)
}

pub(super) async fn script() -> Asset {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

pub(super) async fn icon() -> Asset {
    asset("image/svg+xml", ICON)
}
