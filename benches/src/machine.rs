//! The circumstances of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::bench::Bench;

/// The machine, the moment and the programs of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The day and the minute of the start, in UTC.
    pub date: String,
    /// The number and model of the processors.
    pub processors: String,
    /// The version of the kernel.
    pub system: String,
    /// The last commit of the tree, with `+` if there are changes.
    pub commit: String,
    /// The versions of the compiler, of `pmcp` and of the peers.
    pub versions: BTreeMap<String, String>,
    /// The number of rounds.
    pub rounds: usize,
    /// The number of calls of a subject in a round.
    pub calls: usize,
    /// The load of the machine at the start of each round: runnable processes, the mean of one minute.
    pub load: Vec<f64>,
}

impl Machine {
    /// The circumstances now, before the first round.
    pub fn now(bench: &Bench) -> Self {
        let changes = said("git", &["status", "--porcelain", "--untracked-files=no"]);
        let mark = if changes.is_empty() { "" } else { "+" };
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        let mut versions =
            BTreeMap::from([("rustc".to_owned(), said(&rustc, &["--version"])), ("rmcp".to_owned(), locked("rmcp"))]);
        for (name, command) in bench.bridges() {
            versions.insert(name.to_owned(), program(Path::new(command.get_program())));
        }
        Self {
            date: date(),
            processors: processors(),
            system: system(),
            commit: said("git", &["rev-parse", "--short", "HEAD"]) + mark,
            versions,
            rounds: bench.options.rounds,
            calls: bench.options.calls,
            load: Vec::new(),
        }
    }

    /// Notes the load at the start of a round.
    pub fn note_load(&mut self) {
        self.load.extend(load());
    }

    /// One paragraph about the run.
    pub fn text(&self) -> String {
        let versions: Vec<_> = self.versions.iter().map(|(name, version)| format!("{name}: {version}")).collect();
        let load: Vec<_> = self.load.iter().map(|load| format!("{load:.1}")).collect();
        format!(
            "{}, {}, {}, commit {}; {}. Medians of {} rounds with {} calls, in each of which the subjects took turns; \
             load at the start of the rounds {}.",
            self.date,
            self.processors,
            self.system,
            self.commit,
            versions.join(", "),
            self.rounds,
            self.calls,
            load.join(", ")
        )
    }
}

/// The moment, the processors, the system and the load, for a measurement without rounds.
pub fn summary() -> String {
    let load = load().map_or_else(|| "unknown".to_owned(), |load| format!("{load:.1}"));
    format!("{}, {}, {}, load {load}", date(), processors(), system())
}

fn date() -> String {
    said("date", &["-u", "+%Y-%m-%d %H:%M UTC"])
}

fn system() -> String {
    format!("Linux {}", read("/proc/sys/kernel/osrelease").trim())
}

/// Runnable processes, the mean of one minute.
fn load() -> Option<f64> {
    read("/proc/loadavg").split(' ').next()?.parse().ok()
}

fn processors() -> String {
    let text = read("/proc/cpuinfo");
    let mut models = text.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = models.next().map_or("unknown", |(_, model)| model);
    let count = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{count} × {model}")
}

/// The version and the size of a program.
fn program(path: &Path) -> String {
    let size = fs::metadata(path).map_or(0, |file| file.len());
    format!("{} ({} kB)", said(&path.to_string_lossy(), &["--version"]), size / 1_000)
}

/// The version of a dependency in the lock file.
fn locked(package: &str) -> String {
    let text = read(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock"));
    let found = text.split_once(&format!("name = \"{package}\"\nversion = \""));
    found.and_then(|(_, rest)| rest.split('"').next()).unwrap_or("unknown").to_owned()
}

/// The first line that a command prints; empty if it fails.
fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let text = output.map_or_else(|_| Vec::new(), |output| output.stdout);
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
