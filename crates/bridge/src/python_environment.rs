//! The virtual environment of a Python file (PEP 405).

use std::path::PathBuf;

/// The usual names of the folder of an environment.
const NAMES: [&str; 2] = [".venv", "venv"];

/// The interpreter of the first environment in these folders. A host starts `pmcp` without one that is activated.
pub(crate) fn interpreter(folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let environments = folders.into_iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let marked = environments.filter(|environment| environment.join("pyvenv.cfg").is_file());
    marked.map(|environment| environment.join("bin/python")).find(|python| python.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn environment(folder: &Path) -> PathBuf {
        let python = folder.join("bin/python");
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("pyvenv.cfg"), "").unwrap();
        fs::write(&python, "").unwrap();
        python
    }

    #[test]
    fn the_first_whole_environment_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, outer) = (folder.path().join("a"), folder.path().to_owned());
        let found = || interpreter([inner.clone(), outer.clone()]);
        assert_eq!(found(), None);
        let above = environment(&outer.join("venv"));
        assert_eq!(found(), Some(above.clone()));
        // A folder of that name which is none, and one whose interpreter is gone.
        fs::create_dir_all(inner.join("venv/bin")).unwrap();
        fs::write(inner.join("venv/bin/python"), "").unwrap();
        fs::remove_file(environment(&inner.join(".venv"))).unwrap();
        assert_eq!(found(), Some(above));
        let beside = environment(&inner.join(".venv"));
        assert_eq!(found(), Some(beside));
    }
}
