//! Measures the time from a save to the host's notification, compared with the bare start of the tool process, and
//! prints a table.
//!
//! `cargo run --release -p protomcp-benches --bin reload -- [--rounds N]`
//!
//! Each round measures three times for each tool: the lower bound, which starts the process and waits for its first
//! frame; a save after a pause; and a second save right after the notification of the first. Figures are medians of the
//! rounds. The Python tool takes part if `scripts/setup` has installed the published SDK.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use protomcp_benches::{Client, Measured, Programs, flags, millis};
use protomcp_codec::{Encoder, Limits};
use protomcp_envelope::{Envelope, ListToolsRequest};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The pause before a first save, long enough for the previous reload to settle.
const PAUSE: Duration = Duration::from_millis(2_500);
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

/// A tool file and its measurements.
struct Subject {
    name: &'static str,
    file: PathBuf,
    content: Vec<u8>,
    /// The interpreter of the file, unless the file is a program itself.
    interpreter: Option<PathBuf>,
    client: Client,
    start: Measured,
    first: Measured,
    second: Measured,
}

fn main() -> Outcome<()> {
    let [rounds] = flags([("--rounds", 15)])?;
    let programs = Programs::build()?;
    let folder = tempfile::tempdir()?;
    let mut subjects = vec![Subject::new(
        &programs,
        "native, answers everything",
        folder.path().join("native/tool"),
        fs::read(&programs.large_tool)?,
        None,
    )?];
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/py/bin/python");
    if python.exists() {
        let file = folder.path().join("python/tools.py");
        subjects.push(Subject::new(&programs, "Python, published SDK", file, ECHO.into(), Some(python))?);
    }
    for _ in 0..rounds {
        for subject in &mut subjects {
            subject.round(folder.path())?;
        }
    }
    let mut out = io::stdout();
    writeln!(
        out,
        "| save to `list_changed`, {rounds} rounds | start to first frame, ms | first save, ms | more than the start, ms | second save, ms | more than the start, ms |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
    for Subject { name, start, first, second, .. } in &subjects {
        let (start, first, second) = (start.median(), first.median(), second.median());
        let more = |save: Duration| millis(save.saturating_sub(start));
        writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} |",
            millis(start),
            millis(first),
            more(first),
            millis(second),
            more(second),
        )?;
    }
    Ok(())
}

impl Subject {
    /// Writes the file and serves it.
    fn new(
        programs: &Programs,
        name: &'static str,
        file: PathBuf,
        content: Vec<u8>,
        interpreter: Option<PathBuf>,
    ) -> Outcome<Self> {
        fs::create_dir_all(file.parent().ok_or("a file lies in a folder")?)?;
        write(&file, &content)?;
        let mut command = Command::new(&programs.pmcp);
        command.envs(environment()).arg("dev").arg(&file);
        if let Some(python) = &interpreter {
            command.env("PROTOMCP_PYTHON", python);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut client = Client::new(command)?;
        client.handshake()?;
        let [start, first, second] = [Measured::default(), Measured::default(), Measured::default()];
        Ok(Self { name, file, content, interpreter, client, start, first, second })
    }

    fn round(&mut self, folder: &Path) -> Outcome<()> {
        thread::sleep(PAUSE);
        let start = self.start(folder)?;
        self.start.push(start);
        let first = self.save()?;
        self.first.push(first);
        let second = self.save()?;
        self.second.push(second);
        Ok(())
    }

    /// Starts the process and takes its first frame, the answer to the bridge's first request.
    fn start(&self, folder: &Path) -> Outcome<Duration> {
        let path = folder.join("floor");
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        let mut question = Vec::new();
        Encoder::new(Limits::default()).encode_envelope(&Envelope::new("1", ListToolsRequest {}), &mut question)?;
        let mut words = self.interpreter.iter().map(|path| OsString::from(path.as_os_str())).collect::<Vec<_>>();
        words.push(self.file.clone().into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(environment()).env("PROTOMCP_SOCKET", &path).env("PYTHONUNBUFFERED", "1");
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
    fn save(&mut self) -> Outcome<Duration> {
        let draft = self.file.with_file_name(".draft");
        write(&draft, &self.content)?;
        let saved = Instant::now();
        fs::rename(&draft, &self.file)?;
        self.client.line_with("notifications/tools/list_changed")?;
        Ok(saved.elapsed())
    }
}

/// The native tool makes its large result before it connects; a small one is made immediately.
fn environment() -> [(&'static str, &'static str); 1] {
    [("LARGE_SIZE", "1000")]
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
