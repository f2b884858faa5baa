//! The resources, resource templates and prompts of a tool process, the same for every client.
//!
//! A `Catalog` never changes; replacing one of its three sections makes another catalog that shares the other two.
//! Definitions come from code of others, so each is used as far as possible, and the author is warned of the rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use protomcp_envelope::{PromptDefinition, ResourceDefinition, ResourceTemplateDefinition};
use protomcp_types::{ErrorObject, RawJson, UI_MIME_TYPE, is_same_uri};

use crate::catalog::definition::Prompt;
use crate::catalog::definition::{Resource, Template};
use crate::catalog::faults::{Faults, clipped};
use protomcp_schema::{Page, Pages};

/// A list that can be requested from a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Resources, Self::Templates, Self::Prompts];
}

/// The answer of the process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Listed {
    Resources(Vec<ResourceDefinition>),
    Templates(Vec<ResourceTemplateDefinition>),
    Prompts(Vec<PromptDefinition>),
}

impl Listed {
    /// The answer of a process without entries.
    pub(crate) fn none(kind: Kind) -> Self {
        match kind {
            Kind::Resources => Self::Resources(Vec::new()),
            Kind::Templates => Self::Templates(Vec::new()),
            Kind::Prompts => Self::Prompts(Vec::new()),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Resources(_) => Kind::Resources,
            Self::Templates(_) => Kind::Templates,
            Self::Prompts(_) => Kind::Prompts,
        }
    }
}

/// Resources, templates and prompts, ready for lookups and lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    resources: Arc<Section<Resource>>,
    templates: Arc<Section<Template>>,
    prompts: Arc<Section<Prompt>>,
    /// By [`Kind`]: the process in service has still to send this list for the first time.
    awaited: [bool; 3],
}

impl Catalog {
    /// The same while the process in service has still to send these lists.
    pub(crate) fn awaiting(&self, awaited: [bool; 3]) -> Self {
        Self { awaited, ..self.clone() }
    }

    /// By [`Kind`]: the process in service has still to send this list.
    pub(crate) fn awaited(&self) -> [bool; 3] {
        self.awaited
    }

    /// True if the process in service has still to send one of these lists.
    pub(crate) fn awaits(&self, lists: &[Kind]) -> bool {
        lists.iter().any(|kind| self.awaited[*kind as usize])
    }

    /// The same with one section replaced, if clients see a difference.
    pub(crate) fn with(&self, listed: Listed, faults: &mut Faults) -> Option<Self> {
        let mut other = self.clone();
        let differs = match listed {
            Listed::Resources(wire) => replace(&mut other.resources, wire, faults),
            Listed::Templates(wire) => replace(&mut other.templates, wire, faults),
            Listed::Prompts(wire) => replace(&mut other.prompts, wire, faults),
        };
        differs.then_some(other)
    }

    /// A page of one of the lists; see [`Pages::page`].
    pub(crate) fn page(&self, kind: Kind, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        match kind {
            Kind::Resources => self.resources.page(cursor),
            Kind::Templates => self.templates.page(cursor),
            Kind::Prompts => self.prompts.page(cursor),
        }
    }

    /// The media type of this URI, perhaps empty; `None` if neither a resource nor a template matches it.
    pub(crate) fn media_type(&self, uri: &str) -> Option<&str> {
        // Clients encode URIs.
        let same = || self.resources.items.iter().find(|(known, _)| is_same_uri(known, uri)).map(|(_, found)| found);
        let resource = self.resources.items.get(uri).or_else(same);
        resource.map(|resource| resource.mime_type.as_str()).or_else(|| {
            let mut templates = self.templates.items.values();
            templates.find(|template| template.matches_uri(uri)).map(|template| template.mime_type.as_str())
        })
    }

    /// The URIs of the pages of apps.
    pub(crate) fn apps(&self) -> impl Iterator<Item = &str> {
        let all = self.resources.items.iter().filter(|(_, resource)| resource.mime_type == UI_MIME_TYPE);
        all.map(|(uri, _)| uri.as_str())
    }

    /// True if arguments can be completed for this template or URI.
    pub(crate) fn has_template_or_uri(&self, text: &str) -> bool {
        self.templates.items.contains_key(text) || self.media_type(text).is_some()
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<&Prompt> {
        self.prompts.items.get(name)
    }
}

/// One list.
#[derive(Debug)]
struct Section<T> {
    /// By their names for clients, which is the order of the list.
    items: BTreeMap<String, T>,
    pages: Pages,
}

impl<T> Default for Section<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), pages: Pages::default() }
    }
}

impl<T: Item> Section<T> {
    fn page(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        self.pages.page(|| self.items.iter().map(|(key, item)| (key.as_str(), item.json())), cursor)
    }
}

/// An entry of a section.
pub(super) trait Item: Sized {
    type Wire;
    /// Its name in the log.
    const NOUN: &'static str;
    /// The words for several entries without a name.
    const NAMELESS: &'static str;
    /// The words for several entries that replace others.
    const REPEATED: &'static str;

    /// Its key, and its JSON for clients.
    fn read(wire: Self::Wire, faults: &mut Faults) -> (String, Self);

    /// The definition as an element of its list.
    fn json(&self) -> &RawJson;
}

/// Returns true if clients see a difference.
fn replace<T: Item>(section: &mut Arc<Section<T>>, wire: Vec<T::Wire>, faults: &mut Faults) -> bool {
    let mut items = BTreeMap::new();
    for definition in wire {
        let (key, item) = T::read(definition, faults);
        if key.is_empty() {
            faults.add(T::NAMELESS, || {
                fault::<T>(&key, "it has no name under which it could be asked for, so it is left out")
            });
        } else {
            if items.contains_key(&key) {
                faults.add(T::REPEATED, || fault::<T>(&key, "it is registered twice; the last definition counts"));
            }
            items.insert(key, item);
        }
    }
    let same = section.items.iter().map(|(key, item)| (key, item.json()));
    let differs = !same.eq(items.iter().map(|(key, item)| (key, item.json())));
    if differs {
        *section = Arc::new(Section { items, pages: Pages::default() });
    }
    differs
}

/// The line in the log about a fault of a definition.
pub(super) fn fault<T: Item>(key: &str, what: &str) -> String {
    format!("{} \"{}\": {what}", T::NOUN, clipped(key))
}

#[cfg(test)]
mod tests;
