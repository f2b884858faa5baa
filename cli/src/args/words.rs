//! The words of a command line: before they are parsed, and the flags among them.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

/// Attaches a word such as `-1s` to the flag before it. No flag begins like that, so it must be a value, and the error
/// should name the value.
pub(super) fn with_values(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let is_negative =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut all: Vec<OsString> = Vec::new();
    let mut words = words.into_iter();
    for word in words.by_ref() {
        if word == "--" {
            // The rest is a command of its own.
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

/// The flags of a kind on the command line.
pub(super) fn flags_used(grammar: &Command, matches: &ArgMatches, is_kind: impl Fn(&Arg) -> bool) -> Vec<String> {
    let Some((verb, matches)) = matches.subcommand() else { return Vec::new() };
    let flags = grammar.find_subcommand(verb).into_iter().flat_map(Command::get_arguments);
    let used = flags
        .filter(|flag| is_kind(flag) && matches.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine));
    used.filter_map(Arg::get_long).map(|name| format!("--{name}")).collect()
}
