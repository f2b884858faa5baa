//! Errors of the parser, in the words of this program.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::features;
use crate::exit::Failure;
use crate::nearest::nearest;

/// The longest value that an error repeats, in characters.
const REPEATED: usize = 100;

/// Words of other programs for a command.
const SYNONYMS: [(&str, &str); 4] = [("serve", "run"), ("start", "run"), ("watch", "dev"), ("remove", "uninstall")];

/// The command for a word of other programs.
fn synonym(name: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(word, _)| *word == name).map(|(_, meant)| *meant)
}

/// The usage of the program.
pub(super) const USAGE: &str = "usage: pmcp <dev|run|list|call|read|prompt|validate|test|doctor|playground|install|bundle> <file> [flags]\n       pmcp dev [flags] -- <command>\n       pmcp run [flags] --upstream <url> | --config <file> | -- <command>\n       pmcp schema <to-proto|to-json|resolve|cache> ...\n\nTry 'pmcp help'.";

pub(super) fn unknown_command(name: &str, grammar: &Command) -> Failure {
    features::lacking_command(name).unwrap_or_else(|| {
        Failure::usage(format!("unknown command \"{name}\"{}\n{USAGE}", near_command(name, grammar)))
    })
}

/// The beginning of a text from the command line.
fn brief(text: &str) -> String {
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The command that was meant.
fn near_command(name: &str, grammar: &Command) -> String {
    let names = grammar.get_subcommands().map(Command::get_name);
    synonym(name).or_else(|| nearest(name, names)).map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
}

/// The file to serve or the command that was meant. `near`: a suggestion of the parser.
fn meant(name: &str, near: &str, grammar: &Command) -> String {
    let path = Path::new(name);
    match near {
        // A path may be similar to a command.
        _ if path.is_file() || near.is_empty() && path.exists() => format!("; did you mean pmcp dev {name}?"),
        "" => near_command(name, grammar),
        _ => format!("; did you mean {}?", synonym(name).unwrap_or(near)),
    }
}

/// The usage of the command that an error is about.
fn usage(error: &clap::Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    match usage.trim_start_matches("Usage: ") {
        "" => USAGE.to_owned(),
        top if top.starts_with("pmcp <") => USAGE.to_owned(),
        usage => format!("usage: {usage}"),
    }
}

/// The command that has a flag, if it is another one than the first of these words: one that follows it, or the first
/// one in the help.
fn owner<'a>(grammar: &'a Command, words: &[String], flag: &str) -> Option<&'a str> {
    let name = flag.strip_prefix("--")?;
    let has_flag = |command: &&Command| command.get_arguments().any(|known| known.get_long() == Some(name));
    let (verb, after) = words.split_first()?;
    let named = after.iter().filter_map(|word| grammar.find_subcommand(word)).find(has_flag);
    let any = || grammar.get_subcommands().filter(has_flag).find(|owner| owner.get_name() != verb);
    named.or_else(any).map(Command::get_name)
}

/// The flag of the command itself that is the same for servers behind it, or for the one that it uses: `--era` and
/// `--upstream-era`.
fn counterpart(grammar: &Command, verb: &str, flag: &str) -> Option<String> {
    let name = flag.strip_prefix("--")?;
    let other = name.strip_prefix("upstream-").map_or_else(|| format!("upstream-{name}"), str::to_owned);
    let mut known = grammar.find_subcommand(verb)?.get_arguments();
    known.any(|known| known.get_long() == Some(other.as_str())).then(|| format!("--{other}"))
}

/// The remedy for an unknown flag. `near`: a suggestion of the parser.
fn flag_hint(grammar: &Command, words: &[String], flag: &str, near: &str) -> String {
    let verb = words.first().map_or("", String::as_str);
    match (counterpart(grammar, verb, flag), owner(grammar, words, flag), near) {
        (Some(own), ..) => format!("; did you mean {own}?"),
        (None, Some(owner), _) if verb.starts_with('-') => format!(" before the command; use pmcp {owner} {flag}"),
        (None, Some(owner), _) => format!(" of pmcp {verb}; it is one of pmcp {owner}"),
        (None, None, "") => features::hint(),
        (None, None, suggestion) => format!("; did you mean {suggestion}?"),
    }
}

/// Translates an error of the parser about these words, the name of the program first; help is not an error, but a text
/// to print.
pub(super) fn refuse(error: &clap::Error, words: &[OsString], grammar: &Command) -> Result<String, Failure> {
    let words: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let verb = words.first().map_or("", String::as_str);
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let argument = || context(ContextKind::InvalidArg);
    // The parser shows a flag with its value's name.
    let flag = || {
        let shown = argument();
        match shown.strip_prefix(['<', '[']).and_then(|name| name.strip_suffix(['>', ']'])) {
            Some(name) => name.to_lowercase(),
            None => shown.split_whitespace().next().unwrap_or_default().replace('[', "<").replace(']', ">"),
        }
    };
    match error.kind() {
        ErrorKind::DisplayHelp => Ok(error.render().to_string()),
        ErrorKind::UnknownArgument if argument().starts_with('-') => {
            let hint = flag_hint(grammar, &words, &flag(), &context(ContextKind::SuggestedArg));
            Err(Failure::usage(format!("unknown flag \"{}\"{hint}", brief(&flag()))))
        }
        ErrorKind::UnknownArgument => Err(Failure::usage(format!("unexpected argument \"{}\"", brief(&argument())))),
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand);
            if let Some(failure) = features::lacking_command(&name) {
                return Err(failure);
            }
            let near = context(ContextKind::SuggestedSubcommand);
            let hint = meant(&name, &near, grammar.find_subcommand(verb).unwrap_or(grammar));
            Err(Failure::usage(format!("unknown command \"{}\"{hint}\n{}", brief(&name), usage(error))))
        }
        ErrorKind::MissingSubcommand => Err(Failure::usage(usage(error))),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage(format!("missing command\n{}", error.render())))
        }
        ErrorKind::MissingRequiredArgument => Err(Failure::usage(format!("missing {}\n{}", argument(), usage(error)))),
        ErrorKind::InvalidValue
            if context(ContextKind::InvalidValue).is_empty() && argument().starts_with(['<', '[']) =>
        {
            Err(Failure::usage(format!("the {} is empty", flag())))
        }
        ErrorKind::InvalidValue if context(ContextKind::InvalidValue).is_empty() => {
            Err(Failure::usage(format!("flag \"{}\" needs a value", flag())))
        }
        ErrorKind::InvalidValue => {
            let (value, valid) = (context(ContextKind::InvalidValue), context(ContextKind::ValidValue));
            let hint = match &*context(ContextKind::SuggestedValue) {
                "" => String::new(),
                suggestion => format!("; did you mean {suggestion}?"),
            };
            Err(Failure::usage(format!("invalid {} \"{}\": must be one of {valid}{hint}", flag(), brief(&value))))
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            let value = brief(&context(ContextKind::InvalidValue));
            Err(Failure::usage(format!("invalid {} \"{value}\": {why}", flag())))
        }
        _ => Err(Failure::usage(error.render().to_string().trim_start_matches("error: ").trim_end().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use crate::args::parse;

    #[test]
    fn a_long_value_is_not_repeated_whole() {
        let (long, file) = ("ä".repeat(70_000), concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        for flag in ["--name", "--transport", "--port"] {
            let words = ["pmcp", "run", file, flag, long.as_str()].map(Into::into);
            let refused = parse(words).expect_err(flag).to_string();
            assert!(refused.len() < 1000 && refused.contains("ä…"), "{refused}");
        }
    }

    #[test]
    fn a_mistake_comes_with_what_is_meant() {
        for (line, expected) in [
            ("run FILE --trasport http", r#"unknown flag "--trasport"; did you mean --transport?"#),
            ("run FILE --watch src", r#"unknown flag "--watch" of pmcp run; it is one of pmcp dev"#),
            ("dev FILE --config c", r#"unknown flag "--config" of pmcp dev; it is one of pmcp run"#),
            ("run FILE --poll 1s", "--poll is for pmcp dev: run and record do not watch files"),
            ("run FILE --era stateful", r#"unknown flag "--era"; did you mean --upstream-era?"#),
            ("dev --era stateful -- server", r#"unknown flag "--era"; did you mean --upstream-era?"#),
            ("list FILE --upstream-era stateful", r#"unknown flag "--upstream-era"; did you mean --era?"#),
            ("run FILE --upstream-era stateful", "--upstream-era is for MCP servers: --upstream URL, --config FILE or"),
            ("run FILE --upstream-sessions client", "--upstream-sessions is for MCP servers: "),
            ("run --poll 1s -- server", "--poll is for pmcp dev: run and record do not watch files"),
            ("run FILE --nope", r#"unknown flag "--nope""#),
            ("dev FILE --hot-reload gracefull", "must be one of graceful, swap, immediate; did you mean graceful?"),
            ("vaildate FILE", r#"unknown command "vaildate"; did you mean validate?"#),
            ("dve FILE", r#"unknown command "dve"; did you mean dev?"#),
            ("help dve", r#"unknown command "dve"; did you mean dev?"#),
            ("FILE", "; did you mean pmcp dev "),
            ("serve FILE", r#"unknown command "serve"; did you mean run?"#),
            ("start FILE", r#"unknown command "start"; did you mean run?"#),
            ("--era stateful run FILE", r#"unknown flag "--era" before the command; use pmcp list --era"#),
            ("--quiet list FILE", r#"unknown flag "--quiet" before the command; use pmcp list --quiet"#),
            ("--quiet", r#"unknown flag "--quiet" before the command; use pmcp dev --quiet"#),
        ] {
            let line = format!("pmcp {line}").replace("FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
            let refused = parse(line.split(' ').map(Into::into)).expect_err(&line);
            assert!(refused.is_usage() && refused.to_string().contains(expected), "{line}: {refused}");
        }
    }
}
