//! Loads folders: each file is read once, hashed and kept, so that a later change on the disk cannot change the
//! contents that a digest describes.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::file_name::{ROOT, SKILL_FILE, child, is_private, parent, readable};
use crate::folder::{FileEntry, Folder, Found};
use crate::frontmatter::Frontmatter;
use crate::limits::{MAX_DEPTH, MAX_FILES, MAX_NAMES, MAX_SKILL_BYTES, MAX_SKILLS, MAX_TREE_BYTES, MAX_URI};
use crate::load_error::LoadError;
use crate::omission::{Omission, Omitted};
use crate::skill_file::SkillFile;
use crate::tree::SkillTree;

impl SkillTree {
    /// Loads the skills in a folder: the folder itself if it has a `SKILL.md`, or each folder below it that has one.
    ///
    /// The URI of a skill has the names of the folders below `folder`, such as `skill://billing/refunds/SKILL.md`. A
    /// skill inside of another one is a skill, and its files are files of the outer one, too. Blocks while it reads.
    ///
    /// Links, devices, pipes, names that begin with a dot, names that are not plain text, and what is not in a skill and
    /// may not be read are left out ([`SkillTree::omissions`]).
    ///
    /// # Errors
    /// [`LoadError`] if a file cannot be read, a `SKILL.md` is not valid, or a bound is exceeded.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, LoadError> {
        Self::load_all([folder])
    }

    /// Like [`SkillTree::load`], with the skills of several folders.
    ///
    /// A folder that occurs twice, by whatever paths, is loaded once.
    ///
    /// # Errors
    /// See [`SkillTree::load`]; also if two folders have the same file.
    pub fn load_all<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Result<Self, LoadError> {
        let mut loader = Loader::default();
        for folder in folders {
            loader.load(folder.as_ref())?;
        }
        loader.finish()
    }
}

/// A tree that is being loaded.
#[derive(Debug, Default)]
struct Loader {
    tree: SkillTree,
    /// The names that were looked at.
    names: usize,
    /// The bytes that were read.
    bytes: u64,
    /// The path of each file, by its URI.
    paths: HashMap<String, PathBuf>,
    /// The folders that were loaded, without links in their paths.
    loaded: HashSet<PathBuf>,
}

/// A folder on the way.
struct Visited {
    folder: Folder,
    /// For messages alone.
    path: PathBuf,
    uri: String,
    name: String,
    depth: usize,
    /// It is in a skill, so that its files are served.
    is_inside: bool,
}

impl Loader {
    fn load(&mut self, path: &Path) -> Result<(), LoadError> {
        let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
        let folder = Folder::open(path).map_err(unreadable)?;
        // `.` has a name, too.
        let place = path.canonicalize().map_err(unreadable)?;
        if !self.loaded.insert(place.clone()) {
            return Ok(());
        }
        let mut first = Visited {
            folder,
            path: path.to_owned(),
            uri: ROOT.to_owned(),
            name: String::new(),
            depth: 0,
            is_inside: false,
        };
        if first.folder.has_file(SKILL_FILE) {
            first.name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
            first.uri = child(ROOT, &first.name);
        }
        self.visit(&first)
    }

    fn visit(&mut self, visited: &Visited) -> Result<(), LoadError> {
        let unreadable = |source| LoadError::Unreadable { path: visited.path.clone(), source };
        let names = match visited.folder.names(MAX_NAMES - self.names) {
            Err(error) if visited.depth > 0 && !visited.is_inside && error.kind() == ErrorKind::PermissionDenied => {
                self.omit(visited.path.clone(), Omitted::Unreadable);
                return Ok(());
            }
            names => names.map_err(unreadable)?,
        };
        self.names += names.len();
        if self.names > MAX_NAMES {
            return Err(LoadError::TooManyNames);
        }
        let is_inside = visited.is_inside || visited.folder.has_file(SKILL_FILE);
        if is_inside {
            self.tree.folders.insert(visited.uri.clone(), visited.name.clone());
        }
        for name in names {
            let path = visited.path.join(OsStr::from_bytes(&name));
            let Some(name) = readable(&name) else {
                self.omit(path, Omitted::Name);
                continue;
            };
            if is_private(name) {
                self.omit(path, Omitted::Private);
                continue;
            }
            let found = visited.folder.find(name);
            if !is_inside && found.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
                self.omit(path, Omitted::Unreadable);
                continue;
            }
            match found.map_err(|source| LoadError::Unreadable { path: path.clone(), source })? {
                Found::File(file) if is_inside => self.file(visited, file, name, path)?,
                Found::Folder(folder) => {
                    let (uri, name) = (child(&visited.uri, name), name.to_owned());
                    let depth = visited.depth + 1;
                    if depth > MAX_DEPTH {
                        return Err(LoadError::TooDeep { path });
                    }
                    self.visit(&Visited { folder, path, uri, name, depth, is_inside })?;
                }
                Found::Link => self.omit(path, Omitted::Link),
                Found::Special => self.omit(path, Omitted::Special),
                Found::File(_) | Found::Gone => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, visited: &Visited, file: FileEntry, name: &str, path: PathBuf) -> Result<(), LoadError> {
        let uri = child(&visited.uri, name);
        if uri.len() > MAX_URI {
            return Err(LoadError::LongUri { path });
        }
        let room = MAX_TREE_BYTES - self.bytes;
        let contents = match file.read(room.min(MAX_SKILL_BYTES)) {
            Ok(Some(contents)) => contents,
            Ok(None) if room < MAX_SKILL_BYTES => return Err(LoadError::TreeTooLarge),
            Ok(None) => return Err(LoadError::FileTooLarge { path }),
            Err(source) => return Err(LoadError::Unreadable { path, source }),
        };
        self.bytes += contents.len() as u64;
        if name == SKILL_FILE {
            let skill =
                Frontmatter::read(&contents).map_err(|why| LoadError::Frontmatter { path: path.clone(), why })?;
            if skill.name() != visited.name {
                return Err(LoadError::Misnamed { path: visited.path.clone(), name: skill.name().to_owned() });
            }
            self.tree.skills.insert(uri.clone(), skill);
            if self.tree.skills.len() > MAX_SKILLS {
                return Err(LoadError::TooManySkills);
            }
        }
        if let Some(first) = self.paths.insert(uri.clone(), path.clone()) {
            return Err(LoadError::Duplicate { uri, first, second: path });
        }
        self.tree.files.insert(uri.clone(), SkillFile::new(uri, name, contents));
        Ok(())
    }

    fn omit(&mut self, path: PathBuf, why: Omitted) {
        self.tree.omissions.push(Omission { path, why });
    }

    /// The tree, if each skill keeps the limits.
    fn finish(mut self) -> Result<SkillTree, LoadError> {
        for uri in self.tree.skills.keys() {
            let (mut count, mut bytes) = (0, 0);
            for file in self.tree.files_of(uri) {
                count += 1;
                bytes += file.size();
            }
            if count > MAX_FILES {
                return Err(LoadError::TooManyFiles { uri: uri.clone() });
            }
            if bytes > MAX_SKILL_BYTES {
                return Err(LoadError::TooLarge { uri: uri.clone() });
            }
        }
        self.add_prefixes();
        Ok(self.tree)
    }

    /// Adds the folders that lead to skills: they are folders of the namespace, too.
    fn add_prefixes(&mut self) {
        for uri in self.tree.skills.keys() {
            let mut folder = parent(uri);
            while let Some(uri) = folder {
                if !self.tree.folders.contains_key(uri) {
                    let name = uri.rsplit('/').next().unwrap_or_default();
                    let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy().into_owned();
                    self.tree.folders.insert(uri.to_owned(), name);
                }
                folder = parent(uri);
            }
        }
    }
}
