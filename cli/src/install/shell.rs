//! The part of this shell's environment that an entry names, because hosts start servers without it.

use std::collections::HashSet;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use protomcp_bridge::ToolFile;

use crate::exit::Failure;

/// The variables that name the interpreters of tool files.
const PYTHON: &str = "PROTOMCP_PYTHON";
const NODE: &str = "PROTOMCP_NODE";

/// The search path of programs.
pub(super) const PATH: &str = "PATH";

/// The interpreter that this shell uses for a tool file, with the variable that names it, if a host may use another one.
pub(super) fn interpreter(file: &Path) -> Option<(&'static str, String)> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    named(file, ToolFile::new(file).command().program(), variable)
}

/// `program`: the one that runs the file in this shell.
fn named(file: &Path, program: &OsStr, variable: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "py" => {
            let active = || (program == "python3").then(|| active_python(&variable)).flatten();
            variable(PYTHON).or_else(active).map(|python| (PYTHON, absolute(python)))
        }
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Some((NODE, absolute(variable(NODE)?))),
        _ => None,
    }
}

/// The Python of the environment that is active: a virtual one (PEP 405), otherwise one of conda.
fn active_python(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let [of_venv, of_conda] = if cfg!(windows) { ["Scripts/python.exe", "python.exe"] } else { ["bin/python"; 2] };
    let python = |name: &str, program: &str| variable(name).map(|folder| Path::new(&folder).join(program));
    let found = [python("VIRTUAL_ENV", of_venv), python("CONDA_PREFIX", of_conda)];
    found.into_iter().flatten().find(|python| python.exists())?.into_os_string().into_string().ok()
}

/// A path is relative to this directory, and a host has another one. A bare name is looked up in `PATH`.
fn absolute(program: String) -> String {
    if Path::new(&program).components().count() < 2 { program } else { absolute_file(&program) }
}

fn absolute_file(file: &str) -> String {
    let path = std::path::absolute(file).ok().map(PathBuf::into_os_string);
    path.and_then(|path| path.into_string().ok()).unwrap_or_else(|| file.to_owned())
}

/// The words of a command with an absolute path in place of the program and of each file: hosts have another directory.
pub(super) fn absolute_words(words: &[String]) -> Result<Vec<String>, Failure> {
    let Some((program, args)) = words.split_first() else { return Ok(Vec::new()) };
    let program = if Path::new(program).components().count() > 1 {
        absolute(program.clone())
    } else {
        let not_found = || Failure::usage(format!("there is no {program} in PATH: name the program by its path"));
        found_on_path(program).ok_or_else(not_found)?
    };
    let args = args.iter().map(|word| if Path::new(word).is_file() { absolute_file(word) } else { word.clone() });
    Ok([program].into_iter().chain(args).collect())
}

fn found_on_path(program: &str) -> Option<String> {
    let path = env::var_os(PATH)?;
    let files = env::split_paths(&path).map(|folder| folder.join(program));
    // Windows names programs without their extension.
    let files = files.flat_map(|file| {
        let extensions: &[&str] = if cfg!(windows) { &["", "exe", "cmd", "bat"] } else { &[""] };
        extensions.iter().map(move |extension| match *extension {
            "" => file.clone(),
            extension => file.with_extension(extension),
        })
    });
    let found = files.filter(|file| file.is_file()).find(|file| is_executable(file))?;
    std::path::absolute(found).ok()?.into_os_string().into_string().ok()
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

/// The absolute folders of `PATH`, each once. `None` if there are none, or if one is not UTF-8.
pub(super) fn search_path() -> Option<String> {
    absolute_folders(&env::var_os(PATH)?)
}

fn absolute_folders(path: &OsStr) -> Option<String> {
    let mut seen = HashSet::new();
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute() && seen.insert(folder.clone()));
    env::join_paths(folders).ok()?.into_string().ok().filter(|path| !path.is_empty())
}

/// True for the name of the search path: on Windows it has any case.
pub(super) fn is_path(name: &str) -> bool {
    if cfg!(windows) { name.eq_ignore_ascii_case(PATH) } else { name == PATH }
}

/// True for a variable that `pmcp install` sets: a path of programs, which is not a secret.
pub(super) fn is_of_programs(name: &str) -> bool {
    is_path(name) || [PYTHON, NODE].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_of_the_shell_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for environment in ["venv", "conda"] {
            std::fs::create_dir_all(folder.path().join(environment).join("bin")).unwrap();
            std::fs::write(folder.path().join(environment).join("bin/python"), "").unwrap();
        }
        let [venv, conda, in_venv, in_conda] = ["venv", "conda", "venv/bin/python", "conda/bin/python"].map(path);
        let (venv, conda) = (("VIRTUAL_ENV", venv.as_str()), ("CONDA_PREFIX", conda.as_str()));
        let (in_venv, in_conda) = (in_venv.as_str(), in_conda.as_str());
        for (file, program, variables, expected) in [
            ("t.py", "python3", &[][..], None),
            ("t.py", "python3", &[venv], Some((PYTHON, in_venv))),
            ("t.py", "python3", &[conda], Some((PYTHON, in_conda))),
            ("t.PY", "python3", &[conda, venv], Some((PYTHON, in_venv))),
            ("t.py", "python3", &[("VIRTUAL_ENV", "/no/such/folder")], None),
            // pmcp finds these in a host, too.
            ("t.py", "uv", &[venv], None),
            ("t.py", "/p/.venv/bin/python", &[conda], None),
            ("t.py", "/opt/python", &[(PYTHON, "/opt/python")], Some((PYTHON, "/opt/python"))),
            ("t.mjs", "bun", &[(NODE, "bun")], Some((NODE, "bun"))),
            ("t.ts", "node", &[venv], None),
            ("t.go", "go", &[(NODE, "bun")], None),
        ] {
            let variable =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            let found = named(Path::new(file), OsStr::new(program), variable);
            assert_eq!(found.as_ref().map(|(name, value)| (*name, value.as_str())), expected, "{file} {variables:?}");
        }
        assert!(Path::new(&absolute("bin/python".into())).is_absolute() && absolute("node".into()) == "node");
    }

    #[test]
    fn the_words_of_a_command_fit_any_directory() {
        let words = |words: &[&str]| {
            absolute_words(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
                .map_err(|failure| failure.to_string())
        };
        let found = words(&["sh", "Cargo.toml", "-c", "no-such-file"]).unwrap();
        assert!(Path::new(&found[0]).is_absolute() && found[0].ends_with("/sh"), "{found:?}");
        assert!(Path::new(&found[1]).is_absolute() && found[2..] == ["-c", "no-such-file"], "{found:?}");
        assert!(words(&["bin/tool"]).unwrap()[0].ends_with("/bin/tool"));
        let missing = words(&["no-such-program"]).unwrap_err();
        assert_eq!(missing, "there is no no-such-program in PATH: name the program by its path");
    }

    #[test]
    fn relative_and_repeated_folders_are_left_out() {
        for (path, expected) in
            [("/a/bin:.:b:/c", Some("/a/bin:/c")), ("/b:/a:/b:/c:/a/:/b", Some("/b:/a:/c")), (".", None), ("", None)]
        {
            assert_eq!(absolute_folders(OsStr::new(path)).as_deref(), expected, "{path}");
        }
    }
}
