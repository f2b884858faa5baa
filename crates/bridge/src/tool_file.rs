//! The program that runs a tool file, by the extension of the file.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protomcp_lend::{Lender, Runtime, file_url};
use protomcp_supervisor::Command;
use protomcp_watch::{Filter, Watch};

use crate::cargo_project::CargoProject;
use crate::compat::python_bootstrap;
use crate::launch::{Fallback, Launch, Lending, Reason, TYPES_ARE_READ, types_are_needed};
use crate::other_sdk::{self, Language};
use crate::python_environment::{self, Found};
use crate::python_file::{Metadata, PythonFile, WITHOUT_UV};

/// Interpreters connect within a second or two; this allows for a machine under load.
const SOON: Duration = Duration::from_secs(30);
/// Programs that may have to download or compile first.
const PATIENT: Duration = Duration::from_secs(600);

/// A file with tools, or the directory of a Cargo project, and the program that runs it.
#[derive(Debug, Clone)]
pub struct ToolFile {
    path: PathBuf,
    runtime: Option<OsString>,
    lender: Option<Lender>,
}

/// The part of the environment that selects a program, so that tests need no real one.
struct Surroundings<'a> {
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    on_path: &'a dyn Fn(&str) -> bool,
}

/// The kinds of tool files, by their extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Python,
    JavaScript,
    TypeScript,
    Go,
    /// The file is a program itself.
    Program,
}

impl Kind {
    fn of(extension: &str) -> Self {
        match extension {
            "py" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" | "tsx" => Self::TypeScript,
            "go" => Self::Go,
            _ => Self::Program,
        }
    }
}

impl ToolFile {
    /// The file at `path`; relative paths are relative to the working directory, which the process inherits.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), runtime: None, lender: None }
    }

    /// Runs the file with this program instead of the one its extension suggests: one executable, not split at blanks.
    pub fn runtime(mut self, program: impl Into<OsString>) -> Self {
        self.runtime = Some(program.into());
        self
    }

    /// Lends an SDK to the interpreter of a Python, JavaScript or TypeScript file. By default nothing is lent.
    pub fn lend(mut self, lender: Lender) -> Self {
        self.lender = Some(lender);
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The command that runs it, by its extension and the environment.
    pub fn command(&self) -> Command {
        self.launch().command
    }

    /// The command that runs the file, if its imports say that it is an MCP server with another SDK, such as FastMCP or one
    /// of the official ones. Such a file speaks MCP on its standard input and output, and has no tools for a bridge.
    pub fn server_command(&self) -> Option<Command> {
        let language = match Kind::of(&self.lower_extension()) {
            Kind::Python => Language::Python,
            Kind::JavaScript | Kind::TypeScript => Language::JavaScript,
            Kind::Go | Kind::Program => return None,
        };
        other_sdk::is_used_by(&self.path, language).then(|| self.final_command(self.launch()))
    }

    /// The command of a launch whose second command does not follow.
    fn final_command(&self, launch: Launch) -> Command {
        match launch.fallback {
            Some(Fallback { reason: Reason::TypesUnread, .. }) => {
                self.javascript(Command::new("node").arg("--import").arg(types_are_needed()), PATIENT).command
            }
            _ => launch.command,
        }
    }

    /// True if there is something to run: a file, or the directory of a Cargo project.
    pub fn is_runnable(&self) -> bool {
        !self.path.is_dir() || CargoProject::of(&self.path).is_some()
    }

    /// The files of the program: the sources next to the file, or the sources of its Cargo project.
    pub fn watch(&self) -> Watch {
        match CargoProject::of(&self.path) {
            Some(project) => {
                let filter = Filter::source(project.manifest()).always(&self.path);
                Watch::directory(project.root(), filter)
            }
            None => Watch::file(&self.path),
        }
    }

    /// The sources next to the target of a link, without the target itself, which [`watch`](Self::watch) follows:
    /// interpreters look for modules there. `None` for a file, and for a link to one among the files of `watch`.
    pub fn watch_target(&self) -> Option<Watch> {
        let watch = self.watch();
        let (target, root) = (self.path.canonicalize().ok()?, watch.root.canonicalize().ok()?);
        let is_elsewhere = !target.starts_with(root) && CargoProject::of(&self.path).is_none();
        let directory = target.parent().filter(|_| is_elsewhere)?;
        Some(Watch::directory(directory, Filter::next_to(&target)))
    }

    /// The extension of the files to watch; `None` if the file has none.
    pub(crate) fn extension(&self) -> Option<&str> {
        self.path.extension()?.to_str()
    }

    fn lower_extension(&self) -> String {
        self.extension().unwrap_or_default().to_ascii_lowercase()
    }

    pub(crate) fn launch(&self) -> Launch {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        self.launch_in(&Surroundings { variable: &variable, on_path: &on_path })
    }

    fn launch_in(&self, around: &Surroundings<'_>) -> Launch {
        let kind = Kind::of(&self.lower_extension());
        if let Some(runtime) = &self.runtime {
            let command = Command::new(runtime.clone());
            return match kind {
                Kind::Python => self.python(command, PythonFile::read(&self.path).only_declares, PATIENT),
                Kind::JavaScript | Kind::TypeScript => self.javascript(command, PATIENT),
                Kind::Go | Kind::Program => Launch::of(command.arg(&self.path), PATIENT),
            };
        }
        if let Some(project) = CargoProject::of(&self.path) {
            return Launch::of(project.command(), PATIENT);
        }
        let node = || (around.variable)("PROTOMCP_NODE");
        match kind {
            Kind::Python => self.python_in(around),
            Kind::JavaScript => self.javascript(Command::new(node().unwrap_or_else(|| "node".into())), SOON),
            Kind::TypeScript => match node() {
                Some(node) => self.javascript(Command::new(node), SOON),
                None => self.typescript(),
            },
            Kind::Go => Launch::of(Command::new("go").arg("run").arg(&self.path), PATIENT),
            Kind::Program => Launch::of(Command::new(self.program()), SOON),
        }
    }

    /// The Python that the environment, the file or its project names.
    fn python_in(&self, around: &Surroundings<'_>) -> Launch {
        let has_uv = (around.on_path)("uv");
        let PythonFile { metadata, only_declares } = PythonFile::read(&self.path);
        match ((around.variable)("PROTOMCP_PYTHON"), metadata) {
            (Some(python), _) => self.python(Command::new(python), only_declares, SOON),
            (None, Some(metadata)) if has_uv => self.script(&metadata, only_declares),
            (None, None) if has_uv && self.has_ancestor("pyproject.toml") => {
                self.python(Command::new("uv").args(["run", "python"]), only_declares, PATIENT)
            }
            (None, metadata) => {
                let is_active = (around.variable)("VIRTUAL_ENV").is_some();
                let Found { python: own, unused } =
                    if is_active { Found::default() } else { python_environment::search(self.folders()) };
                let note = own.as_ref().map(|python| format!("{} runs {}", python.display(), self.path.display()));
                let python = Command::new(own.unwrap_or_else(|| "python3".into()));
                let launch = self.python(python, only_declares, SOON);
                let warnings = metadata.map(|_| WITHOUT_UV.to_owned()).into_iter().chain(unused).collect();
                Launch { warnings, note, ..launch }
            }
        }
    }

    /// `python <file>`, and the bootstrap for a file that does not run its tools. One that cannot has the bootstrap alone.
    fn python(&self, python: Command, only_declares: bool, connect_timeout: Duration) -> Launch {
        let python = unbuffered(python);
        let bootstrap = python_bootstrap::command(&python, &self.path);
        self.python_launch(python.arg(&self.path), bootstrap, only_declares, connect_timeout)
    }

    /// `uv run --script <file>`, with the packages that the file names, and the bootstrap as for any Python file.
    fn script(&self, metadata: &Metadata, only_declares: bool) -> Launch {
        // The same Python and the same packages for a command that is not the script.
        let mut packages = Command::new("uv").args(["run", "--no-project"]);
        if let Some(versions) = &metadata.requires_python {
            packages = packages.arg("--python").arg(versions);
        }
        let packages = packages.arg("--with-requirements").arg(&self.path).arg("python");
        let bootstrap = python_bootstrap::command(&unbuffered(packages), &self.path);
        let command = unbuffered(Command::new("uv").args(["run", "--script"])).arg(&self.path);
        self.python_launch(command, bootstrap, only_declares, PATIENT)
    }

    fn python_launch(&self, file: Command, bootstrap: Command, only_declares: bool, timeout: Duration) -> Launch {
        let (command, fallback) = if only_declares { (bootstrap, None) } else { (file, Some(bootstrap)) };
        Launch {
            fallback: fallback.map(|command| Fallback { command, reason: Reason::ToolsNotRun }),
            concurrency: 1,
            python: true,
            lending: self.lending(Runtime::Python),
            ..Launch::of(command, timeout)
        }
    }

    /// `node <file>`, with whatever arguments the command has already. Deno runs it with the rights that Node gives.
    fn javascript(&self, node: Command, connect_timeout: Duration) -> Launch {
        let runtime = Runtime::of_javascript(node.program());
        let node = if runtime == Runtime::Deno { node.args(["run", "--allow-all"]) } else { node };
        Launch { concurrency: 1, lending: self.lending(runtime), ..Launch::of(node.arg(&self.path), connect_timeout) }
    }

    /// `node` with the tsx that is installed for the file; otherwise `node` alone, or `npx` with a tsx that is installed
    /// elsewhere if it cannot read the file. Without these flags `npx` would download one without a question, because its
    /// standard input is not a terminal.
    fn typescript(&self) -> Launch {
        let node = Command::new("node").arg("--import");
        if let Some(loader) = self.folders().iter().find_map(|folder| tsx_loader(folder)) {
            return self.javascript(node.arg(loader), SOON);
        }
        let tsx = self.javascript(Command::new("npx").args(["--no", "--offline", "tsx"]), PATIENT);
        // Node leaves JSX to others.
        if self.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsx")) {
            return tsx;
        }
        let fallback = Fallback { command: tsx.command, reason: Reason::TypesUnread };
        Launch { fallback: Some(fallback), ..self.javascript(node.arg(TYPES_ARE_READ), PATIENT) }
    }

    fn lending(&self, runtime: Runtime) -> Lending {
        Lending::new(self.lender.as_ref(), runtime, &self.path)
    }

    /// A bare name would be looked up on the search path.
    fn program(&self) -> PathBuf {
        if self.path.components().count() == 1 { Path::new(".").join(&self.path) } else { self.path.clone() }
    }

    fn has_ancestor(&self, name: &str) -> bool {
        self.folders().iter().any(|folder| folder.join(name).is_file())
    }

    /// The folders above the file, the nearest first. Those above the target of a link follow.
    fn folders(&self) -> Vec<PathBuf> {
        let named = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let real = self.path.canonicalize().unwrap_or_else(|_| named.clone());
        let above = |path: &Path| path.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>();
        let mut folders = above(&named);
        folders.extend(above(&real).into_iter().filter(|folder| !named.starts_with(folder)));
        folders
    }
}

/// Lines of the tool reach the log when they are printed, also before a crash.
fn unbuffered(python: Command) -> Command {
    python.env("PYTHONUNBUFFERED", "1")
}

/// The URL of the module that makes Node read TypeScript, if tsx is installed in this folder.
fn tsx_loader(folder: &Path) -> Option<String> {
    let loader = folder.join("node_modules/tsx/dist/loader.mjs");
    loader.is_file().then(|| file_url(&loader))
}

fn on_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|directory| directory.join(program).is_file()))
}

#[cfg(test)]
mod tests;
