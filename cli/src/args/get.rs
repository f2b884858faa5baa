//! The flags of `pmcp read` and `pmcp prompt`.

use clap::Args;

use crate::args::client::{Answer, AnswerFlags, ServerFlags, Target};
use crate::exit::Failure;

/// Print a resource of a tool file or an MCP server
#[derive(Debug, Args)]
#[command(after_help = READ_EXAMPLES, override_usage = "pmcp read [FLAGS] [TARGET] URI [-- COMMAND]")]
pub(super) struct Read {
    /// A tool file or a URL (neither with a command after --), and the URI of the resource
    #[arg(value_name = "[TARGET] URI")]
    words: Vec<String>,

    /// Print the whole result as JSON, with bytes in base64
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    answers: AnswerFlags,

    #[command(flatten)]
    server: ServerFlags,
}

const READ_EXAMPLES: &str = "\
Examples:
  pmcp list notes.py --kind resources             the URIs of the resources
  pmcp read notes.py notes://all                  the text of one
  pmcp read file:///tmp/a.txt -- uvx some-server  a resource of a server that a command starts";

/// Print a prompt of a tool file or an MCP server
#[derive(Debug, Args)]
#[command(after_help = PROMPT_EXAMPLES, override_usage = "pmcp prompt [FLAGS] [TARGET] NAME [ARGUMENTS] [-- COMMAND]")]
pub(super) struct Prompt {
    /// A tool file or a URL (neither with a command after --), the prompt, and its arguments, which are texts:
    /// name=value, or one JSON object; - reads the object from standard input
    #[arg(value_name = "[TARGET] NAME [ARGUMENTS]")]
    words: Vec<String>,

    /// Print the whole result as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    answers: AnswerFlags,

    #[command(flatten)]
    server: ServerFlags,
}

const PROMPT_EXAMPLES: &str = "\
Examples:
  pmcp list notes.py --kind prompts               the prompts with their arguments (? is optional)
  pmcp prompt notes.py summary name=tea           the messages of one, each after its role";

/// The options of `pmcp read`.
#[derive(Debug)]
pub(crate) struct ReadOptions {
    pub(crate) target: Target,
    pub(crate) uri: String,
    pub(crate) json: bool,
    pub(crate) answers: Vec<Answer>,
    pub(crate) server: ServerFlags,
}

/// The options of `pmcp prompt`.
#[derive(Debug)]
pub(crate) struct PromptOptions {
    pub(crate) target: Target,
    pub(crate) name: String,
    /// `name=value`, a JSON object, or `-`.
    pub(crate) arguments: Vec<String>,
    pub(crate) json: bool,
    pub(crate) answers: Vec<Answer>,
    pub(crate) server: ServerFlags,
}

impl Read {
    pub(super) fn options(self) -> Result<ReadOptions, Failure> {
        let Self { words, json, answers, mut server } = self;
        let mut words = words.into_iter();
        let target = server.first_target(&mut words, "read")?;
        let no_uri = || Failure::usage("missing URI; `pmcp list --kind resources` prints the URIs of the resources");
        let uri = words.next().ok_or_else(no_uri)?;
        match words.next() {
            Some(word) => Err(Failure::usage(format!("unexpected argument \"{word}\""))),
            None => Ok(ReadOptions { target, uri, json, answers: answers.answers, server }),
        }
    }
}

impl Prompt {
    pub(super) fn options(self) -> Result<PromptOptions, Failure> {
        let Self { words, json, answers, mut server } = self;
        let mut words = words.into_iter();
        let target = server.first_target(&mut words, "prompt")?;
        let no_name = || Failure::usage("missing prompt name; `pmcp list --kind prompts` prints the names");
        let name = words.next().ok_or_else(no_name)?;
        Ok(PromptOptions { target, name, arguments: words.collect(), json, answers: answers.answers, server })
    }
}
