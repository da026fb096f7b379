// SPDX-License-Identifier: Apache-2.0

//! What the container image and its page have the program do, held to the command line that there is, and the page to the recipe.

use super::parse;
use crate::cli::Cli;
use clap::Parser;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/containers.md");
const RECIPE: &str = include_str!("../../../../packaging/container/Containerfile");
const HEALTHY: &str = include_str!("../../../../packaging/container/healthy");

/// Flags of podman on the page: those with a value, then those without.
const VALUED: [&str; 8] =
    ["--name", "--network", "--stop-timeout", "--ulimit", "-v", "--device", "--cap-add", "--security-opt"];
const BARE: [&str; 2] = ["-d", "--rm"];

/// A command line of podman on the page.
#[derive(Debug, Default)]
struct Podman {
    flags: Vec<(String, String)>,
    /// Of `exec`: the container.
    container: String,
    /// What the program gets.
    arguments: Vec<String>,
}

impl Podman {
    fn read(line: &str) -> Podman {
        let mut read = Podman::default();
        let mut words = line.split_whitespace().map(str::to_owned).skip(1);
        if words.next().as_deref() == Some("exec") {
            read.container = words.next().unwrap();
        }
        while let Some(word) = words.next() {
            match word.as_str() {
                // Of the image, or of the program: they have one name.
                "nyala" => break,
                flag if VALUED.contains(&flag) => read.flags.push((word, words.next().unwrap())),
                flag => assert!(BARE.contains(&flag), "{flag} of podman is not known to this test: {line}"),
            }
        }
        read.arguments = words.collect();
        read
    }

    fn all(&self, flag: &str) -> Vec<&str> {
        self.flags.iter().filter(|(name, _)| name == flag).map(|(_, value)| value.as_str()).collect()
    }
}

/// All command lines of podman on the page, in blocks and in sentences.
fn podman() -> Vec<Podman> {
    let text = PAGE.replace("\\\n", " ");
    let code = text.split('`').flat_map(str::lines).map(str::trim);
    let lines = code.filter(|line| line.starts_with("podman run ") || line.starts_with("podman exec "));
    lines.map(Podman::read).collect()
}

/// The program's name before its arguments.
fn of_program(arguments: &[String]) -> Vec<String> {
    std::iter::once("nyala".to_owned()).chain(arguments.iter().cloned()).collect()
}

/// Values of an instruction of the recipe.
fn instruction(name: &str) -> Vec<String> {
    let lines = RECIPE.lines().filter_map(|line| line.strip_prefix(name));
    let words = lines.flat_map(|line| line.split([' ', ',', '[', ']', '"']));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn command_lines_of_the_containers_page_are_understood() {
    let lines = podman();
    assert_eq!(lines.len(), 6, "{lines:?}");
    let names: BTreeSet<&str> = lines.iter().flat_map(|line| line.all("--name")).collect();
    let volumes = instruction("VOLUME ");
    assert_eq!(volumes, ["/etc/nyala", "/var/lib/nyala", "/data"]);
    for line in &lines {
        parse(&of_program(&line.arguments));
        assert!(line.container.is_empty() || names.contains(line.container.as_str()), "{line:?}");
        for volume in line.all("-v") {
            let (host, inside) = volume.split_once(':').unwrap();
            // That of a mount is no volume of the image: it is shared with the host.
            let mount = inside.strip_suffix(":rshared").filter(|place| line.arguments.iter().any(|word| word == place));
            assert!(volumes.iter().any(|volume| volume == inside) || mount.is_some(), "{volume}: {line:?}");
            assert_eq!(host, mount.unwrap_or(inside), "{line:?}");
        }
        // What services keep goes with the container unless it is in a volume that the line has.
        let paths = line.arguments.iter().filter(|word| word.starts_with("/data") || word.starts_with("/etc"));
        for path in paths {
            let kept = line.all("-v").iter().any(|volume| path.starts_with(volume.split(':').next().unwrap()));
            assert!(kept, "{path} is in no volume: {line:?}");
        }
    }
}

#[test]
fn the_containers_page_says_what_the_recipe_does() {
    let ports = instruction("EXPOSE ");
    let row = PAGE.lines().find(|line| line.starts_with("| ports |")).unwrap();
    let shown: BTreeSet<&str> = row.split(|c: char| !c.is_ascii_digit()).filter(|word| word.len() == 4).collect();
    assert_eq!(shown, ports.iter().map(String::as_str).collect());
    assert_eq!(instruction("ENTRYPOINT "), ["/usr/bin/nyala"]);
    let help = Cli::try_parse_from(of_program(&instruction("CMD "))).unwrap_err();
    assert_eq!(help.kind(), clap::error::ErrorKind::DisplayHelp);
    assert!(RECIPE.contains("COPY healthy /usr/libexec/nyala-healthy\n"));
    assert!(RECIPE.contains(r#"CMD ["/usr/libexec/nyala-healthy"]"#) && RECIPE.contains("--retries=3"));
    // The check hands a service's own flags on: `health service` takes those of each role.
    assert!(HEALTHY.contains(r#"nyala health service "${words[@]:1}""#));
    for line in podman().iter().filter(|line| ["mgmtd", "meta", "storage"].contains(&line.arguments[0].as_str())) {
        let words = ["health", "service"].into_iter().map(str::to_owned).chain(line.arguments.iter().cloned());
        parse(&of_program(&words.collect::<Vec<_>>()));
    }
}
