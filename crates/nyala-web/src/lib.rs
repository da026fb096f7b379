// SPDX-License-Identifier: Apache-2.0

//! The web page of management: what it shows, and how that is drawn. Pure: a page is a function of what a management node knows
//! ([`Facts`]): first to a model ([`model`]), then to HTML and SVG.
//!
//! **Failure model.** Names come from whoever registers a service or asks for something, and may be anything: all text is escaped by the
//! templates. There may be thousands of targets and clients: lists are cut, and say how many are left out. Figures may be missing or old:
//! pages say so and show the map, which is always there.

pub mod action;
pub mod checks;
pub mod facts;
pub mod figures;
pub mod history;
mod html;
pub mod model;
mod page;
mod svg;
pub mod units;

pub use action::Action;
pub use action::consequences::consequences;
pub use checks::{Check, CheckState};
pub use facts::{Facts, Here, Leadership};
pub use figures::{ClientFigures, Figures, FileFigures, Resync, ServiceFigures, TargetFigures, UserFigures};
pub use history::{History, Line, Span, Totals};
pub use html::files::Looked;
pub use html::outside::{confirmation, login, notice};
pub use html::shell::{Visitor, document};
pub use page::{Page, Part, parts, with_file};

/// Colours in light and dark, text and tables: what other pages share with this one. It refers to nothing outside it.
pub const BASE_STYLE: &str = include_str!("../assets/base.css");
/// The style sheet.
pub const STYLE: &str = concat!(include_str!("../assets/base.css"), include_str!("../assets/style.css"));
/// The script: replaces parts of the page by what the server sends.
pub const SCRIPT: &str = include_str!("../assets/live.js");
/// The icon.
pub const ICON: &str = include_str!("../assets/icon.svg");
