//! The path of this program in an entry, by which a host starts it for months.

use std::path::{Path, PathBuf};
use std::{env, iter};

use crate::exit::Failure;

/// The path of this program: a link in `PATH` stays where a new version is in another folder.
pub(super) fn own() -> Result<PathBuf, Failure> {
    let program = env::current_exe().map_err(|error| Failure::failed(format!("cannot find pmcp: {error}")))?;
    let real = program.canonicalize().ok();
    let name = format!("pmcp{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH").unwrap_or_default();
    let links = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(&name));
    let links = links.filter(|link| real.is_some() && link.canonicalize().ok() == real);
    Ok(preferred(links.chain(iter::once(program)).collect(), &temporary()))
}

/// A warning if the program may be removed before a host starts it.
pub(super) fn warning(program: &Path) -> Option<String> {
    is_short_lived(program, &temporary()).then(|| {
        format!(
            "hosts will start {}, which is in a folder that is cleaned up: install pmcp in another folder, and run this \
             command again",
            program.display()
        )
    })
}

/// The first path that stays, otherwise the first. There is one.
fn preferred(mut paths: Vec<PathBuf>, temporary: &[PathBuf]) -> PathBuf {
    let at = paths.iter().position(|path| !is_short_lived(path, temporary)).unwrap_or_default();
    paths.swap_remove(at)
}

/// The folder for temporary files, by both of its names where a link leads to it.
fn temporary() -> Vec<PathBuf> {
    let folder = env::temp_dir();
    folder.canonicalize().into_iter().chain([folder]).collect()
}

/// True in the caches from which npx and uvx run programs, and below a folder for temporary files.
fn is_short_lived(program: &Path, temporary: &[PathBuf]) -> bool {
    let folders: Vec<_> = program.iter().map(|folder| folder.to_string_lossy()).collect();
    // Such as ~/.cache/uv/archive-v0.
    let is_of_uvx = folders.windows(2).any(|pair| pair[0] == "uv" && pair[1].starts_with("archive"));
    is_of_uvx
        || folders.iter().any(|folder| folder == "_npx")
        || temporary.iter().any(|folder| program.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_stays_is_preferred() {
        let temporary = [PathBuf::from("/tmp")];
        for (paths, chosen, is_short) in [
            (&["/usr/bin/pmcp", "/opt/pmcp/1.0.0/bin/pmcp"][..], "/usr/bin/pmcp", false),
            (&["/opt/pmcp/1.0.0/bin/pmcp"], "/opt/pmcp/1.0.0/bin/pmcp", false),
            (&["/tmp/a/bin/pmcp", "/opt/pmcp"], "/opt/pmcp", false),
            (
                &["/u/.npm/_npx/1a/node_modules/.bin/pmcp", "/u/.npm/_npx/1a/pmcp"],
                "/u/.npm/_npx/1a/node_modules/.bin/pmcp",
                true,
            ),
            (&["/u/.cache/uv/archive-v0/x/bin/pmcp"], "/u/.cache/uv/archive-v0/x/bin/pmcp", true),
            (&["/u/uv/tools/archive/pmcp"], "/u/uv/tools/archive/pmcp", false),
        ] {
            let found = preferred(paths.iter().map(PathBuf::from).collect(), &temporary);
            assert_eq!((found.as_path(), is_short_lived(&found, &temporary)), (Path::new(chosen), is_short));
        }
    }
}
