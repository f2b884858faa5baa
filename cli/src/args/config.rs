//! `pmcp config show`: the settings of a command line, each with its origin.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
#[cfg(feature = "upstream")]
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, Subcommand};

use crate::args::grammar::Grammar;
use crate::args::refusal::refuse;
use crate::args::settings::{Names, Origin, Settings, file_next_to, flags, long, missing_file, tool_file, variable_of};
use crate::args::settings_file::FILE;
use crate::args::shown_url::shown;
#[cfg(feature = "upstream")]
use crate::args::upstream_config::check_readable;
use crate::exit::Failure;
use crate::nearest::nearest;

/// Print the settings of a command and their origins
#[derive(Debug, Args)]
pub(super) struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the value of each flag, and where it comes from
    #[command(after_help = HELP, override_usage = "pmcp config show [COMMAND] [FILE] [FLAGS]")]
    Show {
        /// A command line without pmcp; dev if it names no command, and run for --config
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
        words: Vec<OsString>,
    },
}

const HELP: &str = "\
Examples:
  pmcp config show tools.py                        the settings of pmcp dev tools.py
  pmcp config show run tools.py --transport http   the settings of another command line

A flag on the command line counts first, then its variable (PMCP_CALL_TIMEOUT for \
--call-timeout), then its key in the file pmcp.toml next to the tool file, then in ~/.config/pmcp/pmcp.toml, then the \
default:

  call-timeout = \"30s\"
  allow-host = [\"tools.example.com\"]

  [run]                     # for one command
  transport = \"http\"";

impl Config {
    /// The text to print. `variable` looks up the environment, and `names` are the names of all its variables.
    pub(super) fn text(
        self,
        mut grammar: Grammar,
        variable: impl Fn(&str) -> Option<String>,
        names: impl Iterator<Item = String>,
    ) -> Result<String, Failure> {
        let Action::Show { words } = self.action;
        let whole = grammar.whole();
        let known = Names::of(&whole);
        let command = words.first().and_then(|word| whole.find_subcommand(word));
        let is_verb = command.is_some_and(|command| known.verbs().any(|verb| verb == command.get_name()));
        // That flag is not one of dev.
        let usual = if words.iter().any(is_config) { "run" } else { "dev" };
        let verb = (!is_verb).then(|| OsString::from(usual));
        let words: Vec<_> = [OsString::from("pmcp")].into_iter().chain(verb).chain(words).collect();
        let plain = match grammar.parse(&words) {
            Ok(matches) => matches,
            Err(error) => return refuse(&error, &words, &whole),
        };
        let settings = Settings::of(&grammar, &plain, variable)?;
        let all = settings.matches(&grammar, &words, plain.clone())?;
        let (Some((verb, plain)), Some((_, all))) = (plain.subcommand(), all.subcommand()) else {
            return Err(Failure::usage("missing command"));
        };
        let command = grammar.command(verb).expect("the command was parsed");
        if let Some(file) = missing_file(command, plain) {
            return Err(Failure::usage(format!("file not found: {file}")));
        }
        #[cfg(feature = "upstream")]
        if let Some(path) = all.try_get_one::<PathBuf>("config").ok().flatten() {
            check_readable(path)?;
        }
        let rows: Vec<_> =
            flags(command).map(|flag| row(&long(flag), flag.get_id().as_str(), plain, all, &settings)).collect();
        Ok(format!("{}{}{}", head(command, plain), table(&rows), mistyped(names, &known)))
    }
}

/// True for the flag that names servers in a file.
fn is_config(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| word == "--config" || word.starts_with("--config="))
}

/// The flag whose value is a URL that may have a password.
const STORE: &str = "store";

/// The name of a flag, its value and its origin.
fn row(name: &str, id: &str, plain: &ArgMatches, all: &ArgMatches, settings: &Settings) -> [String; 3] {
    let values = all.get_raw(id).into_iter().flatten();
    let value = values.map(OsStr::to_string_lossy);
    let value = value.map(|value| if name == STORE { shown(&value) } else { value.into_owned() });
    let value = value.collect::<Vec<_>>().join(", ");
    let origin = match settings.origin(name, plain.value_source(id)) {
        Origin::CommandLine => format!("--{name}"),
        Origin::Variable(variable) => variable,
        Origin::File { line } => format!("{FILE}, line {line}"),
        Origin::UserFile { path, line } => format!("{path}, line {line}"),
        Origin::Default => "default".to_owned(),
    };
    [name.to_owned(), if value.is_empty() { "-".to_owned() } else { value }, origin]
}

/// The file that counts.
fn head(command: &Command, matches: &ArgMatches) -> String {
    let verb = command.get_name();
    match tool_file(command, matches).map(|tool| file_next_to(&tool)) {
        Some(path) if path.exists() => format!("# pmcp {verb}, with {}\n", path.display()),
        Some(path) => format!("# pmcp {verb}; there is no {}\n", path.display()),
        None => format!("# pmcp {verb}\n"),
    }
}

fn table(rows: &[[String; 3]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (names, values) = (width(0), width(1).min(32));
    rows.iter().fold(String::new(), |mut text, [name, value, origin]| {
        writeln!(text, "{name:names$}  {value:values$}  {origin}").expect("a string takes everything");
        text
    })
}

/// The variables that are none of a flag, but nearly.
fn mistyped(names: impl Iterator<Item = String>, known: &Names) -> String {
    let flags: Vec<_> = known.flags(None).map(variable_of).collect();
    let mut unknown: Vec<_> = names.filter(|name| name.starts_with("PMCP_") && !flags.contains(name)).collect();
    unknown.sort_unstable();
    unknown.into_iter().fold(String::new(), |mut text, name| {
        if let Some(meant) = nearest(&name, flags.iter().map(String::as_str)) {
            writeln!(text, "# {name} is unknown; did you mean {meant}?").expect("a string takes everything");
        }
        text
    })
}
