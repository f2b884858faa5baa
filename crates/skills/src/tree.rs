//! The skills of a server as a value: entries, files and folders by their URIs.
//!
//! A request is answered only for a URI that the tree has made. URIs are compared byte for byte: there are no other
//! spellings of one, and none is taken apart to find a file.

use std::collections::btree_map::{BTreeMap, Range};
use std::ops::Bound;

use protomcp_schema::{Page, sized_page};
use protomcp_types::{ErrorObject, JsonBuf, Quoted, RawJson, Resource, array};

use crate::file_name::SKILL_FILE;
use crate::frontmatter::Frontmatter;
use crate::limits::PAGE_BYTES;
use crate::media_type;
use crate::omission::Omission;
use crate::skill_file::SkillFile;

/// The skills that a server serves, with the contents of all their files. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillTree {
    /// By the URI of the file.
    pub(crate) files: BTreeMap<String, SkillFile>,
    /// The names of folders, by their URI.
    pub(crate) folders: BTreeMap<String, String>,
    /// By the URI of `SKILL.md`.
    pub(crate) skills: BTreeMap<String, Frontmatter>,
    pub(crate) omissions: Vec<Omission>,
}

impl SkillTree {
    /// The skills: the URI of each `SKILL.md` with its frontmatter, in the order of the URIs.
    pub fn skills(&self) -> impl Iterator<Item = (&str, &Frontmatter)> {
        self.skills.iter().map(|(uri, frontmatter)| (uri.as_str(), frontmatter))
    }

    /// All files, in the order of their URIs.
    pub fn files(&self) -> impl Iterator<Item = &SkillFile> {
        self.files.values()
    }

    /// The files and folders that were left out.
    #[must_use]
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// A page of entries (SEP-2640, "Listing Skills"). It ends with the entry that reaches [`PAGE_BYTES`]; none is
    /// split.
    ///
    /// # Errors
    /// −32602 for a cursor that no page has ended with.
    pub fn list(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        let entries = |last: Option<&str>| {
            after(&self.skills, last).map(|(uri, frontmatter)| (uri.as_str(), self.entry(uri, frontmatter)))
        };
        sized_page(entries, cursor, PAGE_BYTES)
    }

    /// The entry of one skill, by the URI of its `SKILL.md` (SEP-2640, "Getting a Skill").
    ///
    /// # Errors
    /// −32602 if there is no such skill.
    pub fn get(&self, uri: &str) -> Result<RawJson, ErrorObject> {
        match self.skills.get(uri) {
            Some(frontmatter) => Ok(self.entry(uri, frontmatter)),
            None => Err(ErrorObject::invalid_params(format!("no skill is served at {}", Quoted(uri)))),
        }
    }

    /// A file by its URI.
    #[must_use]
    pub fn read(&self, uri: &str) -> Option<&SkillFile> {
        self.files.get(uri)
    }

    /// A page of the direct children of a folder (SEP-2640, "Reading Directories").
    ///
    /// # Errors
    /// −32602 if there is no such folder, or for a cursor that no page has ended with.
    pub fn directory(&self, uri: &str, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        if !self.folders.contains_key(uri) {
            return Err(ErrorObject::invalid_params(format!("{} is not a folder of skills", Quoted(uri))));
        }
        let prefix = format!("{uri}/");
        let is_child = |child: &str| !child[prefix.len()..].contains('/');
        let files = within(&self.files, &prefix).filter(|(uri, _)| is_child(uri));
        let files = files.map(|(uri, file)| (uri, self.resource(file)));
        let folders = within(&self.folders, &prefix).filter(|(uri, _)| is_child(uri));
        let folders = folders.map(|(uri, name)| (uri, folder(uri, name)));
        let children: BTreeMap<&str, Resource> = files.chain(folders).collect();
        let resources = |last: Option<&str>| {
            let last = last.map(str::to_owned);
            let rest = children.iter().filter(move |(uri, _)| last.as_deref().is_none_or(|last| **uri > last));
            rest.map(|(uri, resource)| (*uri, resource.to_raw()))
        };
        sized_page(resources, cursor, PAGE_BYTES)
    }

    /// A page of the resources that `resources/list` has: each `SKILL.md`.
    ///
    /// # Errors
    /// −32602 for a cursor that no page has ended with.
    pub fn resources(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        let resources = |last: Option<&str>| {
            let files = after(&self.skills, last).filter_map(|(uri, _)| self.files.get_key_value(uri));
            files.map(|(uri, file)| (uri.as_str(), self.resource(file).to_raw()))
        };
        sized_page(resources, cursor, PAGE_BYTES)
    }

    /// The files of `self` that `newer` does not have, or has with other contents.
    pub(crate) fn changed_in<'a>(&'a self, newer: &'a Self) -> impl Iterator<Item = &'a str> {
        let is_changed = move |uri: &str, file: &SkillFile| newer.files.get(uri).is_none_or(|new| new != file);
        self.files.iter().filter(move |(uri, file)| is_changed(uri, file)).map(|(uri, _)| uri.as_str())
    }

    /// The files of the skill with this `SKILL.md`, the files of nested skills included.
    pub(crate) fn files_of(&self, uri: &str) -> impl Iterator<Item = &SkillFile> {
        let folder = uri.strip_suffix(SKILL_FILE).expect("a skill has the URI of its SKILL.md");
        within(&self.files, folder).map(|(_, file)| file)
    }

    fn entry(&self, uri: &str, frontmatter: &Frontmatter) -> RawJson {
        let files = array(self.files_of(uri).map(SkillFile::to_entry));
        let object = JsonBuf::object().text("uri", uri).raw("frontmatter", frontmatter.as_json());
        object.raw("resources", &files).finish().into_raw()
    }

    /// The definition of a file. A `SKILL.md` has the name and the description of its skill (SEP-2640, "Resource
    /// Metadata").
    fn resource(&self, file: &SkillFile) -> Resource {
        let resource = file.to_resource();
        match self.skills.get(file.uri()) {
            Some(skill) => Resource {
                name: skill.name().to_owned(),
                description: Some(skill.description().to_owned()),
                ..resource
            },
            None => resource,
        }
    }
}

fn folder(uri: &str, name: &str) -> Resource {
    Resource { mime_type: Some(media_type::DIRECTORY.to_owned()), ..Resource::new(uri, name) }
}

/// The values behind a key.
fn after<'a, V>(map: &'a BTreeMap<String, V>, last: Option<&str>) -> Range<'a, String, V> {
    map.range::<str, _>((last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
}

/// The values whose keys begin with `prefix`.
fn within<'a, V>(map: &'a BTreeMap<String, V>, prefix: &str) -> impl Iterator<Item = (&'a str, &'a V)> + use<'a, V> {
    let begin = prefix.to_owned();
    let from = map.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
    from.map(|(uri, value)| (uri.as_str(), value)).take_while(move |(uri, _)| uri.starts_with(&begin))
}
