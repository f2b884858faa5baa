//! Turns saves into inputs of the core.

use std::path::{Path, PathBuf};

use protomcp_watch::{Backend, Filter, Watch, Watcher};
use tokio::sync::mpsc;

use crate::core::io::Input;
use crate::driver::message::Message;

/// The extensions of the files that make up a page.
const PAGE_FILES: [&str; 6] = ["css", "htm", "html", "js", "mjs", "svg"];

/// Files of the author.
#[derive(Debug)]
pub(crate) struct Watched {
    watch: Watch,
    /// The files of the program, if files of pages are watched with them.
    program: Option<Filter>,
}

/// The receivers of changes.
#[derive(Debug, Clone)]
pub(crate) struct Receivers {
    /// Changes of the program.
    pub(crate) program: mpsc::Sender<Message>,
    /// Changes of pages.
    pub(crate) pages: mpsc::Sender<Message>,
}

impl Watched {
    /// The files of a program.
    pub(crate) fn program(watch: Watch) -> Self {
        Self { watch, program: None }
    }

    /// The files of a program, and the files of pages in addition to them.
    pub(crate) fn with_pages(mut watch: Watch) -> Self {
        let program = watch.filter.clone();
        watch.filter = watch.filter.extensions(PAGE_FILES);
        Self { watch, program: Some(program) }
    }

    /// Reports all changes from now on.
    pub(crate) fn starting_now(self) -> Self {
        Self { watch: self.watch.from_now(), ..self }
    }

    /// Watches until the bridge has ended. The first scan may take a while in a large folder, so it happens on a
    /// blocking thread, concurrently with the start of the tool process.
    pub(crate) async fn run(self, receivers: Receivers) {
        let Self { watch, program } = self;
        let (watcher, mut batches) = match tokio::task::spawn_blocking(|| Watcher::spawn(watch)).await {
            Ok(Ok(watching)) => watching,
            Ok(Err(error)) => return tracing::error!("changes of the tool file will not be noticed: {error}"),
            Err(error) => return tracing::error!("changes of the tool file will not be noticed: {error}"),
        };
        if let Backend::Poll { every, because: Some(why) } = watcher.backend() {
            tracing::warn!("looking for changes every {every:?}: {why}");
        }
        while let Some(batch) = batches.recv().await {
            tracing::debug!(paths = ?batch.paths, "files changed");
            let (pages, sources): (Vec<&PathBuf>, Vec<&PathBuf>) =
                batch.paths.iter().partition(|path| is_page(program.as_ref(), path));
            if !pages.is_empty() && receivers.pages.send(Input::PagesChanged.into()).await.is_err() {
                return;
            }
            let reloads = batch.overflow || !sources.is_empty();
            if reloads && receivers.program.send(Input::Changed.into()).await.is_err() {
                return;
            }
        }
    }
}

/// True for a file of a page that does not belong to the program.
fn is_page(program: Option<&Filter>, path: &Path) -> bool {
    let is_part = |extension: &&str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
    program.is_some_and(|program| !program.wants(path) && PAGE_FILES.iter().any(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_file_that_the_program_does_not_have() {
        for (entry, path, expected) in [
            ("t.py", "page.html", true),
            ("t.py", "web/PAGE.HTM", true),
            ("t.py", "style.css", true),
            ("t.py", "script.js", true),
            ("t.py", "t.py", false),
            ("t.js", "script.js", false),
            ("t.js", "page.html", true),
            ("page.html", "page.html", false),
        ] {
            let program = Filter::source(Path::new(entry));
            assert_eq!(is_page(Some(&program), Path::new(path)), expected, "{entry} {path}");
            assert!(!is_page(None, Path::new(path)), "{path}");
        }
    }
}
