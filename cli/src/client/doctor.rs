//! `pmcp doctor`: gathers the facts about a tool file and this machine. The findings are made of them elsewhere.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::net::{TcpListener, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{env, fs};

use protomcp_bridge::{Bridge, Command, ToolFile};
use protomcp_check::{Access, Facts, Program, Sdk, Socket, Start, diagnose};
use protomcp_client::{Client, ClientLimits, CommandTransport};

use crate::args::choices::Sdk as SdkChoice;
use crate::args::doctor::DoctorOptions;
use crate::args::report::Format;
use crate::args::tool::url_as_file;
use crate::client::printed;
use crate::exit::{self, Failure};
#[cfg(feature = "install")]
use crate::install::configured::configured;
use crate::lending;
use crate::served_file::ServedFile;
use crate::waiting;

/// The time of the trial start of a server with another SDK.
const START: Duration = Duration::from_secs(30);
/// The time for a server to end.
const CLOSE: Duration = Duration::from_secs(5);
/// The time of a program that prints its version.
const VERSION: Duration = Duration::from_secs(10);
/// The most directories that are counted for watches.
const MAX_DIRECTORIES: u64 = 100_000;
/// The longest source that is searched for the run function, in bytes.
const MAX_SOURCE: u64 = 4 << 20;

/// Prints what is wrong with the file.
pub(super) async fn doctor(options: DoctorOptions) -> Result<(), Failure> {
    let DoctorOptions { file, runtime, port, format, color } = options;
    color.apply();
    let of_machine = waiting::shown_blocking("looking at this machine", || of_machine(file.as_deref(), port));
    let facts = match &file {
        None => of_machine,
        Some(file) => {
            if let Some(failure) = url_as_file(file) {
                return Err(failure);
            }
            let tool = ToolFile::new(file).lend(lending::lender(SdkChoice::default()));
            let tool = runtime.iter().fold(tool, ToolFile::runtime);
            waiting::shown(&format!("trying {}", file.display()), of_file(of_machine, file, &tool)).await
        }
    };
    let report = diagnose(&facts);
    match format {
        Format::Text => exit::print_report(report.to_text()),
        Format::Json => exit::print(&exit::for_stdout(format!("{}\n", report.to_json()))),
    }?;
    if report.is_well() {
        return Ok(());
    }
    Err(match file {
        Some(file) => Failure::failed(format!("{} does not work yet", file.display())),
        None => Failure::failed("something is wrong: see the fixes"),
    })
}

/// The facts that need no start.
fn of_machine(file: Option<&Path>, port: Option<u16>) -> Facts {
    let project = file.unwrap_or(Path::new("."));
    Facts {
        file: file.map(Path::to_owned),
        #[cfg(feature = "install")]
        hosts: Some(configured(file)),
        socket: Some(socket()),
        port: port.map(|port| {
            let why = ("localhost", port)
                .to_socket_addrs()
                .map_or_else(Some, |all| cannot_listen(all.map(TcpListener::bind)));
            (port, why.map(|error| error.to_string()))
        }),
        watches: setting("max_user_watches").map(|allowed| (allowed, directories(project))),
        instances: setting("max_user_instances"),
        open_files: open_files(),
        ..Facts::default()
    }
}

/// The reason why a server cannot listen on the addresses of a name, of the attempts. As in `pmcp run`, none may be in use,
/// and this machine must have one of them.
fn cannot_listen<T>(attempts: impl Iterator<Item = io::Result<T>>) -> Option<io::Error> {
    let (mut is_open, mut failure) = (false, None);
    for attempt in attempts {
        match attempt {
            Ok(_) => is_open = true,
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Some(error),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.filter(|_| !is_open)
}

/// With the facts about a file.
async fn of_file(mut facts: Facts, file: &Path, tool: &ToolFile) -> Facts {
    let command = tool.command();
    let is_program = Path::new(command.program()).file_name() == file.file_name();
    facts.access = if tool.is_runnable() { access(file, is_program) } else { Access::Directory };
    if matches!(facts.access, Access::Missing | Access::Directory) {
        return facts;
    }
    facts.program = program(&command, is_program).await;
    if facts.access == Access::Fine && facts.program.is_found {
        if let Some(server) = tool.server_command() {
            facts.sdk = Some(Sdk::Other);
            facts.start = Some(start_server(file, server).await);
        } else {
            facts.sdk = sdk(file, &command).await;
            printed::keep_first();
            facts.start = Some(start(file, tool).await);
            facts.printed = printed::first();
        }
    }
    facts
}

fn access(file: &Path, is_program: bool) -> Access {
    let Ok(known) = fs::metadata(file) else { return Access::Missing };
    if known.is_dir() {
        return Access::Fine;
    }
    let Ok(open) = fs::File::open(file) else { return Access::Unreadable };
    if is_program && known.permissions().mode() & 0o111 == 0 {
        return Access::NotExecutable;
    }
    let mut first = Vec::new();
    let _unread = BufReader::new(open).take_line(&mut first);
    if is_program && first.starts_with(b"#!") && first.ends_with(b"\r\n") {
        Access::CarriageReturn
    } else {
        Access::Fine
    }
}

/// One line of bounded length.
trait TakeLine {
    fn take_line(self, line: &mut Vec<u8>) -> io::Result<usize>;
}

impl<R: BufRead> TakeLine for R {
    fn take_line(self, line: &mut Vec<u8>) -> io::Result<usize> {
        io::Read::take(self, 1024).read_until(b'\n', line)
    }
}

/// The program and its version, if it is an interpreter.
async fn program(command: &Command, is_program: bool) -> Program {
    let program = command.program();
    let name = program.to_string_lossy().into_owned();
    let stem = Path::new(program).file_name().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let (oldest, variable) = match stem.as_str() {
        stem if stem.starts_with("python") => (Some((3, 10)), Some("PROTOMCP_PYTHON")),
        stem if stem.starts_with("node") => (Some((20, 0)), Some("PROTOMCP_NODE")),
        "npx" => (None, Some("PROTOMCP_NODE")),
        _ => (None, None),
    };
    let is_found = is_found(program);
    let version = if is_found && !is_program {
        output(program, &[if stem == "go" { "version".into() } else { "--version".into() }], None).await
    } else {
        None
    };
    let version = version.and_then(|text| text.lines().next().map(ToOwned::to_owned));
    Program { name, is_found, version, oldest, variable }
}

fn is_found(program: &OsStr) -> bool {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.is_file();
    }
    env::var_os("PATH").is_some_and(|all| env::split_paths(&all).any(|directory| directory.join(path).is_file()))
}

/// The SDK that a file in Python or JavaScript finds.
async fn sdk(file: &Path, command: &Command) -> Option<Sdk> {
    match file.extension()?.to_str()? {
        "py" => {
            let code = "import protomcp, importlib.metadata as m\ntry: print(m.version('protomcp'))\nexcept Exception: print('without a version')";
            let python = command.program().to_string_lossy();
            // `uv` makes an environment of the packages that the file names.
            Path::new(command.program()).file_name().filter(|name| name.to_string_lossy().starts_with("python"))?;
            let version = output(command.program(), &["-c".into(), code.into()], file.parent()).await;
            let missing =
                || missing(format!("install the SDK for {python}, or use a pmcp with the feature bundled-sdks"));
            Some(version.map_or_else(missing, |version| Sdk::Found(version.trim().to_owned())))
        }
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "tsx" => {
            let absolute = std::path::absolute(file).ok()?;
            let manifest =
                |directory: &Path| fs::read_to_string(directory.join("node_modules/protomcp/package.json")).ok();
            let found = absolute.ancestors().skip(1).find_map(manifest);
            let version = |text: String| {
                serde_json::from_str::<serde_json::Value>(&text).ok()?["version"].as_str().map(ToOwned::to_owned)
            };
            let found = found.map(|text| Sdk::Found(version(text).unwrap_or_else(|| "without a version".into())));
            Some(found.unwrap_or_else(|| {
                missing("install the SDK next to the file, or use a pmcp with the feature bundled-sdks".into())
            }))
        }
        _ => None,
    }
}

/// No SDK is installed, and this program may have one to lend.
fn missing(install: String) -> Sdk {
    if cfg!(feature = "bundled-sdks") { Sdk::Lent } else { Sdk::Missing { install } }
}

/// The output of a program that succeeds within its time.
async fn output(program: &OsStr, arguments: &[OsString], directory: Option<&Path>) -> Option<String> {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    if let Some(directory) = directory.filter(|path| !path.as_os_str().is_empty()) {
        command.current_dir(directory);
    }
    let output = tokio::time::timeout(VERSION, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Starts the file once. It has the time that it has in `pmcp dev`: a project may compile first.
async fn start(file: &Path, tool: &ToolFile) -> Start {
    let began = Instant::now();
    match Bridge::tool_file(tool).start().await {
        Ok(bridge) => {
            let (took, tools) = (began.elapsed(), bridge.registered_tools().len());
            bridge.shutdown().await;
            Start::Ready { tools, took, calls_run: calls_run(file) }
        }
        Err(error) => Start::Failed(error.to_string()),
    }
}

/// Starts a server with another SDK once.
async fn start_server(file: &Path, command: Command) -> Start {
    let served = ServedFile::new(file, &[]);
    let began = Instant::now();
    let limits = ClientLimits { open_timeout: START, timeout: START, ..ClientLimits::default() };
    let client = Client::new("pmcp", env!("CARGO_PKG_VERSION")).limits(limits);
    // The error of a start has the last lines.
    let session = match client.spawn_transport(CommandTransport::new(command).on_stderr(|_| {})).await {
        Ok(session) => session,
        Err(error) => return Start::Failed(served.explain(&error.to_string())),
    };
    let (tools, took) = (session.list_all_tools().await, began.elapsed());
    session.close(CLOSE).await;
    match tools {
        Ok(tools) => Start::Ready { tools: tools.len(), took, calls_run: true },
        Err(error) => Start::Failed(format!("it does not list its tools: {error}")),
    }
}

/// True unless the file is Python that never calls a function `run`.
fn calls_run(file: &Path) -> bool {
    let is_python = file.extension().is_some_and(|extension| extension == "py");
    let is_short = fs::metadata(file).is_ok_and(|known| known.len() <= MAX_SOURCE);
    if !is_python || !is_short {
        return true;
    }
    fs::read_to_string(file).is_ok_and(|source| source.contains("run("))
}

/// The directory of the socket.
fn socket() -> Socket {
    let runtime = env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()).map(PathBuf::from);
    let parent = runtime.unwrap_or_else(env::temp_dir);
    let probe = parent.join(format!(".pmcp-doctor-{}", std::process::id()));
    let why = fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).err().map(|error| error.to_string());
    Socket { directory: parent, why }
}

/// A limit of inotify.
fn setting(name: &str) -> Option<u64> {
    fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok()
}

/// The directories next to and below the file, as far as they are watched.
fn directories(file: &Path) -> u64 {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let mut open = vec![if file.is_dir() { file.to_owned() } else { parent.to_owned() }];
    let mut count = 0;
    while let Some(directory) = open.pop() {
        count += 1;
        if count >= MAX_DIRECTORIES {
            break;
        }
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_skipped = name.to_string_lossy().starts_with('.') || name == "node_modules" || name == "target";
            if !is_skipped && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    count
}

/// The soft limit of open files.
fn open_files() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_of_a_port_may_be_in_use() {
        let (free, taken, foreign) = (Ok(()), Err(ErrorKind::AddrInUse), Err(ErrorKind::AddrNotAvailable));
        for (attempts, why) in [
            (&[free][..], None),
            (&[free, taken], Some(ErrorKind::AddrInUse)),
            (&[foreign, taken], Some(ErrorKind::AddrInUse)),
            (&[foreign, free], None),
            (&[foreign], Some(ErrorKind::AddrNotAvailable)),
        ] {
            let found = cannot_listen(attempts.iter().map(|attempt| attempt.map_err(io::Error::from)));
            assert_eq!(found.map(|error| error.kind()), why, "{attempts:?}");
        }
    }
}
