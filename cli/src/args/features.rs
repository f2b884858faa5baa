//! The features of the package that a build may leave out, and the errors about what they bring.

use crate::exit::Failure;

/// A feature, and the commands that it brings.
struct Feature {
    name: &'static str,
    is_built_in: bool,
    commands: &'static [&'static str],
}

const FEATURES: [Feature; 6] = [
    Feature { name: "http", is_built_in: cfg!(feature = "http"), commands: &[] },
    Feature {
        name: "install",
        is_built_in: cfg!(feature = "install"),
        commands: &["install", "bundle", "uninstall", "status"],
    },
    Feature { name: "playground", is_built_in: cfg!(feature = "playground"), commands: &["playground"] },
    Feature { name: "proto-mcp", is_built_in: cfg!(feature = "proto-mcp"), commands: &["schema"] },
    Feature {
        name: "trace",
        is_built_in: cfg!(feature = "trace"),
        commands: &["record", "replay", "mock", "scenario"],
    },
    Feature { name: "upstream", is_built_in: cfg!(feature = "upstream"), commands: &[] },
];

/// Refuses a command line for a part of the program that a feature brings, and that this build lacks.
pub(super) fn lacking<T>(part: &str, feature: &str) -> Result<T, Failure> {
    Err(without(part, feature))
}

fn without(part: &str, feature: &str) -> Failure {
    Failure::usage(format!("this pmcp was built without {part}: use one with the feature {feature}"))
}

/// The error about a command that this build lacks; `None` for other names.
pub(super) fn lacking_command(name: &str) -> Option<Failure> {
    let feature = FEATURES.iter().find(|feature| !feature.is_built_in && feature.commands.contains(&name))?;
    Some(without(&format!("pmcp {name}"), feature.name))
}

/// The features that this build lacks, one of which may bring an unknown flag; empty with all of them.
pub(super) fn hint() -> String {
    let missing: Vec<_> = FEATURES.iter().filter(|feature| !feature.is_built_in).map(|feature| feature.name).collect();
    if missing.is_empty() {
        return String::new();
    }
    format!("; this pmcp was built without features that may have it: {}", missing.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parse;

    #[test]
    fn each_command_of_a_feature_is_known_or_names_the_feature() {
        for Feature { name, is_built_in, commands } in FEATURES {
            assert_ne!(hint().contains(name), is_built_in, "{name}");
            for &command in commands {
                for line in [&["pmcp", "help", command][..], &["pmcp", command, "--help"]] {
                    let outcome = parse(line.iter().map(Into::into));
                    match outcome.err().map(|failure| failure.to_string()) {
                        None => assert!(is_built_in, "{line:?}"),
                        Some(error) => assert!(!is_built_in && error.ends_with(name), "{line:?}: {error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_lacking_part_comes_with_its_feature() {
        let failure = lacking::<()>("--transport http", "http").expect_err("it is refused");
        let text = "this pmcp was built without --transport http: use one with the feature http";
        assert!(failure.is_usage() && failure.to_string() == text, "{failure}");
    }
}
