//! The circumstances that the parts of the bench share.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::client::Client;
use crate::options::Options;
use crate::programs::Programs;
use crate::subject::{Subject, Tools};
use crate::web::WebServer;

/// The outcome of a measurement.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Calls in flight in a burst.
pub const WIDTH: usize = 64;

/// The subjects of a run, and its choices.
#[derive(Debug)]
pub struct Bench {
    /// The programs that are started.
    pub programs: Programs,
    /// All subjects, in the order of each round.
    pub subjects: Vec<Subject>,
    /// The choices of the run.
    pub options: Options,
    folder: TempDir,
}

impl Bench {
    /// Builds the programs, unless the options say otherwise.
    ///
    /// # Errors
    ///
    /// If a program does not build or does not exist.
    pub fn new(options: Options) -> io::Result<Self> {
        if options.builds {
            Programs::build(options.pmcp.as_deref())?;
        }
        let programs = Programs::find(options.pmcp.as_deref())?;
        programs.check()?;
        if let Some((name, path)) = options.others.iter().find(|(_, path)| !path.exists()) {
            return Err(io::Error::other(format!("--other {name}: {} does not exist", path.display())));
        }
        let subjects = Subject::all(&programs, &options.others);
        Ok(Self { programs, subjects, options, folder: tempfile::tempdir()? })
    }

    /// A folder for files of the run, which is removed at its end.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Each subject that can have these tools, started on standard streams when its turn comes.
    pub fn started(&self, tools: Tools) -> impl Iterator<Item = io::Result<(&Subject, Client)>> {
        let start = move |subject: &Subject| subject.start(&self.programs, tools);
        self.subjects
            .iter()
            .filter_map(move |subject| Some(start(subject).transpose()?.map(|client| (subject, client))))
    }

    /// Each subject that has HTTP, started when its turn comes, with these flags of `pmcp run`.
    pub fn listening(&self, flags: &[&str]) -> impl Iterator<Item = io::Result<(&Subject, WebServer)>> {
        let listen = move |subject: &Subject| subject.listen(&self.programs, flags);
        self.subjects
            .iter()
            .filter_map(move |subject| Some(listen(subject).transpose()?.map(|server| (subject, server))))
    }

    /// The builds of `pmcp`: their names, and their commands without arguments.
    pub fn bridges(&self) -> impl Iterator<Item = (&str, Command)> {
        self.subjects.iter().filter_map(|subject| Some((subject.name(), Command::new(subject.bridge()?))))
    }

    /// The sizes of a curve that are measured.
    pub fn sizes(&self, all: &[usize]) -> Vec<usize> {
        all.iter().copied().take(self.options.steps).collect()
    }
}

/// Writes a line to standard error, which is not part of the results.
pub fn note(text: &str) {
    // Without standard error no reader is left.
    let _ = writeln!(io::stderr(), "{text}");
}
