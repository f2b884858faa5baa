//! The files of a command in any language.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::filter::Filter;
use crate::watch::Watch;

/// The extensions of source files. Data files are left out, as in [`Filter::source`].
const SOURCES: [&str; 41] = [
    "c", "cc", "cjs", "clj", "cpp", "cs", "cts", "dart", "erl", "ex", "exs", "fs", "go", "h", "hpp", "hs", "java",
    "jl", "js", "jsx", "kt", "kts", "lua", "ml", "mjs", "mts", "nim", "php", "pl", "py", "pyi", "r", "rb", "rs",
    "scala", "swift", "ts", "tsx", "v", "vb", "zig",
];

/// The names of files that say how a program is built or started, and not its language.
const MANIFESTS: [&str; 5] = ["csproj", "fsproj", "mod", "sh", "toml"];

/// The extensions of programs that another program runs.
const PROGRAMS: [&str; 6] = ["dll", "exe", "jar", "phar", "pyz", "wasm"];

impl Watch {
    /// Watches the files of a command: those that its words name (source files, and programs such as a binary that a
    /// compiler replaces), and the source files below the current directory, in the languages of the named ones.
    ///
    /// A file that lies elsewhere is watched with its directory instead, and so is every file if the current directory is
    /// the root or the user's home, which are too large. None: there is nothing to watch.
    pub fn command(words: &[OsString]) -> Option<Self> {
        let current = std::env::current_dir().ok()?;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let is_project = current.parent().is_some() && home.as_ref() != Some(&current);
        of_command(words, &current, is_project)
    }

    /// Watches a file with any name, or the source files in any language below a directory.
    pub fn path(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if path.is_dir() {
            return Self::directory(path, any_source(Filter::new()));
        }
        Self::directory(directory(path), Filter::new().always(path).without_directories())
    }
}

fn of_command(words: &[OsString], current: &Path, is_project: bool) -> Option<Watch> {
    let named: Vec<PathBuf> = words.iter().map(|word| current.join(word)).filter(|path| is_code(path)).collect();
    let is_inside = |path: &PathBuf| path.starts_with(current);
    let root = match named.iter().find(|path| is_source(path)) {
        Some(source) if !is_project || !is_inside(source) => directory(source),
        _ if is_project => current,
        None => directory(named.first()?),
        Some(source) => directory(source),
    };
    let mut filter = named.iter().fold(Filter::new(), Filter::always);
    for source in named.iter().filter(|path| is_source(path)) {
        filter = filter.family_of(source);
    }
    let filter = if named.iter().any(|path| is_source(path)) {
        filter
    } else if is_project {
        any_source(filter)
    } else {
        filter.without_directories()
    };
    Some(Watch::directory(root, filter))
}

fn any_source(filter: Filter) -> Filter {
    filter.extensions(SOURCES).extensions(MANIFESTS)
}

fn directory(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn has_extension(path: &Path, all: &[&str]) -> bool {
    path.extension().is_some_and(|extension| all.iter().any(|one| extension.eq_ignore_ascii_case(one)))
}

fn is_source(path: &Path) -> bool {
    has_extension(path, &SOURCES)
}

/// True for a source file and for a program.
fn is_code(path: &Path) -> bool {
    let Ok(file) = path.metadata() else { return false };
    file.is_file() && (is_source(path) || has_extension(path, &PROGRAMS) || file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The root of the watch, and the roots of the files that it selects.
    fn watched(words: &str, current: &Path, is_project: bool, files: &[&str]) -> Option<(PathBuf, Vec<String>)> {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let watch = of_command(&words, current, is_project)?;
        let selected = |file: &&&str| watch.filter.wants(&current.join(file));
        Some((watch.root.clone(), files.iter().filter(selected).map(|file| (*file).to_owned()).collect()))
    }

    #[test]
    fn the_words_of_a_command_name_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let all = ["app/server.py", "app/lib.py", "app/web.js", "app/data.json", "bin/server", "Cargo.toml", "main.rs"];
        for file in all {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
        }
        let binary = folder.path().join("bin/server");
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
        let (root, app) = (folder.path(), folder.path().join("app"));
        let check = |words: &str, current: &Path, is_project, expected: Option<(&Path, &[&str])>| {
            let files: Vec<_> = all.iter().map(|file| folder.path().join(file)).collect();
            let files: Vec<_> = files.iter().map(|file| file.to_str().unwrap()).collect();
            let found = watched(words, current, is_project, &files);
            let expected = expected.map(|(root, files)| {
                let files = files.iter().map(|file| folder.path().join(file).to_str().unwrap().to_owned());
                (root.to_owned(), files.collect::<Vec<_>>())
            });
            assert_eq!(found, expected, "{words}");
        };
        let python = ["app/server.py", "app/lib.py"];
        check("uv run app/server.py --port 8", root, true, Some((root, &python)));
        check("node app/web.js app/data.json", root, true, Some((root, &["app/web.js"])));
        let sources = ["app/server.py", "app/lib.py", "app/web.js", "Cargo.toml", "main.rs"];
        check("go run . --config Cargo.toml", root, true, Some((root, &sources)));
        check("cargo run", root, true, Some((root, &sources)));
        let with_binary = ["app/server.py", "app/lib.py", "app/web.js", "bin/server", "Cargo.toml", "main.rs"];
        check("bin/server --verbose", root, true, Some((root, &with_binary)));
        // From elsewhere.
        check(&format!("python3 {}/server.py", app.display()), &root.join("bin"), true, Some((&app, &python)));
        check(&format!("python3 {}/server.py", app.display()), root, false, Some((&app, &python)));
        check(binary.to_str().unwrap(), root, false, Some((&root.join("bin"), &["bin/server"])));
        check("uvx some-server", root, false, None);
    }
}
