//! The system's notifications: the meaning of their events, and the directories to request.
//!
//! On Linux and the BSDs every directory is requested separately, so that ignored ones cost nothing. Elsewhere one
//! request covers a whole tree, and the tree drops notifications from ignored directories.

use std::path::{Path, PathBuf};

use notify::event::{EventKind, ModifyKind};
use notify::{Config, Event, EventHandler, RecommendedWatcher, RecursiveMode, Watcher as _};

/// A source of change notifications for requested directories. Tests have their own.
pub(crate) trait Notifier: Send {
    /// Watches one directory: its files and names, not its subdirectories.
    fn watch(&mut self, directory: &Path) -> notify::Result<()>;
}

/// True if one request covers a directory with everything below it.
pub(crate) const COVERS_TREES: bool = cfg!(any(target_os = "macos", target_os = "windows"));

/// The notifier of one watcher, where a request covers a tree.
struct Native {
    watcher: RecommendedWatcher,
    covered: Vec<PathBuf>,
}

impl Notifier for Native {
    fn watch(&mut self, directory: &Path) -> notify::Result<()> {
        if self.covered.iter().any(|tree| directory.starts_with(tree)) {
            return Ok(());
        }
        self.watcher.watch(directory, RecursiveMode::Recursive)?;
        self.covered.push(directory.to_owned());
        Ok(())
    }
}

/// Opens notifications of trees for one watcher. The handler is called on a thread of the notifier and must not block.
pub(crate) fn open(handler: impl EventHandler) -> notify::Result<Box<dyn Notifier>> {
    let watcher = RecommendedWatcher::new(handler, Config::default())?;
    Ok(Box::new(Native { watcher, covered: Vec::new() }))
}

/// A path from an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sign {
    pub(crate) path: PathBuf,
    pub(crate) evidence: Evidence,
}

/// The strength of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Content or name of the file changed.
    Certain,
    /// The file has to be checked.
    Hint,
}

/// The content of an event, or the loss of some events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Signs(Vec<Sign>),
    Lost,
}

/// Reads an event. Opening, reading and closing a file is ignored: the tool process itself opens watched files.
pub(crate) fn read(event: Event) -> Reading {
    if event.need_rescan() {
        return Reading::Lost;
    }
    let evidence = match event.kind {
        EventKind::Access(_) => return Reading::Signs(Vec::new()),
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Name(_)) => {
            Evidence::Certain
        }
        // These include changed permissions, which do not count, and changed times, which do.
        EventKind::Modify(ModifyKind::Metadata(_) | ModifyKind::Any | ModifyKind::Other)
        | EventKind::Any
        | EventKind::Other => Evidence::Hint,
    };
    Reading::Signs(event.paths.into_iter().map(|path| Sign { path, evidence }).collect())
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
        check(Create(CreateKind::File), &[Evidence::Certain]);
        check(Create(CreateKind::Folder), &[Evidence::Certain]);
        check(Remove(RemoveKind::File), &[Evidence::Certain]);
        check(Remove(RemoveKind::Folder), &[Evidence::Certain]);
        check(Modify(ModifyKind::Data(DataChange::Any)), &[Evidence::Certain]);
        check(Modify(ModifyKind::Name(RenameMode::From)), &[Evidence::Certain]);
        check(Modify(ModifyKind::Name(RenameMode::To)), &[Evidence::Certain]);
        check(Modify(ModifyKind::Metadata(MetadataKind::Any)), &[Evidence::Hint]);
        check(Modify(ModifyKind::Any), &[Evidence::Hint]);
        check(EventKind::Any, &[Evidence::Hint]);

        fn check(kind: EventKind, expected: &[Evidence]) {
            let Reading::Signs(signs) = read(Event::new(kind).add_path("a".into())) else { panic!("{kind:?}") };
            assert!(signs.iter().all(|sign| sign.path == Path::new("a")));
            assert_eq!(signs.iter().map(|sign| sign.evidence).collect::<Vec<_>>(), expected, "{kind:?}");
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
