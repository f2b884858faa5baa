//! The command line of `init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Write a first tool file, with a test
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Init {
    /// Directory of the files; it is made if there is none
    #[arg(default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Language of the tools
    #[arg(long, value_name = "LANGUAGE", default_value = "python")]
    pub(crate) lang: Language,

    /// A checkout of protomcp, for the dependencies of a project in Rust [default: the published crates]
    #[arg(long, value_name = "DIR")]
    pub(crate) checkout: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  pmcp init                            tools.py and its test in the current directory
  pmcp init my-tools --lang typescript tools.ts in my-tools

Python, JavaScript and TypeScript need no further installation: pmcp lends its SDK to the file. Files that are there \
already are not overwritten; a .gitignore stays as it is.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Python 3.10 or later
    Python,
    /// A Cargo project
    Rust,
    /// JavaScript on Node 20 or later
    #[value(alias = "js")]
    Javascript,
    /// TypeScript on Node 22.18 or later, or with tsx
    #[value(alias = "ts")]
    Typescript,
}
