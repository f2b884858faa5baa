//! The program that runs a tool file, by the extension of the file (wire contract §2.2).

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protomcp_supervisor::Command;
use protomcp_watch::{Filter, Watch};

use crate::cargo_project::CargoProject;
use crate::compat::python_bootstrap;

/// Interpreters connect within a second or two; this allows for a machine under load.
const SOON: Duration = Duration::from_secs(30);
/// Programs that may have to download or compile first.
const PATIENT: Duration = Duration::from_secs(600);
/// Concurrent calls of a process that reads its socket without a pause.
const CONCURRENT: usize = 256;

/// A file with tools, or the directory of a Cargo project, and the program that runs it.
#[derive(Debug, Clone)]
pub struct ToolFile {
    path: PathBuf,
    runtime: Option<OsString>,
}

/// The command, and the expected behaviour of its process.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) command: Command,
    pub(crate) bootstrap: Option<Command>,
    pub(crate) connect_timeout: Duration,
    pub(crate) concurrency: usize,
    /// The program is Python, of which one published SDK reads its socket from two threads.
    pub(crate) python: bool,
}

/// The part of the environment that selects a program, so that tests need no real one.
struct Surroundings<'a> {
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    on_path: &'a dyn Fn(&str) -> bool,
}

impl ToolFile {
    /// The file at `path`; relative paths are relative to the working directory, which the process inherits.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), runtime: None }
    }

    /// Runs the file with this program instead of the one its extension suggests: one executable, not split at blanks.
    pub fn runtime(mut self, program: impl Into<OsString>) -> Self {
        self.runtime = Some(program.into());
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if there is something to run: a file, or the directory of a Cargo project.
    pub fn is_runnable(&self) -> bool {
        !self.path.is_dir() || CargoProject::of(&self.path).is_some()
    }

    /// The files of the program: the sources beside the file, or those of its Cargo project.
    pub fn watch(&self) -> Watch {
        match CargoProject::of(&self.path) {
            Some(project) => {
                let filter = Filter::source(project.manifest()).always(&self.path);
                Watch::directory(project.root(), filter)
            }
            None => Watch::file(&self.path),
        }
    }

    /// The extension of the files to watch; `None` if the file has none.
    pub(crate) fn extension(&self) -> Option<&str> {
        self.path.extension()?.to_str()
    }

    pub(crate) fn launch(&self) -> Launch {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        self.launch_in(&Surroundings { variable: &variable, on_path: &on_path })
    }

    fn launch_in(&self, around: &Surroundings<'_>) -> Launch {
        let extension = self.extension().unwrap_or_default();
        let serial = matches!(extension, "py" | "ts" | "js" | "mts" | "mjs" | "cjs" | "tsx" | "jsx");
        let concurrency = if serial { 1 } else { CONCURRENT };
        let launch =
            |command, connect_timeout| Launch { command, bootstrap: None, connect_timeout, concurrency, python: false };
        if let Some(runtime) = &self.runtime {
            let command = Command::new(runtime.clone());
            return match extension {
                "py" => self.python(command, PATIENT, concurrency),
                _ => launch(command.arg(&self.path), PATIENT),
            };
        }
        if let Some(project) = CargoProject::of(&self.path) {
            return launch(project.command(), PATIENT);
        }
        match extension {
            "py" => match (around.variable)("PROTOMCP_PYTHON") {
                Some(python) => self.python(Command::new(python), SOON, concurrency),
                None if (around.on_path)("uv") && self.has_ancestor("pyproject.toml") => {
                    self.python(Command::new("uv").args(["run", "python"]), PATIENT, concurrency)
                }
                None => self.python(Command::new("python3"), SOON, concurrency),
            },
            "ts" | "mts" | "tsx" => match (around.variable)("PROTOMCP_NODE") {
                Some(node) => launch(Command::new(node).arg(&self.path), SOON),
                None => launch(Command::new("npx").arg("tsx").arg(&self.path), PATIENT),
            },
            "js" | "mjs" | "cjs" | "jsx" => {
                let node = (around.variable)("PROTOMCP_NODE").unwrap_or_else(|| "node".into());
                launch(Command::new(node).arg(&self.path), SOON)
            }
            "go" => launch(Command::new("go").arg("run").arg(&self.path), PATIENT),
            _ => launch(Command::new(self.program()), SOON),
        }
    }

    /// `python <file>`, and the bootstrap for a file that never runs its tools.
    fn python(&self, python: Command, connect_timeout: Duration, concurrency: usize) -> Launch {
        // Lines of the tool reach the log when they are printed, also before a crash.
        let python = python.env("PYTHONUNBUFFERED", "1");
        let bootstrap = python_bootstrap::command(&python, &self.path);
        Launch {
            command: python.arg(&self.path),
            bootstrap: Some(bootstrap),
            connect_timeout,
            concurrency,
            python: true,
        }
    }

    /// A bare name would be looked up on the search path.
    fn program(&self) -> PathBuf {
        if self.path.components().count() == 1 { Path::new(".").join(&self.path) } else { self.path.clone() }
    }

    fn has_ancestor(&self, name: &str) -> bool {
        let absolute = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        absolute.ancestors().skip(1).any(|directory| directory.join(name).is_file())
    }
}

fn on_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|directory| directory.join(program).is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(command: &Command) -> String {
        let arguments = command.arguments().iter().map(|argument| argument.to_string_lossy().into_owned());
        let mut words = vec![command.program().to_string_lossy().into_owned()];
        words.extend(arguments);
        words.join(" ")
    }

    fn check(file: &ToolFile, variables: &[(&str, &str)], uv: bool, expected: &str) {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let on_path = |program: &str| uv && program == "uv";
        let launch = file.launch_in(&Surroundings { variable: &variable, on_path: &on_path });
        assert_eq!(line(&launch.command), expected);
    }

    #[test]
    fn the_extension_chooses_the_program() {
        for (file, expected) in [
            ("a/t.py", "python3 a/t.py"),
            ("t.ts", "npx tsx t.ts"),
            ("t.mts", "npx tsx t.mts"),
            ("t.js", "node t.js"),
            ("t.mjs", "node t.mjs"),
            ("t.go", "go run t.go"),
            ("bin/server", "bin/server"),
            ("server", "./server"),
            ("t.exe", "./t.exe"),
        ] {
            check(&ToolFile::new(file), &[], false, expected);
        }
    }

    #[test]
    fn variables_and_the_runtime_flag_override_it() {
        let variables = &[("PROTOMCP_PYTHON", "/opt/py"), ("PROTOMCP_NODE", "bun")];
        check(&ToolFile::new("t.py"), variables, true, "/opt/py t.py");
        check(&ToolFile::new("t.ts"), variables, false, "bun t.ts");
        check(&ToolFile::new("t.js"), variables, false, "bun t.js");
        check(&ToolFile::new("t.py").runtime("pypy 3"), variables, true, "pypy 3 t.py");
        check(&ToolFile::new("t.rb").runtime("ruby"), &[], false, "ruby t.rb");
    }

    #[test]
    fn uv_runs_python_inside_a_project() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(project.path().join("a/b")).unwrap();
        let file = project.path().join("a/b/t.py");
        check(&ToolFile::new(&file), &[], true, &format!("python3 {}", file.display()));
        std::fs::write(project.path().join("pyproject.toml"), "").unwrap();
        check(&ToolFile::new(&file), &[], true, &format!("uv run python {}", file.display()));
        check(&ToolFile::new(&file), &[], false, &format!("python3 {}", file.display()));
    }

    #[test]
    fn a_cargo_project_runs_by_its_file_and_its_directory() {
        let project = tempfile::tempdir().unwrap();
        let manifest = project.path().join("Cargo.toml");
        std::fs::write(&manifest, "").unwrap();
        let expected = format!("cargo run --quiet --manifest-path {}", manifest.display());
        for path in [project.path().to_owned(), project.path().join("src/main.rs")] {
            let file = ToolFile::new(path);
            check(&file, &[], false, &expected);
            assert_eq!((file.is_runnable(), file.watch().root.as_path()), (true, project.path()));
        }
        assert!(!ToolFile::new(project.path().parent().unwrap()).is_runnable(), "a directory without a manifest");
    }

    #[test]
    fn published_sdks_of_scripting_languages_get_one_call_at_a_time() {
        for (file, serial) in [("t.py", true), ("t.ts", true), ("t.js", true), ("t.rs", false), ("t", false)] {
            assert_eq!(ToolFile::new(file).launch().concurrency == 1, serial, "{file}");
        }
    }
}
