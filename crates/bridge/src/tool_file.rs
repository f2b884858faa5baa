//! The program that runs a tool file, by the extension of the file (wire contract §2.2).

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protomcp_lend::{Lender, Runtime, file_url};
use protomcp_supervisor::Command;
use protomcp_watch::{Filter, Watch};

use crate::cargo_project::CargoProject;
use crate::compat::python_bootstrap;
use crate::launch::{Fallback, Launch, Lending, Reason, TYPES_ARE_READ};
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
        let extension = self.extension().unwrap_or_default().to_ascii_lowercase();
        let extension = extension.as_str();
        let kind = Kind::of(extension);
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
            lending: self.lending(Some(Runtime::Python)),
            ..Launch::of(command, timeout)
        }
    }

    /// `node <file>`, with whatever arguments the command has already. Deno runs it with the rights that Node gives.
    fn javascript(&self, node: Command, connect_timeout: Duration) -> Launch {
        let runtime = Runtime::of_javascript(node.program());
        let is_deno = Path::new(node.program()).file_stem().is_some_and(|name| name == "deno");
        let node = if is_deno { node.args(["run", "--allow-all"]) } else { node };
        Launch { concurrency: 1, lending: self.lending(runtime), ..Launch::of(node.arg(&self.path), connect_timeout) }
    }

    /// `node` with the tsx that is installed for the file; otherwise `node` alone, or `npx tsx` if it cannot read the file.
    fn typescript(&self) -> Launch {
        let node = Command::new("node").arg("--import");
        if let Some(loader) = self.folders().iter().find_map(|folder| tsx_loader(folder)) {
            return self.javascript(node.arg(loader), SOON);
        }
        let tsx = self.javascript(Command::new("npx").arg("tsx"), PATIENT);
        // Node leaves JSX to others.
        if self.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsx")) {
            return tsx;
        }
        let fallback = Fallback { command: tsx.command, reason: Reason::TypesUnread };
        Launch { fallback: Some(fallback), ..self.javascript(node.arg(TYPES_ARE_READ), PATIENT) }
    }

    fn lending(&self, runtime: Option<Runtime>) -> Lending {
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
mod tests {
    use super::*;

    fn line(command: &Command) -> String {
        let arguments = command.arguments().iter().map(|argument| argument.to_string_lossy().into_owned());
        let mut words = vec![command.program().to_string_lossy().into_owned()];
        words.extend(arguments);
        words.join(" ")
    }

    fn launch(file: &ToolFile, variables: &[(&str, &str)], uv: bool) -> Launch {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let on_path = |program: &str| uv && program == "uv";
        file.launch_in(&Surroundings { variable: &variable, on_path: &on_path })
    }

    fn check(file: &ToolFile, variables: &[(&str, &str)], uv: bool, expected: &str) {
        assert_eq!(line(&launch(file, variables, uv).command), expected);
    }

    #[test]
    fn the_extension_chooses_the_program() {
        for (file, expected) in [
            ("a/t.py", "python3 a/t.py"),
            ("t.ts", &format!("node --import {TYPES_ARE_READ} t.ts")),
            ("t.mts", &format!("node --import {TYPES_ARE_READ} t.mts")),
            ("t.cts", &format!("node --import {TYPES_ARE_READ} t.cts")),
            ("t.tsx", "npx tsx t.tsx"),
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
    fn a_second_command_follows_where_the_first_cannot_serve() {
        for (file, variables, expected) in [
            ("t.ts", &[][..], Some((Reason::TypesUnread, "npx tsx t.ts"))),
            ("t.ts", &[("PROTOMCP_NODE", "bun")], None),
            ("t.tsx", &[], None),
            ("t.js", &[], None),
            ("server", &[], None),
        ] {
            let fallback = launch(&ToolFile::new(file), variables, false).fallback;
            let fallback = fallback.map(|fallback| (fallback.reason, line(&fallback.command)));
            assert_eq!(fallback.as_ref().map(|(reason, line)| (*reason, line.as_str())), expected, "{file}");
        }
        let python = launch(&ToolFile::new("t.py"), &[], false).fallback.unwrap();
        assert_eq!(python.reason, Reason::ToolsNotRun);
        assert!(line(&python.command).starts_with("python3 -c import os") && line(&python.command).ends_with(" t.py"));
    }

    #[test]
    fn the_tsx_of_a_project_reads_its_files() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(project.path().join("a b")).unwrap();
        std::fs::create_dir_all(project.path().join("node_modules/tsx/dist")).unwrap();
        std::fs::write(project.path().join("node_modules/tsx/dist/loader.mjs"), "").unwrap();
        let loader = file_url(&project.path().join("node_modules/tsx/dist/loader.mjs"));
        for name in ["a b/t.ts", "t.tsx"] {
            let file = project.path().join(name);
            check(&ToolFile::new(&file), &[], false, &format!("node --import {loader} {}", file.display()));
            check(&ToolFile::new(&file), &[("PROTOMCP_NODE", "bun")], false, &format!("bun {}", file.display()));
        }
    }

    #[test]
    fn uv_runs_files_with_script_metadata() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.py");
        std::fs::write(&file, "# /// script\n# dependencies = []\n# ///\n").unwrap();
        let (file, shown) = (ToolFile::new(&file), file.display());
        check(&file, &[], true, &format!("uv run --script {shown}"));
        check(&file, &[("PROTOMCP_PYTHON", "py")], true, &format!("py {shown}"));
        check(&file.clone().runtime("py"), &[], true, &format!("py {shown}"));
        check(&file, &[], false, &format!("python3 {shown}"));
        let warnings = |uv| launch(&file, &[], uv).warnings;
        assert!(warnings(true).is_empty());
        assert!(warnings(false)[0].contains("uv is not on the path"));
        let bootstrap = line(&launch(&file, &[], true).fallback.unwrap().command);
        let packages = format!("uv run --no-project --with-requirements {shown} python -c ");
        assert!(bootstrap.starts_with(&packages), "{bootstrap}");
    }

    #[test]
    fn a_script_that_only_declares_is_started_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.py");
        std::fs::write(&file, "# /// script\n# requires-python = '>=3.11'\n# ///\nimport protomcp\n").unwrap();
        let launch = launch(&ToolFile::new(&file), &[], true);
        let packages = format!("uv run --no-project --python >=3.11 --with-requirements {} python -c ", file.display());
        assert!(line(&launch.command).starts_with(&packages), "{}", line(&launch.command));
        assert!(launch.fallback.is_none());
    }

    #[test]
    fn a_file_that_only_declares_is_run_by_the_bootstrap() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.py");
        for (text, bootstrap) in [("import protomcp\n", true), ("import protomcp\nprotomcp.run()\n", false)] {
            std::fs::write(&file, text).unwrap();
            let launch = launch(&ToolFile::new(&file), &[], false);
            assert_eq!(line(&launch.command).starts_with("python3 -c "), bootstrap, "{text}");
            assert_eq!(launch.fallback.is_none(), bootstrap, "{text}");
        }
    }

    #[test]
    fn interpreters_borrow_and_programs_do_not() {
        use protomcp_lend::SdkSource;
        let lender = Lender::new(SdkSource::Auto, None, None);
        let borrows = |file: ToolFile| !launch(&file.lend(lender.clone()), &[], false).lending.is_none();
        for (file, expected) in [("t.py", true), ("t.js", true), ("t.ts", true), ("t.go", false), ("server", false)] {
            assert_eq!(borrows(ToolFile::new(file)), expected, "{file}");
            assert!(launch(&ToolFile::new(file), &[], false).lending.is_none(), "nothing is lent without a lender");
        }
        assert!(borrows(ToolFile::new("t.js").runtime("bun")));
        assert!(!borrows(ToolFile::new("t.js").runtime("deno")));
    }

    #[test]
    fn variables_and_the_runtime_flag_override_it() {
        let variables = &[("PROTOMCP_PYTHON", "/opt/py"), ("PROTOMCP_NODE", "bun")];
        check(&ToolFile::new("t.py"), variables, true, "/opt/py t.py");
        check(&ToolFile::new("t.ts"), variables, false, "bun t.ts");
        check(&ToolFile::new("t.js"), variables, false, "bun t.js");
        let deno = &[("PROTOMCP_NODE", "/opt/deno")];
        check(&ToolFile::new("t.ts"), deno, false, "/opt/deno run --allow-all t.ts");
        check(&ToolFile::new("t.js").runtime("deno"), &[], false, "deno run --allow-all t.js");
        check(&ToolFile::new("t.py").runtime("pypy 3"), variables, true, "pypy 3 t.py");
        check(&ToolFile::new("t.rb").runtime("ruby"), &[], false, "ruby t.rb");
    }

    #[test]
    fn the_environment_beside_or_above_the_file_is_used() {
        let project = tempfile::tempdir().unwrap();
        let (linked, real) = (project.path().join("linked"), project.path().join("real"));
        std::fs::create_dir_all(real.join("in")).unwrap();
        std::fs::create_dir_all(real.join(".venv/bin")).unwrap();
        std::fs::create_dir_all(&linked).unwrap();
        for name in ["in/t.py", ".venv/pyvenv.cfg", ".venv/bin/python"] {
            std::fs::write(real.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(real.join("in/t.py"), linked.join("t.py")).unwrap();
        let python = real.canonicalize().unwrap().join(".venv/bin/python");
        for file in [real.canonicalize().unwrap().join("in/t.py"), linked.join("t.py")] {
            let (shown, file) = (file.display(), ToolFile::new(&file));
            check(&file, &[], false, &format!("{} {shown}", python.display()));
            check(&file, &[("VIRTUAL_ENV", "/active")], false, &format!("python3 {shown}"));
            check(&file, &[("PROTOMCP_PYTHON", "py")], false, &format!("py {shown}"));
            assert!(launch(&file, &[], false).note.is_some_and(|note| note.contains(".venv/bin/python runs ")));
        }
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
