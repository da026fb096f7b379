// SPDX-License-Identifier: Apache-2.0

//! A site as a picture: clients, switches, servers and enclosures with the cables between them, and below what every part allows,
//! with the one that limits marked. Of many alike hosts the first ones are drawn, and a box says how many more there are.

use crate::cabling::Fabric;
use crate::estimate::{Bound, Estimate, Limit};
use crate::rows::{BOX, DRAWN, MARGIN, Row, TOP, WIDTH};
use crate::site::Site;
use crate::svg::{Anchor, Svg};

/// Height of a bar with its space.
const BAR: f64 = 26.0;
/// Where bars begin, and how long the longest is.
const BARS: (f64, f64) = (250.0, 480.0);

/// Draws the site. Its estimate and its cabling have been checked.
pub fn draw(site: &Site, fabric: &Fabric, estimate: &Estimate) -> String {
    let mut svg = Svg::default();
    let raid = format!("{}+{}", site.raid.data, site.raid.parity);
    let title = format!(
        "{}, {} of {} drives of {} TB in groups of {raid}, {}",
        some(site.servers, "storage server"),
        some(site.enclosures, "enclosure"),
        site.drives,
        site.drive_tb,
        if site.copies > 1 { format!("{} copies of each file", site.copies) } else { "no mirrors".to_owned() }
    );
    svg.text("head", Anchor::Start, (MARGIN, 32.0), &title);
    let space = format!("usable {:.0} TiB of {:.0} TB raw", estimate.usable_tib, estimate.raw_tb);
    svg.text("", Anchor::Start, (MARGIN, 56.0), &space);
    let clients = match site.clients {
        0 => ("clients".to_owned(), "as many as it takes".to_owned()),
        number => (some(number, "client"), format!("{} Gbit/s each", site.client_gbit)),
    };
    let clients = Row { top: TOP, boxes: vec![clients] };
    let ports = fabric.switch_ports.map_or("ports as needed".to_owned(), |ports| format!("{ports} ports"));
    let switches = Row::of(1, fabric.switches, |at| (format!("switch{at}"), ports.clone()));
    let servers = servers(site, fabric);
    let holds = format!("{} \u{d7} {} TB", site.drives, site.drive_tb);
    let name = if fabric.controllers == 0 { "drives of " } else { "enclosure" };
    let enclosures = Row::of(3, site.enclosures, |at| (format!("{name}{at}"), holds.clone()));
    clients.join_below(&mut svg, &switches);
    servers.join_above(&mut svg, &switches);
    drive_lines(&mut svg, site, fabric, &servers, &enclosures);
    for row in [&clients, &switches, &servers, &enclosures] {
        row.draw(&mut svg);
    }
    let top = enclosures.top + BOX + 44.0;
    let top = bars(&mut svg, top, "Reading", &estimate.bounds, estimate.read_limit, |bound| bound.read_gb_s);
    let top = bars(&mut svg, top, "Writing", &estimate.bounds, estimate.write_limit, |bound| bound.write_gb_s);
    svg.document((WIDTH, top), &title)
}

/// So many of something.
fn some(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Storage servers first, so that their places are those of their numbers.
fn servers(site: &Site, fabric: &Fabric) -> Row {
    let network = format!("{} Gbit/s", site.network_gbit);
    let mut row = Row::of(2, site.servers, |at| (format!("storage{at}"), network.clone()));
    for (number, name) in [(fabric.meta, "metadata"), (fabric.mgmt, "management")] {
        if number > 0 {
            row.boxes.push((name.to_owned(), some(number, "host")));
        }
    }
    row
}

fn drive_lines(svg: &mut Svg, site: &Site, fabric: &Fabric, servers: &Row, enclosures: &Row) {
    // The box for all further ones stands behind those that are drawn.
    let place = |number: u32| number.min(DRAWN) as usize;
    for enclosure in 0..site.enclosures.min(DRAWN) {
        let (first, second) = fabric.servers_of(site, enclosure);
        for server in [first].into_iter().chain(second) {
            let from = (enclosures.middle(place(enclosure)), enclosures.top);
            svg.line("drives", from, (servers.middle(place(server)), servers.top + BOX));
        }
    }
    if site.enclosures > DRAWN {
        let from = (enclosures.middle(place(DRAWN)), enclosures.top);
        svg.line("drives", from, (servers.middle(place(site.servers - 1)), servers.top + BOX));
    }
}

/// What every part allows, as bars; returns where the next thing may begin.
fn bars(svg: &mut Svg, top: f64, what: &str, bounds: &[Bound], limit: Limit, of: fn(&Bound) -> f64) -> f64 {
    let most = bounds.iter().map(of).fold(f64::MIN_POSITIVE, f64::max);
    svg.text("strong", Anchor::Start, (MARGIN, top), what);
    for (at, bound) in bounds.iter().enumerate() {
        let (y, rate, is_limit) = (top + 10.0 + BAR * at as f64, of(bound), bound.limit == limit);
        let (class, mark) = if is_limit { ("limit", "  the limit") } else { ("bar", "") };
        svg.text("", Anchor::Start, (MARGIN + 10.0, y + 15.0), bound.limit.name());
        svg.rect(class, (BARS.0, y + 2.0), ((BARS.1 * rate / most).max(2.0), BAR - 8.0));
        let said = format!("{rate:.1} GB/s{mark}");
        let class = if is_limit { "strong" } else { "" };
        svg.text(class, Anchor::Start, (BARS.0 + (BARS.1 * rate / most).max(2.0) + 8.0, y + 15.0), &said);
    }
    top + 10.0 + BAR * bounds.len() as f64 + 34.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;

    const FABRIC: Fabric = Fabric { meta: 2, mgmt: 0, ports: 2, switches: 2, switch_ports: Some(40), controllers: 2 };

    fn drawn(site: &Site, fabric: &Fabric) -> String {
        draw(site, fabric, &Estimate::of(site).unwrap())
    }

    #[test]
    fn hosts_drives_networks_and_the_limit_are_there() {
        let text = drawn(&published::site(4, 16.0), &FABRIC);
        for word in [
            "storage2",
            "enclosure4",
            "switch2",
            ">metadata<",
            ">2 hosts<",
            "40 ports",
            "usable 3688 TiB",
            "80 \u{d7} 16 TB",
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert_eq!(text.matches("the limit").count(), 2, "one for reading, one for writing");
        assert!(text.contains("23.8 GB/s  the limit"), "{text}");
        // Two servers, each with each of four enclosures; three boxes with two switches, and the clients.
        assert_eq!((text.matches("\"drives\"").count(), text.matches("\"network\"").count()), (8, 3 * 2 + 2));
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n") && text.contains("prefers-color-scheme:dark"));
    }

    #[test]
    fn everything_lies_within_the_picture() {
        for (servers, enclosures, controllers) in [(1, 1, 0), (7, 7, 0), (10_000, 100_000, 2), (3, 50, 1)] {
            let site = Site { servers, enclosures, clients: 9, copies: 1, ..published::site(1, 20.5) };
            let text = drawn(&site, &Fabric { controllers, mgmt: 3, ports: 16, switches: 16, ..FABRIC });
            let numbers = |name: &str| -> Vec<f64> {
                text.split(&format!(" {name}=\""))
                    .skip(1)
                    .filter_map(|rest| rest.split('"').next()?.parse().ok())
                    .collect()
            };
            for x in [numbers("x"), numbers("x1"), numbers("x2")].concat() {
                assert!((0.0..WIDTH).contains(&x), "{x} in a picture of {servers} servers");
            }
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            // Names fit into their boxes: bold letters are at most 9 wide, and "management" is the longest.
            let boxes = text
                .split("class=\"box\"")
                .skip(1)
                .filter_map(|rest| rest.split(" width=\"").nth(1)?.split('"').next());
            let narrowest = boxes.map(|width| width.parse().unwrap()).fold(WIDTH, f64::min);
            assert!(narrowest >= 90.0, "{narrowest}");
        }
    }
}
