//! Settings for flags that are not on the command line: from `pmcp.toml` next to the tool file or of the user, and from
//! the environment.
//!
//! A key of the file is the name of a flag, and a variable is that name in capitals after `PMCP_`. Flags count before
//! variables, variables before the file next to the tool file, and that before the file of the user. A setting that
//! contradicts one that counts before it is left out.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::args::grammar::Grammar;
use crate::args::refusal::refuse;
use crate::args::settings_file::{self, FILE};
use crate::args::skills::SKILLS;
use crate::args::tool::{FOR_WATCHED_FILES, TOOL_FILES_ONLY};
use crate::exit::Failure;

/// The commands that use a tool file.
const VERBS: [&str; 12] =
    ["dev", "run", "list", "call", "read", "prompt", "validate", "playground", "test", "doctor", "bundle", "record"];
/// Flags of this heading choose other servers than a tool file, so a setting of a tool file cannot.
const NOT_FOR_FILES: &str = "Servers";
/// The flag of that heading that is for tool files, too. In the file its paths are relative to the file.
pub(super) const WATCH: &str = "watch";
/// Flags that are about one command line. Headers and OAuth clients are for servers at a URL.
const NOT_SETTINGS: [&str; 8] =
    ["help", "answer", "header", "client-id", "client-secret-env", "client-issuer", "client-port", "to"];
/// Flags without a meaning for a command that accepts them to say so, and ones whose name has another meaning there.
const NOT_OF: [(&str, &str); 4] = [("run", "poll"), ("record", "poll"), ("test", WATCH), ("list", SKILLS)];

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    CommandLine,
    Variable(String),
    File {
        line: usize,
    },
    /// The file of the user at this path.
    UserFile {
        path: String,
        line: usize,
    },
    Default,
}

/// A value that is not on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The long name of the flag.
    pub(super) flag: String,
    /// One value, or the values of a flag that may be repeated. A flag without a value has `true` or `false`.
    pub(super) values: Vec<String>,
    pub(super) origin: Origin,
}

/// The settings of one command line.
#[derive(Debug, Default)]
pub(super) struct Settings(Vec<Setting>);

impl Settings {
    /// The settings for the command line of these matches; none for commands that use no tool file.
    pub(super) fn of(
        grammar: &Grammar,
        matches: &ArgMatches,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let Some((verb, matches)) = matches.subcommand().filter(|(verb, _)| VERBS.contains(verb)) else {
            return Ok(Self::default());
        };
        let command = grammar.command(verb).expect("the command was parsed");
        let tool = tool_file(command, matches);
        let names = || Names::of(&grammar.whole());
        let in_file = match &tool {
            Some(tool) => settings_file::read(&file_next_to(tool), verb, names)?,
            None => Vec::new(),
        };
        let mut of_user = match user_file(&variable) {
            Some(path) => of_user(settings_file::read(&path, verb, names)?, &path),
            None => Vec::new(),
        };
        let mut chosen: Vec<String> = flags(command)
            .filter(|flag| matches.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine))
            .map(long)
            .collect();
        let mut settings = Vec::new();
        let is_other_server =
            tool.is_none() && command.get_positionals().any(|arg| words(matches, arg).next().is_some());
        let mut in_environment = of_environment(command, variable);
        if is_other_server {
            for level in [&mut in_environment, &mut of_user] {
                level.retain(|setting| !is_for_tool_files(&setting.flag));
            }
        }
        for level in [in_environment, in_file, of_user] {
            check_values(grammar, verb, &level)?;
            let counts = |setting: &Setting| {
                !chosen.iter().any(|other| *other == setting.flag || contradict(command, other, &setting.flag))
            };
            let level: Vec<_> = level.into_iter().filter(counts).collect();
            chosen.extend(level.iter().map(|setting| setting.flag.clone()));
            settings.extend(level);
        }
        Ok(Self(settings))
    }

    /// The command line with these settings as flags. The command is its second word.
    pub(super) fn matches(
        &self,
        grammar: &Grammar,
        words: &[OsString],
        plain: ArgMatches,
    ) -> Result<ArgMatches, Failure> {
        let Some(verb) = plain.subcommand_name().filter(|_| !self.0.is_empty()) else { return Ok(plain) };
        let command = grammar.command(verb).expect("the command was parsed");
        let settings = self.0.iter().flat_map(|setting| flag_words(command, setting)).map(OsString::from);
        let (front, rest) = words.split_at(2);
        let all = front.iter().cloned().chain(settings).chain(rest.iter().cloned());
        grammar.parse_more(all).map_err(|error| refused(&error, command, &place(&self.0)))
    }

    /// The origin of a flag's value. `source` is that on the command line without settings.
    pub(super) fn origin(&self, flag: &str, source: Option<ValueSource>) -> Origin {
        match (source, self.0.iter().find(|setting| setting.flag == flag)) {
            (Some(ValueSource::CommandLine), _) => Origin::CommandLine,
            (_, Some(setting)) => setting.origin.clone(),
            _ => Origin::Default,
        }
    }
}

/// The names that a file can use.
pub(super) struct Names {
    /// For each command that uses a tool file.
    commands: Vec<(String, Vec<String>)>,
}

impl Names {
    /// The names in the grammar with the flags of all commands.
    pub(super) fn of(grammar: &Command) -> Self {
        let commands = VERBS.iter().filter_map(|verb| grammar.find_subcommand(verb));
        Self {
            commands: commands
                .map(|command| (command.get_name().to_owned(), flags(command).map(long).collect()))
                .collect(),
        }
    }

    /// The names of the commands.
    pub(super) fn verbs(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(|(verb, _)| verb.as_str())
    }

    /// The flags of a command, or of all of them.
    pub(super) fn flags<'a>(&'a self, verb: Option<&'a str>) -> impl Iterator<Item = &'a str> {
        let meant = self.commands.iter().filter(move |(name, _)| verb.is_none_or(|verb| verb == name));
        meant.flat_map(|(_, flags)| flags.iter().map(String::as_str))
    }
}

/// True for flags that variables and the file of the user leave as they are in front of other servers.
fn is_for_tool_files(flag: &str) -> bool {
    flag == WATCH || (TOOL_FILES_ONLY.contains(&flag) && !FOR_WATCHED_FILES.contains(&flag))
}

/// The flags that a setting can give.
pub(super) fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    let verb = command.get_name();
    command.get_arguments().filter(move |flag| {
        let is_for_files = |name: &str| name == WATCH || flag.get_help_heading() != Some(NOT_FOR_FILES);
        let is_setting = |name: &str| !NOT_SETTINGS.contains(&name) && !NOT_OF.contains(&(verb, name));
        flag.get_long().is_some_and(|name| is_for_files(name) && is_setting(name))
    })
}

/// The name of a flag.
pub(super) fn long(flag: &Arg) -> String {
    flag.get_long().unwrap_or_default().to_owned()
}

/// The variable for a flag.
pub(super) fn variable_of(flag: &str) -> String {
    format!("PMCP_{}", flag.to_ascii_uppercase().replace('-', "_"))
}

/// The file with the settings of a tool file: next to it, or in the directory of a project.
pub(super) fn file_next_to(tool: &Path) -> PathBuf {
    if tool.is_dir() { tool.join(FILE) } else { tool.with_file_name(FILE) }
}

/// The file with the settings of the user.
fn user_file(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let configured = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || variable("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Some(configured.or_else(|| Some(home()?.join(".config")))?.join("pmcp").join(FILE))
}

/// The settings of the file of the user.
fn of_user(settings: Vec<Setting>, path: &Path) -> Vec<Setting> {
    let path = path.display().to_string();
    let origin = |origin| match origin {
        Origin::File { line } => Origin::UserFile { path: path.clone(), line },
        other => other,
    };
    settings.into_iter().map(|setting| Setting { origin: origin(setting.origin), ..setting }).collect()
}

/// The tool file on a command line: the first word that is a path, unless a command follows.
pub(super) fn tool_file(command: &Command, matches: &ArgMatches) -> Option<PathBuf> {
    let words = |arg| words(matches, arg);
    if command.get_positionals().filter(|arg| arg.is_last_set()).flat_map(words).next().is_some() {
        return None;
    }
    let mut paths = command.get_positionals().flat_map(words).map(PathBuf::from);
    paths.find(|path| path.exists())
}

/// The tool file that the command line names, if it does not exist: none of its words is a file, a URL or a command.
pub(super) fn missing_file(command: &Command, matches: &ArgMatches) -> Option<String> {
    let mut positionals = command.get_positionals().flat_map(|arg| words(matches, arg));
    let first = positionals.next()?.to_string_lossy().into_owned();
    let has_command = command.get_positionals().any(|arg| arg.is_last_set() && words(matches, arg).next().is_some());
    let is_missing = !has_command && !first.contains("://") && tool_file(command, matches).is_none();
    is_missing.then_some(first)
}

/// The words of an argument on the command line.
fn words<'a>(matches: &'a ArgMatches, arg: &Arg) -> impl Iterator<Item = &'a OsStr> {
    matches.try_get_raw(arg.get_id().as_str()).ok().flatten().into_iter().flatten()
}

fn of_environment(command: &Command, variable: impl Fn(&str) -> Option<String>) -> Vec<Setting> {
    let setting = |flag: &Arg| {
        let name = variable_of(&long(flag));
        let value = variable(&name).filter(|value| !value.is_empty())?;
        let values = match flag.get_action() {
            ArgAction::Append => value.split(',').map(|value| value.trim().to_owned()).collect(),
            ArgAction::SetTrue => match value.as_str() {
                "1" => vec!["true".to_owned()],
                "0" => vec!["false".to_owned()],
                _ => vec![value],
            },
            _ => vec![value],
        };
        Some(Setting { flag: long(flag), values, origin: Origin::Variable(name) })
    };
    flags(command).filter_map(setting).collect()
}

/// True if the two flags cannot stand on one command line.
fn contradict(command: &Command, one: &str, other: &str) -> bool {
    let conflicts = |one: &str, other: &str| {
        let flag = flags(command).find(|flag| long(flag) == one);
        flag.is_some_and(|flag| command.get_arg_conflicts_with(flag).iter().any(|flag| long(flag) == other))
    };
    conflicts(one, other) || conflicts(other, one)
}

/// Refuses values that the flags would refuse, by the place of their origin.
fn check_values(grammar: &Grammar, verb: &str, level: &[Setting]) -> Result<(), Failure> {
    let command = grammar.command(verb).expect("the command was parsed");
    for setting in level {
        let place = place(std::slice::from_ref(setting));
        let flag = flags(command).find(|flag| long(flag) == setting.flag);
        let action = flag.map(Arg::get_action);
        let words = flag_words(command, setting);
        if matches!(action, Some(ArgAction::SetTrue)) {
            if !matches!(setting.values.as_slice(), [value] if value == "true" || value == "false") {
                return Err(Failure::usage(format!("{place}: {} is true or false", setting.flag)));
            }
        } else if words.len() != 1 && !matches!(action, Some(ArgAction::Append)) {
            return Err(Failure::usage(format!("{place}: {} has one value", setting.flag)));
        }
        let words = ["pmcp".to_owned(), verb.to_owned()].into_iter().chain(words);
        let is_about_value = |error: &clap::Error| {
            matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::InvalidUtf8)
        };
        if let Some(error) = grammar.parse_more(words.map(OsString::from)).err().filter(is_about_value) {
            return Err(refused(&error, command, &place));
        }
    }
    Ok(())
}

fn refused(error: &clap::Error, command: &Command, place: &str) -> Failure {
    let words = ["pmcp", command.get_name()].map(OsString::from);
    let reason = refuse(error, &words, command).err().map(|failure| failure.to_string()).unwrap_or_default();
    Failure::usage(format!("{place}: {reason}"))
}

/// The setting as words of a command line.
fn flag_words(command: &Command, setting: &Setting) -> Vec<String> {
    let flag = flags(command).find(|flag| long(flag) == setting.flag);
    let is_switch = flag.is_some_and(|flag| matches!(flag.get_action(), ArgAction::SetTrue));
    match setting.values.as_slice() {
        [value] if is_switch && value == "true" => vec![format!("--{}", setting.flag)],
        _ if is_switch => Vec::new(),
        values => values.iter().map(|value| format!("--{}={value}", setting.flag)).collect(),
    }
}

/// The place of these settings, for an error.
fn place(group: &[Setting]) -> String {
    let mut places: Vec<String> = Vec::new();
    for setting in group {
        let place = match &setting.origin {
            Origin::File { line } if group.len() == 1 => format!("{FILE}, line {line}"),
            Origin::File { .. } => FILE.to_owned(),
            Origin::UserFile { path, line } if group.len() == 1 => format!("{path}, line {line}"),
            Origin::UserFile { path, .. } => path.clone(),
            Origin::Variable(name) => name.clone(),
            Origin::CommandLine | Origin::Default => continue,
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.join(", ")
}
