//! The system's notifications: which kinds of event say that something changed, and where to ask for them.
//!
//! On Linux and the BSDs every directory is asked for by itself, so that ignored ones cost nothing. Elsewhere one request
//! covers a whole tree, and what arrives from ignored directories is dropped by the tree.

use std::path::{Path, PathBuf};

use notify::event::{EventKind, ModifyKind};
use notify::{Config, Event, EventHandler, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Something that notifies of changes in the directories it was asked to watch. Tests have their own.
pub(crate) trait Notifier: Send {
    /// Watches one directory: the files and the names in it, not what is below.
    fn watch(&mut self, directory: &Path) -> notify::Result<()>;
}

/// Whether one request covers a directory with everything below it.
pub(crate) const COVERS_TREES: bool = cfg!(any(target_os = "macos", target_os = "windows"));

struct Native {
    watcher: RecommendedWatcher,
    covered: Vec<PathBuf>,
}

impl Notifier for Native {
    fn watch(&mut self, directory: &Path) -> notify::Result<()> {
        if !COVERS_TREES {
            return self.watcher.watch(directory, RecursiveMode::NonRecursive);
        }
        if self.covered.iter().any(|tree| directory.starts_with(tree)) {
            return Ok(());
        }
        self.watcher.watch(directory, RecursiveMode::Recursive)?;
        self.covered.push(directory.to_owned());
        Ok(())
    }
}

/// Opens the system's notifications. The handler is called on a thread of theirs and must not block.
pub(crate) fn open(handler: impl EventHandler) -> notify::Result<Box<dyn Notifier>> {
    let watcher = RecommendedWatcher::new(handler, Config::default())?;
    Ok(Box::new(Native { watcher, covered: Vec::new() }))
}

/// One path out of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sign {
    pub(crate) path: PathBuf,
    /// The event itself says that content or name changed. Otherwise only a look at the file can tell.
    pub(crate) certain: bool,
}

/// What an event says, or that the system lost some events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Signs(Vec<Sign>),
    Lost,
}

/// Reads an event. Opening, reading and closing a file says nothing: the tool process itself opens what we watch.
pub(crate) fn read(event: Event) -> Reading {
    if event.need_rescan() {
        return Reading::Lost;
    }
    let certain = match event.kind {
        EventKind::Access(_) => return Reading::Signs(Vec::new()),
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Name(_)) => {
            true
        }
        // Among these are changed permissions, which do not matter, and changed times, which do.
        EventKind::Modify(ModifyKind::Metadata(_) | ModifyKind::Any | ModifyKind::Other)
        | EventKind::Any
        | EventKind::Other => false,
    };
    Reading::Signs(event.paths.into_iter().map(|path| Sign { path, certain }).collect())
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, Flag, MetadataKind, RemoveKind, RenameMode};

    use super::*;

    #[test]
    fn kinds_of_event_are_read_for_what_they_say() {
        use EventKind::{Access, Create, Modify, Remove};
        check(Access(AccessKind::Open(AccessMode::Any)), &[]);
        check(Access(AccessKind::Read), &[]);
        check(Access(AccessKind::Close(AccessMode::Read)), &[]);
        check(Access(AccessKind::Close(AccessMode::Write)), &[]);
        check(Create(CreateKind::File), &[true]);
        check(Create(CreateKind::Folder), &[true]);
        check(Remove(RemoveKind::File), &[true]);
        check(Remove(RemoveKind::Folder), &[true]);
        check(Modify(ModifyKind::Data(DataChange::Any)), &[true]);
        check(Modify(ModifyKind::Name(RenameMode::From)), &[true]);
        check(Modify(ModifyKind::Name(RenameMode::To)), &[true]);
        check(Modify(ModifyKind::Metadata(MetadataKind::Any)), &[false]);
        check(Modify(ModifyKind::Any), &[false]);
        check(EventKind::Any, &[false]);

        fn check(kind: EventKind, expected: &[bool]) {
            let Reading::Signs(signs) = read(Event::new(kind).add_path("a".into())) else { panic!("{kind:?}") };
            assert!(signs.iter().all(|sign| sign.path == Path::new("a")));
            assert_eq!(signs.iter().map(|sign| sign.certain).collect::<Vec<_>>(), expected, "{kind:?}");
        }
    }

    #[test]
    fn an_event_may_speak_of_two_paths() {
        let kind = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        let Reading::Signs(signs) = read(Event::new(kind).add_path("a".into()).add_path("b".into())) else { panic!() };
        assert_eq!(signs.len(), 2);
    }

    #[test]
    fn lost_events_are_noticed() {
        assert_eq!(read(Event::new(EventKind::Other).set_flag(Flag::Rescan)), Reading::Lost);
    }
}
