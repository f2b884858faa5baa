//! From a save to the client's notification, compared with the bare start of the tool process.
//!
//! Each round has the lower bound, which starts the process and waits for its first frame; a save; and a second save
//! right after the notification of the first. The Python tool takes part if `scripts/setup` has installed the published
//! SDK.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use protomcp_codec::{Encoder, Limits};
use protomcp_envelope::{Envelope, ListToolsRequest};

use crate::bench::{Bench, Outcome};
use crate::client::Client;
use crate::measurement::{Measurement, Meter, Row};
use crate::subject::{Tools, environment};

/// The name of this part.
pub const PART: &str = "reload";
/// The name of the lower bound.
pub const ALONE: &str = "the tool process alone";
/// The name of the native tool.
pub const NATIVE: &str = "native";
/// The name of the tool in Python.
pub const PYTHON: &str = "Python, published SDK";

/// The pause before a first save, in which the watch begins.
const PAUSE: Duration = Duration::from_millis(1_500);
/// The time limit for a process to connect.
const PATIENCE: Duration = Duration::from_secs(30);

const ECHO: &str = "\
from protomcp import tool
from protomcp.runner import run


@tool(\"Says the text again.\")
def echo(text: str) -> str:
    return text


run()
";

/// A tool file.
struct ToolFile {
    name: &'static str,
    path: PathBuf,
    content: Vec<u8>,
    /// The interpreter of the file, unless the file is a program itself.
    interpreter: Option<PathBuf>,
}

/// The case of the start of a tool's process.
pub fn start_case(tool: &str) -> String {
    format!("{tool}: start to first frame")
}

/// The case of a save, the first or the second.
pub fn save_case(tool: &str, save: &str) -> String {
    format!("{tool}: {save} save to list_changed")
}

/// Starts each tool alone and saves its file twice.
///
/// # Errors
///
/// If a program cannot be started, or does not answer.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for tool in tools(bench)? {
        out.add(Row::new(PART, start_case(tool.name), ALONE).timed(vec![tool.start(bench.folder())?]));
        for (name, mut command) in bench.bridges() {
            command.arg("dev").arg(&tool.path).envs(environment(Tools::Answering));
            if let Some(python) = &tool.interpreter {
                command.env("PROTOMCP_PYTHON", python);
            }
            let mut client = Client::start(&mut command)?;
            client.handshake()?;
            thread::sleep(PAUSE);
            for save in ["first", "second"] {
                let meter = Meter::new(client.pid());
                let took = tool.save(&mut client)?;
                let row = Row::new(PART, save_case(tool.name, save), name);
                out.add(row.spent(&meter.read(), 1).timed(vec![took]));
            }
        }
    }
    Ok(())
}

/// Writes the files.
fn tools(bench: &Bench) -> Outcome<Vec<ToolFile>> {
    let (path, content) = (bench.folder().join("native/tool"), fs::read(&bench.programs.large_tool)?);
    let mut tools = vec![ToolFile { name: NATIVE, path, content, interpreter: None }];
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/py/bin/python");
    if python.exists() {
        let path = bench.folder().join("python/tools.py");
        tools.push(ToolFile { name: PYTHON, path, content: ECHO.into(), interpreter: Some(python) });
    }
    for tool in &tools {
        fs::create_dir_all(tool.path.parent().ok_or("a file lies in a folder")?)?;
        write(&tool.path, &tool.content)?;
    }
    Ok(tools)
}

impl ToolFile {
    /// Starts the process and takes its first frame, the answer to the bridge's first request.
    fn start(&self, folder: &Path) -> Outcome<Duration> {
        let path = folder.join("floor");
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        let mut question = Vec::new();
        Encoder::new(Limits::default()).encode_envelope(&Envelope::new("1", ListToolsRequest {}), &mut question)?;
        let mut command = match &self.interpreter {
            Some(python) => Command::new(python),
            None => Command::new(&self.path),
        };
        command.args(self.interpreter.as_ref().map(|_| &self.path)).envs(environment(Tools::Answering));
        command.env("PROTOMCP_SOCKET", &path).env("PYTHONUNBUFFERED", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn()?;
        let mut stream = accept(&listener, started + PATIENCE)?;
        stream.write_all(&question)?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut frame = vec![0; usize::try_from(u32::from_be_bytes(length))?];
        stream.read_exact(&mut frame)?;
        let took = started.elapsed();
        drop(stream);
        child.kill()?;
        child.wait()?;
        fs::remove_file(&path)?;
        Ok(took)
    }

    /// Saves the file by a rename, as editors do, and waits for the notification.
    fn save(&self, client: &mut Client) -> Outcome<Duration> {
        let draft = self.path.with_file_name(".draft");
        write(&draft, &self.content)?;
        let saved = Instant::now();
        fs::rename(&draft, &self.path)?;
        client.line_with("notifications/tools/list_changed")?;
        Ok(saved.elapsed())
    }
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    fs::write(path, content)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn accept(listener: &UnixListener, until: Instant) -> io::Result<UnixStream> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => {
                thread::sleep(Duration::from_micros(100));
            }
            Err(error) => return Err(error),
        }
    }
}
