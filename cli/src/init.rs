//! `pmcp init`: a first tool file, with the commands that use it.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::args::init::{Init, Language};
use crate::exit::{self, Failure};
use crate::shell_word::shell_word;

const README: &str = include_str!("../templates/README.md");
const TESTS: &str = include_str!("../templates/tests.yaml");
const PYTHON: &str = include_str!("../templates/python/tools.py");
const JAVASCRIPT: &str = include_str!("../templates/javascript/tools.js");
const TYPESCRIPT: &str = include_str!("../templates/typescript/tools.ts");
const PACKAGE: &str = include_str!("../templates/javascript/package.json");
const RUST: &str = include_str!("../templates/rust/src/main.rs");
const MANIFEST: &str = include_str!("../templates/rust/manifest.toml");

/// The file with the names that version control leaves out.
const IGNORED: &str = ".gitignore";
/// The scenario that tests the tools.
const SCENARIO: &str = "tests/tools.yaml";

/// Writes the files, unless one of them is there already.
pub(crate) fn run(options: &Init) -> Result<(), Failure> {
    if options.checkout.is_some() && options.lang != Language::Rust {
        return Err(Failure::usage("--checkout is for projects in Rust"));
    }
    let directory = &options.directory;
    let mut files = files(options)?;
    // A folder under version control has one already.
    files.retain(|(name, _)| *name != IGNORED || !directory.join(name).exists());
    if let Some((name, _)) = files.iter().find(|(name, _)| directory.join(name).exists()) {
        let name = directory.join(name);
        return Err(Failure::usage(format!(
            "{} is there already, and nothing was written; name another directory: pmcp init DIRECTORY",
            name.display()
        )));
    }
    for (name, _) in &files {
        make_folder(&directory.join(name))?;
    }
    write_all(directory, &files)?;
    exit::print(&next_steps(options, &files))
}

/// The files that were written, and the commands that use them.
fn next_steps(options: &Init, files: &[(&'static str, String)]) -> String {
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    let directory = options.directory.as_path();
    let (file, place) = match (directory.to_str(), options.lang) {
        // Cargo starts the directory.
        (Some("."), Language::Rust) => (directory.to_owned(), String::new()),
        (Some("."), _) => (names[0].into(), String::new()),
        (_, Language::Rust) => (directory.to_owned(), format!(" in {}", directory.display())),
        _ => (directory.join(names[0]), format!(" in {}", directory.display())),
    };
    let scenario = if place.is_empty() { SCENARIO.into() } else { directory.join(SCENARIO) };
    let (file, scenario) = (shell_word(&file.to_string_lossy()), shell_word(&scenario.to_string_lossy()));
    let need = match options.lang {
        Language::Typescript => {
            "\nNode before 22.18 does not read TypeScript itself. Where it is older:\n  npm install --save-dev tsx\n"
        }
        Language::Rust if options.checkout.is_none() => {
            "\nUntil the crates of this version are published, --checkout DIR names the crates of a checkout.\n"
        }
        Language::Python | Language::Javascript | Language::Rust => "",
    };
    format!(
        "Written: {}{place}\n\nTry the tools, and test them:\n  pmcp list {file}\n  pmcp call {file} greet name=Ann\n  \
         pmcp test {file} run {scenario}\n\nAdd them to a host, which loads them again after each save:\n  \
         pmcp install {file} --client claude-code\n{need}",
        names.join(", "),
    )
}

/// The files of a project, the tool file first.
fn files(options: &Init) -> Result<Vec<(&'static str, String)>, Failure> {
    let (file, mut files, ignored) = match options.lang {
        Language::Python => ("tools.py", vec![("tools.py", PYTHON.into())], "__pycache__/\n.venv/\n"),
        Language::Javascript => {
            ("tools.js", vec![("tools.js", JAVASCRIPT.into()), ("package.json", PACKAGE.into())], "node_modules/\n")
        }
        Language::Typescript => {
            ("tools.ts", vec![("tools.ts", TYPESCRIPT.into()), ("package.json", PACKAGE.into())], "node_modules/\n")
        }
        Language::Rust => {
            let manifest = manifest(options.checkout.as_deref())?;
            (".", vec![("src/main.rs", RUST.into()), ("Cargo.toml", manifest)], "/target\n")
        }
    };
    let page = match options.lang {
        Language::Python => "python",
        Language::Javascript | Language::Typescript => "typescript",
        Language::Rust => "rust",
    };
    let of_file = |text: &str| text.replace("{file}", file).replace("{page}", page);
    files.extend([(SCENARIO, of_file(TESTS)), (IGNORED, ignored.to_owned()), ("README.md", of_file(README))]);
    Ok(files)
}

/// The manifest of a project in Rust, with dependencies on published crates or on the crates of a checkout.
fn manifest(checkout: Option<&Path>) -> Result<String, Failure> {
    let dependency = |name: &str| -> Result<String, Failure> {
        match checkout {
            None => Ok(format!("\"{}\"", env!("CARGO_PKG_VERSION"))),
            Some(checkout) => {
                let path = checkout.join("crates").join(name);
                let found = fs::canonicalize(&path).ok().filter(|path| path.join("Cargo.toml").exists());
                let missing = || Failure::usage(format!("invalid --checkout: there is no crate in {}", path.display()));
                let path = found.ok_or_else(missing)?;
                Ok(format!("{{ path = {:?} }}", path.display().to_string()))
            }
        }
    };
    Ok(MANIFEST.replace("{sdk}", &dependency("sdk")?).replace("{typed}", &dependency("typed")?))
}

/// Makes the folder of a file, before any file is written.
fn make_folder(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Failure::usage(format!(
            "{} cannot be a folder, and nothing was written: a file or a link is in its place; name another directory: pmcp \
             init DIRECTORY",
            folder.display()
        )),
        _ => Failure::failed(format!("cannot make {}, and nothing was written: {error}", folder.display())),
    })
}

/// Writes files that are not there yet, all of them or none.
fn write_all(directory: &Path, files: &[(&'static str, String)]) -> Result<(), Failure> {
    let mut made = Vec::new();
    let written = files.iter().try_for_each(|(name, text)| {
        let path = directory.join(name);
        write(&path, text, &mut made).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::usage(format!("{} is there already: move it", path.display())),
            _ => Failure::failed(format!("cannot write {}, and nothing was written: {error}", path.display())),
        })
    });
    written.inspect_err(|_| {
        for path in made {
            let _stays = fs::remove_file(path);
        }
    })
}

/// Writes a file, and adds its path to `made` as soon as it is there.
fn write(path: &Path, text: &str, made: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    made.push(path.to_owned());
    file.write_all(text.as_bytes())
}
