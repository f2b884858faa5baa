//! The directory that processes inherit, which may be removed and created again while this program runs in it.
//!
//! `git switch` does so with a folder that one of the branches lacks. This program is in the removed directory from then on,
//! where nothing can be found, so its processes start in the directory that has the path now. As long as there is none, they
//! start in the removed one, as this program's other children do.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, io};

use crate::command::Command;

/// The current directory at the last start for which it existed.
static LAST: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The command as it is, or, if the current directory is gone, in the directory that has its path.
pub(crate) fn existing(command: &Command) -> Cow<'_, Command> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let current = env::current_dir();
    let existing = last.as_deref().filter(|last| last.is_dir());
    let found = from(command, current.as_deref(), existing);
    *last = current.ok().or(last.take());
    found
}

fn from<'a>(command: &'a Command, current: Result<&Path, &io::Error>, last: Option<&Path>) -> Cow<'a, Command> {
    match (current, last) {
        (Err(_), Some(last)) => {
            let directory = command.directory().map_or_else(|| last.to_owned(), |directory| last.join(directory));
            Cow::Owned(command.clone().current_dir(directory))
        }
        (Ok(_), _) | (Err(_), None) => Cow::Borrowed(command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_gone_is_looked_up_by_its_path() {
        let gone = io::Error::from(io::ErrorKind::NotFound);
        let (here, last) = (Ok(Path::new("/now")), Some(Path::new("/last")));
        for (current, last, given, expected) in [
            (here, last, None, None),
            (here, last, Some("sub"), Some("sub")),
            (Err(&gone), None, None, None),
            (Err(&gone), last, None, Some("/last")),
            (Err(&gone), last, Some("sub"), Some("/last/sub")),
            (Err(&gone), last, Some("/srv"), Some("/srv")),
        ] {
            let command = Command::new("tool");
            let command = given.map_or(command.clone(), |given| command.current_dir(given));
            let found = from(&command, current, last);
            assert_eq!(found.directory(), expected.map(Path::new), "{current:?} {last:?} {given:?}");
        }
    }
}
