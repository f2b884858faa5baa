//! `pmcp test FILE run`: scenarios, each with its own server, once or after each save.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;

use futures_util::future::select_all;
use futures_util::stream::{self, StreamExt};
use protomcp_bridge::ToolFile;
use protomcp_check::Trace;
use protomcp_check::scenario::{self, Outcome, Questions, Report, Scenario};
use protomcp_watch::{Batch, Filter, Watch, Watcher};
use tokio::sync::mpsc::Receiver;

use crate::args::client::{ServerFlags, Target};
use crate::args::report::Format;
use crate::args::test::ScenarioOptions;
use crate::client::connection::Connection;
use crate::exit::{self, Failure};
use crate::text_file::read_bounded;

/// The longest scenario, in bytes.
const MAX_SCENARIO: u64 = 4 << 20;

/// The scenarios of a command line.
pub(super) struct Scenarios {
    pub(super) options: ScenarioOptions,
    pub(super) target: Target,
    pub(super) server: ServerFlags,
    pub(super) format: Format,
}

/// A scenario, and the name of its file in reports.
type Named = (String, Scenario);

impl Scenarios {
    /// Runs them, and prints the outcome.
    pub(super) async fn test(&self) -> Result<(), Failure> {
        if !self.options.watch {
            return self.once().await;
        }
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => Ok(()),
            outcome = self.after_each_save() => outcome,
        }
    }

    async fn once(&self) -> Result<(), Failure> {
        let scenarios = self.chosen()?;
        let report = self.run(&scenarios).await?;
        match self.format {
            Format::Text => exit::print_report(report.to_text()),
            Format::Json => exit::print(&exit::for_stdout(format!("{}\n", report.to_json()))),
        }?;
        if let Some(path) = &self.options.junit {
            let written = std::fs::write(path, report.to_junit());
            written.map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))?;
        }
        if report.passes() { Ok(()) } else { Err(Failure::failed("a scenario has failed")) }
    }

    /// Runs them again and again. Mistakes in a file are printed, and wait for the next save, too.
    async fn after_each_save(&self) -> Result<(), Failure> {
        // A save while the scenarios run ends them.
        let watchers: Result<Vec<(Watcher, Receiver<Batch>)>, _> =
            self.watches().into_iter().map(|watch| Watcher::spawn(watch.from_now())).collect();
        let watchers = watchers.map_err(|error| Failure::usage(error.to_string()))?;
        let (_watchers, mut batches): (Vec<_>, Vec<_>) = watchers.into_iter().unzip();
        let say = |text: &str| if self.format == Format::Text { exit::print(text) } else { Ok(()) };
        loop {
            let mut saved = select_all(batches.iter_mut().map(|batches| Box::pin(batches.recv())));
            let outcome = tokio::select! {
                outcome = self.once() => outcome,
                _ = &mut saved => {
                    say("saved while a scenario ran: from the beginning\n")?;
                    continue;
                }
            };
            if let Err(failure) = outcome {
                exit::explain(&failure);
            }
            say("waiting for a save; Ctrl-C ends\n")?;
            saved.await;
        }
    }

    /// The files whose saves count: the files of the tools, and the scenarios.
    fn watches(&self) -> Vec<Watch> {
        let of_tools: Vec<Watch> = match &self.target {
            Target::File(file) => {
                let file = ToolFile::new(file);
                file.watch_target().into_iter().chain([file.watch()]).collect()
            }
            Target::Command(words) => Watch::command(words).into_iter().collect(),
            #[cfg(feature = "upstream")]
            Target::Url(_) | Target::Proto(_) => Vec::new(),
        };
        let mut folders: BTreeMap<PathBuf, Filter> = BTreeMap::new();
        for file in &self.options.files {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let filter = folders.remove(folder).unwrap_or_else(|| Filter::new().without_directories());
            folders.insert(folder.to_owned(), filter.always(file));
        }
        let of_scenarios = folders.into_iter().map(|(folder, filter)| Watch::directory(folder, filter));
        of_tools.into_iter().chain(of_scenarios).collect()
    }

    /// The scenarios of the files with one of the tags, with the values of variables.
    fn chosen(&self) -> Result<Vec<Named>, Failure> {
        let ScenarioOptions { files, variables, tags, .. } = &self.options;
        let mut all = Vec::with_capacity(files.len());
        for path in files {
            let wrong = |why: String| Failure::usage(format!("{}: {why}", path.display()));
            let scenario = Scenario::parse(&text(path).map_err(wrong)?);
            let scenario = scenario.and_then(|scenario| scenario.with_variables(variables.iter().cloned()));
            all.push((name(path), scenario.map_err(|error| wrong(error.to_string()))?));
        }
        let known: Vec<String> = all.iter().flat_map(|(_, scenario)| scenario.tags.clone()).collect();
        if let Some(unknown) = tags.iter().find(|tag| !known.contains(tag)) {
            return Err(Failure::usage(unknown_tag(unknown, known)));
        }
        all.retain(|(_, scenario)| tags.is_empty() || scenario.tags.iter().any(|tag| tags.contains(tag)));
        Ok(all)
    }

    async fn run(&self, scenarios: &[Named]) -> Result<Report, Failure> {
        let runs = scenarios.iter().map(|(name, scenario)| async move { (name, self.run_one(name, scenario).await) });
        let mut runs = pin!(stream::iter(runs).buffered(self.options.jobs));
        let mut outcomes = Vec::with_capacity(scenarios.len());
        while let Some((name, outcome)) = runs.next().await {
            match outcome {
                Ok(outcome) => outcomes.push(outcome),
                // Nothing will be different for the next one.
                Err(failure) if outcomes.is_empty() => return Err(failure),
                Err(failure) => outcomes.push(Outcome::not_begun(name, failure.to_string())),
            }
        }
        Ok(Report(outcomes))
    }

    /// Runs a scenario with its own server.
    async fn run_one(&self, name: &str, scenario: &Scenario) -> Result<Outcome, Failure> {
        let (trace, questions) = (Trace::default(), Questions::default());
        let prepared = Some((scenario, &questions));
        let connection = Connection::open_for_test(self.target.clone(), &self.server, &trace, prepared).await?;
        let outcome = scenario::run(scenario, name, &connection.session, &trace, &questions).await;
        connection.close().await;
        Ok(outcome)
    }
}

fn text(path: &Path) -> Result<String, String> {
    read_bounded(path, MAX_SCENARIO, "a scenario").map_err(|error| error.to_string())
}

fn name(path: &Path) -> String {
    path.file_stem().map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}

fn unknown_tag(tag: &str, mut known: Vec<String>) -> String {
    known.sort();
    known.dedup();
    match known.as_slice() {
        [] => format!("no scenario has the tag {tag:?}: none has a tag; write `tags: [{tag}]` in its file"),
        known => format!("no scenario has the tag {tag:?}; there are {}", known.join(", ")),
    }
}
