// SPDX-License-Identifier: Apache-2.0

//! Shapes of the drawing.

use nyala_wire::TargetId;
use nyala_wire::map::{MemberState, Reachability};

/// Width of the drawing.
pub const WIDTH: f64 = 1000.0;
/// Height of the line of a target.
pub const CHIP: f64 = 24.0;

/// The drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Its height.
    pub height: f64,
    /// Titles of the rows, and where they are.
    pub titles: Vec<(f64, String)>,
    /// Nodes.
    pub nodes: Vec<NodeBox>,
    /// Who mirrors whom.
    pub edges: Vec<Edge>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeBox {
    /// Left and upper edge, width, height.
    pub at: (f64, f64, f64, f64),
    /// Its alias.
    pub alias: String,
    /// Whether management hears from it.
    pub reachability: Reachability,
    /// Its targets.
    pub chips: Vec<Chip>,
    /// Targets that are not drawn.
    pub more: usize,
}

/// A target.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// Left and upper edge of its line, and its width.
    pub at: (f64, f64, f64),
    /// Its id.
    pub id: TargetId,
    /// Its alias.
    pub alias: String,
    /// What it is in its mirror group: the group's id, whether it is primary, and what it is worth.
    pub member: Option<(u16, bool, MemberState)>,
    /// Whether it can be reached and is good.
    pub well: bool,
    /// How it is, as the class of its mark.
    pub class: &'static str,
}

/// From a primary to another member.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Where it begins, its two points of control, and where it ends.
    pub points: [(f64, f64); 4],
    /// What the other member is worth.
    pub state: MemberState,
    /// Both are there and well.
    pub well: bool,
    /// In words.
    pub said: String,
}
