//! The paths that `--watch` and the setting `watch` name.

use std::collections::BTreeSet;
#[cfg(feature = "upstream")]
use std::ffi::OsString;
use std::path::{PathBuf, absolute};
#[cfg(feature = "upstream")]
use std::time::Duration;

#[cfg(feature = "upstream")]
use protomcp_watch::Watch;

use crate::exit::Failure;

/// The most different paths. Each is watched by a thread.
const MAX_PATHS: usize = 64;

/// The paths without repetitions, in their order.
pub(super) fn distinct(given: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let mut known = BTreeSet::new();
    let paths: Vec<_> =
        given.into_iter().filter(|path| known.insert(absolute(path).unwrap_or_else(|_| path.clone()))).collect();
    if paths.len() > MAX_PATHS {
        return Err(Failure::usage(format!(
            "{} paths to watch are given, and at most {MAX_PATHS} are possible: name a directory that contains several",
            paths.len()
        )));
    }
    Ok(paths)
}

/// A path that can be watched.
pub(super) fn existing(path: PathBuf) -> Result<PathBuf, String> {
    if path.exists() { Ok(path) } else { Err("it does not exist".to_owned()) }
}

/// The paths that are given, and the files of the command: if none is given, or if the command serves a file that was named.
#[cfg(feature = "upstream")]
pub(super) fn of_command(given: &[PathBuf], words: &[OsString], is_file: bool, poll: Option<Duration>) -> Vec<Watch> {
    let of_command = if given.is_empty() || is_file { Watch::command(words) } else { None };
    let watches = of_command.into_iter().chain(given.iter().map(Watch::path));
    match poll {
        Some(pause) => watches.map(|watch| watch.poll_every(pause)).collect(),
        None => watches.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_given_twice_is_watched_once() {
        let here = std::env::current_dir().unwrap();
        let given = vec![PathBuf::from("src"), here.join("src"), PathBuf::from("./src/"), PathBuf::from("tests")];
        assert_eq!(distinct(given).unwrap(), ["src", "tests"].map(PathBuf::from));
    }

    #[test]
    fn the_number_of_paths_is_limited() {
        let paths = |count: usize| (0..count).map(|number| PathBuf::from(format!("p{number}"))).collect::<Vec<_>>();
        assert_eq!(distinct(paths(MAX_PATHS)).unwrap().len(), MAX_PATHS);
        assert!(distinct(paths(MAX_PATHS + 1)).is_err());
    }
}
