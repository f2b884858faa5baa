//! The flags of `pmcp test`.

use std::path::{Path, PathBuf};

use clap::Args;
use protomcp_check::HostSelection;
use protomcp_types::{Kind, RawJson};
use serde_json::Value;

use crate::args::client::{ServerFlags, Target};
use crate::args::report::{Format, format, hosts};
use crate::exit::Failure;

/// List or call the tools of a server with the messages behind it, or run scenarios
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "pmcp test [FLAGS] [TARGET] list|call|run [TOOL | SCENARIO...] [-- COMMAND]")]
pub(super) struct Test {
    /// A tool file or a URL (neither with a command after --), and list, call TOOL with name=value or a JSON object as of
    /// `pmcp call`, or run with scenarios in YAML; the word may also come first
    #[arg(value_name = "[TARGET] list|call TOOL [NAME=VALUE...]|run SCENARIO...")]
    words: Vec<String>,

    /// The arguments of the call as one JSON object, in place of words
    #[arg(long = "args", value_name = "JSON")]
    arguments: Option<String>,

    /// Print the messages of a call
    #[arg(
        long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "true",
        default_missing_value = "true"
    )]
    trace: bool,

    /// Format of the output: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format)]
    format: Format,

    #[command(flatten)]
    scenarios: ScenarioFlags,

    /// Hosts whose limits to compare the result of a call with, separated by commas; without a value the limits of all
    /// hosts
    #[arg(long = "for", value_name = "HOSTS", num_args = 0..=1, default_missing_value = "common", value_parser = hosts)]
    hosts: Vec<HostSelection>,

    #[command(flatten)]
    server: ServerFlags,
}

/// The flags of scenarios.
#[derive(Debug, Args)]
struct ScenarioFlags {
    /// A variable of the scenarios, as NAME=VALUE; may be repeated. A value is JSON where it can be read as such
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, Value)>,

    /// Run the scenarios with this tag only; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    /// Most scenarios that run at the same time, each with its own server
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,

    /// Run the scenarios again after each save of the tool file or of a scenario, until Ctrl-C
    #[arg(long)]
    watch: bool,

    /// Also write the outcome of the scenarios to this file, as JUnit XML for CI
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  pmcp test tools.py list                             the tools, resources and prompts
  pmcp test tools.py call add a=2 b=3                 the result of a call, with the messages
  pmcp test tools.py call add --args '{\"a\": 2, \"b\": 3}'
                                                      the same with a JSON object
  pmcp test tools.py run shop.yaml --junit report.xml
                                                      steps with what is expected of each
  pmcp test tools.py run tests/*.yaml --watch         again after each save

The exit code is 1 if the tool reports an error or a scenario fails. docs/scenarios.md describes scenarios.";

/// The options of `pmcp test`.
#[derive(Debug)]
pub(crate) struct TestOptions {
    pub(crate) target: Target,
    pub(crate) action: TestAction,
    pub(crate) format: Format,
    pub(crate) server: ServerFlags,
}

/// The action of a test.
#[derive(Debug)]
pub(crate) enum TestAction {
    /// Prints the lists.
    List,
    /// Calls a tool, with `name=value` or a JSON object.
    Call { tool: String, arguments: Vec<String>, trace: bool, hosts: HostSelection },
    /// Runs scenarios.
    Run(ScenarioOptions),
}

/// The options of scenarios.
#[derive(Debug)]
pub(crate) struct ScenarioOptions {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) variables: Vec<(String, Value)>,
    pub(crate) tags: Vec<String>,
    /// Scenarios at the same time.
    pub(crate) jobs: usize,
    /// Again after each save.
    pub(crate) watch: bool,
    pub(crate) junit: Option<PathBuf>,
}

/// The words after which the rest is known. `scenario` is the older Go program's word for `run`.
const VERBS: [&str; 4] = ["list", "call", "run", "scenario"];

impl Test {
    pub(super) fn options(self) -> Result<TestOptions, Failure> {
        let Self { words, arguments, trace, format, scenarios, hosts, mut server } = self;
        let mut words = words;
        let is_verb = |word: Option<&String>| word.is_some_and(|word| VERBS.contains(&word.as_str()));
        let has_command = server.has_command();
        // `test list FILE` means the same as `test FILE list`.
        if !has_command && is_verb(words.first()) && words.len() > 1 && !is_verb(words.get(1)) {
            words.swap(0, 1);
        }
        let mut words = words.into_iter();
        let first = if has_command { None } else { words.next() };
        if let Some(scenario) = first.as_deref().filter(|word| is_scenario(word)) {
            return Err(Failure::usage(format!("missing tool file: use pmcp test tools.py run {scenario}")));
        }
        let target = server.target(first, "test")?;
        let verb = words.next().ok_or_else(|| Failure::usage("missing subcommand: use list, call or run"))?;
        let action = match verb.as_str() {
            "list" => TestAction::List,
            "call" => {
                let tool =
                    words.next().ok_or_else(|| Failure::usage("missing tool name; `pmcp list` prints the names"))?;
                let hosts = hosts.into_iter().fold(HostSelection::default(), HostSelection::and);
                let words: Vec<String> = words.by_ref().collect();
                let arguments = match arguments {
                    None => words,
                    Some(json) if words.is_empty() => vec![object(json)?.as_str().to_owned()],
                    Some(_) => {
                        return Err(Failure::usage("the arguments are given twice: use --args or words, not both"));
                    }
                };
                TestAction::Call { tool, arguments, trace, hosts }
            }
            "run" | "scenario" => {
                let files: Vec<PathBuf> = words.by_ref().map(PathBuf::from).collect();
                if files.is_empty() {
                    return Err(Failure::usage(
                        "missing scenario: name a file in YAML; docs/scenarios.md describes it",
                    ));
                }
                TestAction::Run(scenarios.options(files))
            }
            other => return Err(Failure::usage(format!("unknown subcommand \"{other}\": use list, call or run"))),
        };
        match words.next() {
            Some(word) => Err(Failure::usage(format!("unexpected argument \"{word}\""))),
            None => Ok(TestOptions { target, action, format, server }),
        }
    }
}

/// True for the name of a file with scenarios.
fn is_scenario(word: &str) -> bool {
    let extension = Path::new(word).extension();
    extension.is_some_and(|extension| extension == "yaml" || extension == "yml")
}

impl ScenarioFlags {
    fn options(self, files: Vec<PathBuf>) -> ScenarioOptions {
        let Self { variables, tags, jobs, watch, junit } = self;
        ScenarioOptions { files, variables, tags, jobs: usize::from(jobs), watch, junit }
    }
}

fn object(text: String) -> Result<RawJson, Failure> {
    let wrong = |why: String| Failure::usage(format!("invalid --args JSON: {why}"));
    let json = RawJson::parse(text).map_err(|error| wrong(error.to_string()))?;
    if json.kind() == Kind::Object { Ok(json) } else { Err(wrong("expected an object".into())) }
}

fn variable(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))))
}
