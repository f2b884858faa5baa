//! Cargo projects: the manifest and the program of a Rust file, or of a directory.

use std::path::{Path, PathBuf};

use protomcp_supervisor::Command;

/// The program of a Cargo project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CargoProject {
    manifest: PathBuf,
    /// The flag and the name of a program that is not the only one.
    target: Option<(&'static str, String)>,
}

impl CargoProject {
    /// The project of a Rust file, or in a directory with a manifest; `None` for anything else.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        if path.extension().is_some_and(|extension| extension == "rs") {
            return Some(Self { manifest: manifest_of(path), target: target(path) });
        }
        let manifest = path.join("Cargo.toml");
        manifest.is_file().then_some(Self { manifest, target: None })
    }

    /// Builds the program and runs it. The program takes the place of its old version only when it has been built.
    pub(crate) fn command(&self) -> Command {
        let command = Command::new("cargo").args(["run", "--quiet", "--manifest-path"]).arg(&self.manifest);
        match &self.target {
            Some((flag, name)) => command.arg(flag).arg(name),
            None => command,
        }
    }

    /// The directory of the manifest, which the sources are below.
    pub(crate) fn root(&self) -> &Path {
        let directory = self.manifest.parent().filter(|directory| !directory.as_os_str().is_empty());
        directory.unwrap_or(Path::new("."))
    }

    /// The manifest.
    pub(crate) fn manifest(&self) -> &Path {
        &self.manifest
    }
}

/// The nearest manifest above the file, or the place where it should be (`src/main.rs`).
fn manifest_of(file: &Path) -> PathBuf {
    let directories = || file.ancestors().skip(1);
    let found = directories().map(|directory| directory.join("Cargo.toml")).find(|manifest| manifest.is_file());
    found.unwrap_or_else(|| match directories().nth(1) {
        Some(above) => above.join("Cargo.toml"),
        None => Path::new("..").join("Cargo.toml"),
    })
}

/// The program that Cargo makes of the file, if the project may have others (the Cargo book, package layout).
fn target(file: &Path) -> Option<(&'static str, String)> {
    let stem = file.file_stem()?.to_str()?;
    let directory = file.parent()?;
    let (name, directory) = match stem {
        "main" => (directory.file_name()?.to_str()?, directory.parent()?),
        _ => (stem, directory),
    };
    if directory.ends_with("src/bin") {
        Some(("--bin", name.to_owned()))
    } else if directory.ends_with("examples") {
        Some(("--example", name.to_owned()))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(project: &CargoProject) -> String {
        let command = project.command();
        let words = command.arguments().iter().map(|word| word.to_string_lossy().into_owned());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_file_is_the_program_that_cargo_makes_of_it() {
        let empty = tempfile::tempdir().unwrap();
        for (file, expected) in [
            ("a/src/main.rs", "a/Cargo.toml"),
            ("a/src/bin/tool.rs", "--bin tool"),
            ("a/src/bin/tool/main.rs", "--bin tool"),
            ("a/examples/tool.rs", "--example tool"),
            ("a/examples/tool/main.rs", "--example tool"),
        ] {
            let line = line(&CargoProject::of(&empty.path().join(file)).unwrap());
            assert!(line.starts_with("run --quiet --manifest-path ") && line.ends_with(expected), "{file}: {line}");
        }
        assert_eq!(CargoProject::of(Path::new("tools.py")), None);
    }

    #[test]
    fn the_nearest_manifest_is_found_from_a_file_or_directory() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        assert_eq!(CargoProject::of(root), None);
        std::fs::create_dir_all(root.join("src/bin/deep")).unwrap();
        std::fs::write(root.join("Cargo.toml"), "").unwrap();
        for path in [root.to_owned(), root.join("server.rs"), root.join("src/bin/deep/main.rs")] {
            let found = CargoProject::of(&path).unwrap();
            assert_eq!((found.root(), found.manifest()), (root, &*root.join("Cargo.toml")), "{path:?}");
        }
    }
}
