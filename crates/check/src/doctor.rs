//! The reasons why a tool file does not work, and their fixes: facts about a machine in, findings out.
//!
//! [`Facts`] is a value: the program that gathers it runs commands and reads files. [`diagnose`] decides.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

/// The longest path of a socket on Linux, in bytes, with its end.
const SOCKET_PATH: usize = 107;
/// The watches that a project of usual size needs, including the watches of an editor.
const WATCHES: u64 = 8192;
/// The descriptors that a tool with some connections needs.
const OPEN_FILES: u64 = 256;
/// The longest line of a process that a finding repeats, in characters.
const MAX_LINE: usize = 100;
/// The most servers of hosts that are findings.
const MAX_HOSTS: usize = 50;
/// Hosts with the least patience wait this long for the first list.
const PATIENCE: Duration = Duration::from_secs(3);

/// The facts about a tool file and the machine. `None`: not known, or of no matter.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The file as it was named; without one, the facts are about the machine.
    pub file: Option<PathBuf>,
    /// Its state.
    pub access: Access,
    /// The program that runs it.
    pub program: Program,
    /// The SDK that it finds.
    pub sdk: Option<Sdk>,
    /// The outcome of a trial start.
    pub start: Option<Start>,
    /// The first line that the trial start has printed on standard output.
    pub printed: Option<String>,
    /// The files of hosts with servers that start the file; without a file, with those that run this program.
    pub hosts: Option<Vec<Configured>>,
    /// The directory for the socket.
    pub socket: Option<Socket>,
    /// A port that the user has named, and the reason why it cannot be used, if there is one.
    pub port: Option<(u16, Option<String>)>,
    /// The watches of inotify that a user may have, and those that this project needs.
    pub watches: Option<(u64, u64)>,
    /// The instances of inotify that a user may have.
    pub instances: Option<u64>,
    /// The soft limit of open files.
    pub open_files: Option<u64>,
}

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// It can be used.
    #[default]
    Fine,
    /// There is no such file.
    Missing,
    /// This user cannot read it.
    Unreadable,
    /// It is a directory without a program to run.
    Directory,
    /// It is run as a program, and is not executable.
    NotExecutable,
    /// It is a script whose first line ends with a carriage return, which the system takes for a part of the program's name.
    CarriageReturn,
}

/// The program that runs a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// Its name or path.
    pub name: String,
    /// It was found.
    pub is_found: bool,
    /// Its version, as it prints it.
    pub version: Option<String>,
    /// The oldest version with which the SDKs work, as numbers.
    pub oldest: Option<(u32, u32)>,
    /// The environment variable that names another one.
    pub variable: Option<&'static str>,
}

/// The SDK that a file finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sdk {
    /// This version.
    Found(String),
    /// None, and the bridge lends one.
    Lent,
    /// The SDK of another project: the file is an MCP server by itself.
    Other,
    /// None.
    Missing {
        /// The way to one.
        install: String,
    },
}

/// The outcome of a trial start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// It has registered this many tools in this time. `calls_run`: the file has called its SDK's run function itself.
    Ready {
        /// The tools.
        tools: usize,
        /// The time from the start to the list.
        took: Duration,
        /// The source calls the run function of its SDK.
        calls_run: bool,
    },
    /// It has failed, with this reason.
    Failed(String),
}

/// The directory for the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// The directory.
    pub directory: PathBuf,
    /// The reason why no socket can be made there, if there is one.
    pub why: Option<String>,
}

/// A server in the file of a host, or a file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The host and the server that it starts, as a sentence; or that there is none.
    pub found: String,
    /// The reason why the host cannot start it, if there is one.
    pub fault: Option<String>,
    /// The step that puts it right.
    pub fix: String,
}

/// The weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It is as it should be.
    Good,
    /// It works, and may fail later.
    Doubtful,
    /// It does not work.
    Bad,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The part, such as `interpreter`.
    pub part: &'static str,
    /// Its state.
    pub health: Health,
    /// The state in words.
    pub found: String,
    /// The next step; empty for a good one.
    pub fix: String,
}

/// All findings about a tool file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnoses(pub Vec<Diagnosis>);

/// The findings about each part.
#[must_use]
pub fn diagnose(facts: &Facts) -> Diagnoses {
    let mut all: Vec<Diagnosis> = facts.file.as_deref().map(|name| file(name, facts.access)).into_iter().collect();
    if facts.file.is_some() && !matches!(facts.access, Access::Missing | Access::Directory) {
        all.push(program(&facts.program));
        let is_started = matches!(facts.start, Some(Start::Ready { .. }));
        all.extend(facts.sdk.as_ref().map(|found| sdk(found, is_started)));
        all.extend(facts.start.iter().flat_map(start));
        all.extend(facts.printed.as_deref().map(output));
    }
    all.extend(facts.hosts.iter().flat_map(|hosts| self::hosts(hosts)));
    all.extend(facts.socket.as_ref().map(socket));
    all.extend(facts.port.as_ref().map(|(port, why)| self::port(*port, why.as_deref())));
    all.extend(facts.watches.map(|(allowed, needed)| watches(allowed, needed)));
    all.extend(facts.instances.map(instances));
    all.extend(facts.open_files.map(open_files));
    Diagnoses(all)
}

fn good(part: &'static str, found: impl Into<String>) -> Diagnosis {
    Diagnosis { part, health: Health::Good, found: found.into(), fix: String::new() }
}

fn doubtful(part: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Diagnosis {
    Diagnosis { part, health: Health::Doubtful, found: found.into(), fix: fix.into() }
}

fn bad(part: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Diagnosis {
    Diagnosis { part, health: Health::Bad, found: found.into(), fix: fix.into() }
}

fn file(name: &Path, access: Access) -> Diagnosis {
    let (part, name) = ("file", name.display());
    match access {
        Access::Fine => good(part, name.to_string()),
        Access::Missing => bad(part, format!("there is no {name}"), "correct the path; a host needs an absolute one"),
        Access::Unreadable => {
            bad(part, format!("{name} cannot be read"), format!("chmod u+r {name}, or change its owner"))
        }
        Access::Directory => bad(part, format!("{name} is a directory"), "name the tool file in it"),
        Access::NotExecutable => bad(part, format!("{name} is not executable"), format!("chmod +x {name}")),
        Access::CarriageReturn => {
            let fix = "save it with line ends of Unix, with `sed -i 's/\\r$//'` for example";
            bad(part, format!("the first line of {name} ends with a carriage return"), fix)
        }
    }
}

fn program(program: &Program) -> Diagnosis {
    let part = "interpreter";
    let Program { name, is_found, version, oldest, variable } = program;
    let other = variable.map(|variable| format!(", or set {variable} to the path of one")).unwrap_or_default();
    if !is_found {
        return bad(part, format!("{name} was not found"), format!("install it{other}"));
    }
    let Some(version) = version else { return good(part, name.clone()) };
    match (oldest, numbers(version)) {
        (Some(oldest), Some(numbers)) if numbers < *oldest => {
            let fix = format!("the SDKs need {}.{} or later: install it{other}", oldest.0, oldest.1);
            bad(part, format!("{name} is {version}"), fix)
        }
        _ => good(part, format!("{name}, {version}")),
    }
}

/// The first two numbers of a version such as `Python 3.11.2` or `v20.1.0`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let start = version.find(|c: char| c.is_ascii_digit())?;
    let mut parts = version[start..].split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn sdk(sdk: &Sdk, is_started: bool) -> Diagnosis {
    match sdk {
        Sdk::Missing { .. } if is_started => good("sdk", "not installed, and not needed: the file starts"),
        Sdk::Lent => good("sdk", "not installed; pmcp lends its own"),
        Sdk::Other => good("sdk", "another one: the file is an MCP server, which pmcp serves as a command"),
        Sdk::Found(version) => good("sdk", format!("protomcp {version}")),
        Sdk::Missing { install } => bad("sdk", "the interpreter finds no SDK", install.clone()),
    }
}

fn start(start: &Start) -> Vec<Diagnosis> {
    match start {
        Start::Failed(why) => {
            let fix = "see the reason; `pmcp run FILE` shows everything that the process prints";
            vec![bad("start", why.clone(), fix)]
        }
        Start::Ready { tools: 0, .. } => {
            vec![bad("start", "it registers no tool", "declare tools before the run function of the SDK is called")]
        }
        Start::Ready { tools, took, calls_run } => {
            let shown = format!("{tools} {} after {took:.1?}", if *tools == 1 { "tool" } else { "tools" });
            let mut all = vec![if took > &PATIENCE {
                doubtful(
                    "start",
                    shown,
                    format!(
                        "hosts may wait {PATIENCE:?} only: import and connect later, in the first call for example"
                    ),
                )
            } else {
                good("start", shown)
            }];
            if !calls_run {
                all.push(good("run", "called by pmcp; for other bridges the file ends with protomcp.run()"));
            }
            all
        }
    }
}

/// A line on standard output. The bridge logs it; without a bridge it breaks the session.
fn output(line: &str) -> Diagnosis {
    let shown: String = line.chars().take(MAX_LINE).collect();
    let fix = "print to standard error (in Python print(…, file=sys.stderr), in JavaScript console.error): a host that starts \
               the file without pmcp reads messages there";
    doubtful("output", format!("it prints to standard output while it starts: {shown:?}"), fix)
}

/// The hosts that have the file, or without one those that have any server of this program.
fn hosts(all: &[Configured]) -> Vec<Diagnosis> {
    let one = |Configured { found, fault, fix }: &Configured| match fault {
        None => good("host", found.clone()),
        Some(fault) => bad("host", format!("{found}\n{fault}"), fix.clone()),
    };
    all.iter().take(MAX_HOSTS).map(one).collect()
}

fn socket(socket: &Socket) -> Diagnosis {
    let Socket { directory, why } = socket;
    let (part, shown) = ("socket", directory.display());
    // The name is `pmcp-<pid>-<64 random bits>.sock` at most.
    let name = 40;
    if let Some(why) = why {
        let fix = "set XDG_RUNTIME_DIR to a directory that only you can write, or name a path with --socket";
        return bad(part, format!("{shown}: {why}"), fix);
    }
    if directory.as_os_str().len() + name > SOCKET_PATH {
        let fix = "set XDG_RUNTIME_DIR to a shorter path, or name one with --socket";
        return bad(part, format!("{shown} is too long for a socket, whose path has {SOCKET_PATH} bytes at most"), fix);
    }
    good(part, shown.to_string())
}

fn port(port: u16, why: Option<&str>) -> Diagnosis {
    match why {
        None => good("port", format!("{port} is free")),
        Some(why) => {
            bad("port", format!("{port}: {why}"), "name another one with --port, or end the program that has it")
        }
    }
}

fn watches(allowed: u64, needed: u64) -> Diagnosis {
    let part = "watches";
    let fix = "sudo sysctl fs.inotify.max_user_watches=524288, or use --poll 1s";
    if allowed < needed {
        return bad(part, format!("{allowed} watches of inotify are allowed, and this project needs {needed}"), fix);
    }
    if allowed < WATCHES {
        return doubtful(part, format!("{allowed} watches of inotify are allowed, which editors use as well"), fix);
    }
    good(part, format!("{allowed} allowed, {needed} needed"))
}

fn instances(allowed: u64) -> Diagnosis {
    let fix = "sudo sysctl fs.inotify.max_user_instances=512, or use --poll 1s";
    match allowed {
        0..16 => doubtful("watchers", format!("{allowed} programs may watch files concurrently"), fix),
        _ => good("watchers", format!("{allowed} programs may watch files concurrently")),
    }
}

fn open_files(limit: u64) -> Diagnosis {
    if limit < OPEN_FILES {
        doubtful("open files", format!("at most {limit}"), "ulimit -n 1024 before pmcp starts")
    } else {
        good("open files", format!("at most {limit}"))
    }
}

impl Diagnoses {
    /// True if nothing is bad.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.0.iter().all(|one| one.health < Health::Bad)
    }

    /// The findings for people, with their fixes.
    #[must_use]
    pub fn to_text(&self) -> String {
        let width = self.0.iter().map(|one| one.part.len()).max().unwrap_or_default();
        self.0.iter().fold(String::new(), |mut text, one| {
            let mark = match one.health {
                Health::Good => '✓',
                Health::Doubtful => '!',
                Health::Bad => '✗',
            };
            let indent = format!("\n{:width$}    ", "");
            text.push_str(&format!("{mark} {:width$}  {}\n", one.part, one.found.trim_end().replace('\n', &indent)));
            if !one.fix.is_empty() {
                text.push_str(&format!("  {:width$}  fix: {}\n", "", one.fix));
            }
            text
        })
    }

    /// The findings for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let one = |one: &Diagnosis| {
            let health = format!("{:?}", one.health).to_lowercase();
            json!({"part": one.part, "health": health, "found": one.found, "fix": one.fix})
        };
        json!({"checks": self.0.iter().map(one).collect::<Vec<_>>(), "well": self.is_well()})
    }
}

#[cfg(test)]
mod tests;
