//! The words of a command line: before they are parsed, and the flags among them.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use crate::args::grammar::Grammar;

/// Attaches a word such as `-1s` to the flag before it. No flag begins like that, so it must be a value, and the error
/// should name the value.
pub(super) fn with_values(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let is_negative =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut all: Vec<OsString> = Vec::new();
    let mut words = words.into_iter();
    for word in words.by_ref() {
        if word == "--" {
            // The rest is a separate command.
            all.push(word);
            break;
        }
        match all.last_mut() {
            Some(flag)
                if word.to_str().is_some_and(is_negative)
                    && flag.to_str().is_some_and(|flag| flag.starts_with("--") && !flag.contains('=')) =>
            {
                flag.push("=");
                flag.push(&word);
            }
            _ => all.push(word),
        }
    }
    all.extend(words);
    all
}

/// Puts `--color WHEN` from the place before the command to the place after it. The output of a command without that flag
/// has no colours.
pub(super) fn with_color(grammar: &Grammar, mut words: Vec<OsString>) -> Vec<OsString> {
    let count = match words.get(1).and_then(|word| word.to_str()) {
        Some("--color") => 2,
        Some(word) if word.starts_with("--color=") => 1,
        _ => return words,
    };
    let verb = words.get(1 + count).and_then(|word| word.to_str());
    let has_color = |command: &Command| command.get_arguments().any(|flag| flag.get_long() == Some("color"));
    let takes_it = verb.is_some_and(|verb| grammar.whole().find_subcommand(verb).is_some_and(has_color));
    let is_known = words.get(count).and_then(|word| word.to_str()).is_some_and(|word| {
        let value = word.strip_prefix("--color=").unwrap_or(word);
        ["auto", "always", "never"].contains(&value)
    });
    if !takes_it && !is_known {
        return words;
    }
    let flag: Vec<OsString> = words.drain(1..=count).collect();
    if takes_it {
        // After the command.
        let rest = words.split_off(2);
        words.extend(flag.into_iter().chain(rest));
    }
    words
}

/// The flags of a kind on the command line.
pub(super) fn flags_used(grammar: &Grammar, matches: &ArgMatches, is_kind: impl Fn(&Arg) -> bool) -> Vec<String> {
    let Some((verb, matches)) = matches.subcommand() else { return Vec::new() };
    let flags = grammar.command(verb).into_iter().flat_map(Command::get_arguments);
    let used = flags
        .filter(|flag| is_kind(flag) && matches.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine));
    used.filter_map(Arg::get_long).map(|name| format!("--{name}")).collect()
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn a_choice_of_colours_stands_before_or_after_the_command() {
        let grammar = Grammar::new(|| {
            let list = Command::new("list").arg(Arg::new("color").long("color"));
            Command::new("pmcp").subcommand(list).subcommand(Command::new("version"))
        });
        for (line, expected) in [
            ("pmcp --color never list a", "pmcp list --color never a"),
            ("pmcp --color=never list", "pmcp list --color=never"),
            ("pmcp --color purple list", "pmcp list --color purple"),
            ("pmcp list a --color never", "pmcp list a --color never"),
            ("pmcp --color always version", "pmcp version"),
            ("pmcp --color purple version", "pmcp --color purple version"),
            ("pmcp --color never", "pmcp"),
            ("pmcp --color never unknown", "pmcp unknown"),
        ] {
            let words = with_color(&grammar, line.split(' ').map(OsString::from).collect());
            let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
            assert_eq!(words.join(" "), expected, "{line}");
        }
    }
}
