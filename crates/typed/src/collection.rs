//! A list that clients read while it changes: immutable snapshots, replaced as a whole.
//!
//! Readers take no lock. Definitions are written as JSON once, pages are made once per snapshot, and clients are
//! notified only of changes that one of them can see.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use protomcp_schema::{Page, Pages};
use protomcp_types::{ErrorObject, RawJson};

use crate::definition::DefinitionError;

/// A definition that clients read, such as a [`crate::Tool`].
pub trait Define {
    /// The value that serves its requests.
    #[doc(hidden)]
    type Content: Send + Sync + 'static;

    /// Checks and compiles it.
    ///
    /// # Errors
    /// If the definition is wrong.
    #[doc(hidden)]
    fn define(self) -> Result<Defined<Self::Content>, DefinitionError>;
}

/// A definition that was checked.
#[doc(hidden)]
#[derive(Debug)]
pub struct Defined<C> {
    /// Its key: a name or a URI.
    pub(crate) key: Arc<str>,
    pub(crate) definition: RawJson,
    pub(crate) content: C,
}

/// The tools, prompts, resources or templates of a [`crate::Registry`]. Changes are visible to the next request.
/// Clients are notified once of many changes in quick succession.
pub struct Collection<D: Define> {
    current: ArcSwap<Snapshot<D::Content>>,
    /// Held while a new snapshot is made from the old one.
    writing: Mutex<()>,
    page_size: usize,
    announce: Announce<D::Content>,
}

/// Sorted by key.
pub(crate) type Entries<C> = BTreeMap<Arc<str>, Arc<Defined<C>>>;

/// Notifies clients of new entries; an error if the capability was not declared.
pub(crate) type Announce<C> = Box<dyn Fn(&Entries<C>) -> Result<(), DefinitionError> + Send + Sync>;

/// The list at one moment, sorted.
pub(crate) struct Snapshot<C> {
    entries: Entries<C>,
    pages: Pages,
    page_size: usize,
}

impl<D: Define> Collection<D> {
    pub(crate) fn new(entries: Entries<D::Content>, page: usize, announce: Announce<D::Content>) -> Self {
        let current = ArcSwap::from_pointee(Snapshot { entries, pages: Pages::new(page), page_size: page });
        Self { current, writing: Mutex::new(()), page_size: page, announce }
    }

    /// Adds an entry, or replaces the one with the same name. Returns true if there was one.
    ///
    /// # Errors
    /// If the definition is wrong; the list is unchanged then.
    pub fn insert(&self, item: D) -> Result<bool, DefinitionError> {
        let defined = Arc::new(item.define()?);
        self.change(|entries| Ok(entries.insert(Arc::clone(&defined.key), defined).is_some()))
    }

    /// Removes an entry by its name (resources: by their URI, templates: by their URI template). Returns true if there
    /// was one. Its running calls continue.
    pub fn remove(&self, key: &str) -> bool {
        self.change(|entries| Ok(entries.remove(key).is_some())).unwrap_or(false)
    }

    /// Replaces the whole list. Clients are notified only if the definitions have changed.
    ///
    /// # Errors
    /// If a definition is wrong or occurs twice; the list is unchanged then.
    pub fn replace_all(&self, items: impl IntoIterator<Item = D>) -> Result<(), DefinitionError> {
        let fresh = define_all(items)?;
        self.change(|entries| {
            *entries = fresh;
            Ok(())
        })
    }

    /// The names (or URIs), sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.current.load().entries.keys().map(ToString::to_string).collect()
    }

    /// True if there is an entry with this name (or URI).
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.current.load().entries.contains_key(key)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.current.load().entries.len()
    }

    /// True if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot<D::Content>> {
        self.current.load_full()
    }

    /// The page that begins at `cursor`.
    pub(crate) fn page(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        self.current.load().page(cursor)
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Entries<D::Content>) -> Result<T, DefinitionError>,
    ) -> Result<T, DefinitionError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.current.load_full();
        let mut entries = old.entries.clone();
        let outcome = change(&mut entries)?;
        let visible = !definitions(&old.entries).eq(definitions(&entries));
        if visible {
            // First, because it rejects entries that clients could not see.
            (self.announce)(&entries)?;
        }
        let (pages, page_size) = (Pages::new(self.page_size), self.page_size);
        self.current.store(Arc::new(Snapshot { entries, pages, page_size }));
        Ok(outcome)
    }
}

fn definitions<C>(entries: &Entries<C>) -> impl Iterator<Item = &RawJson> {
    entries.values().map(|entry| &entry.definition)
}

/// Defines several, each with its own key.
pub(crate) fn define_all<D: Define>(
    items: impl IntoIterator<Item = D>,
) -> Result<Entries<D::Content>, DefinitionError> {
    let mut entries = BTreeMap::new();
    for item in items {
        let defined = item.define()?;
        if let Some(twice) = entries.insert(Arc::clone(&defined.key), Arc::new(defined)) {
            return Err(DefinitionError::Twice(twice.key.to_string()));
        }
    }
    Ok(entries)
}

impl<C> Snapshot<C> {
    pub(crate) fn find(&self, key: &str) -> Option<&C> {
        self.entries.get(key).map(|entry| &entry.content)
    }

    pub(crate) fn definition(&self, key: &str) -> Option<&RawJson> {
        self.entries.get(key).map(|entry| &entry.definition)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(|key| &**key)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &C)> {
        self.entries.iter().map(|(key, entry)| (&**key, &entry.content))
    }

    pub(crate) fn contents(&self) -> impl Iterator<Item = &C> {
        self.entries.values().map(|entry| &entry.content)
    }

    /// The page that begins at `cursor` of the definitions that `choose` returns.
    pub(crate) fn chosen(
        &self,
        cursor: Option<&str>,
        choose: impl Fn(&str, &C, &RawJson) -> Option<RawJson>,
    ) -> Result<Page, ErrorObject> {
        let entries = self.entries.iter();
        let chosen = entries.filter_map(|(key, entry)| Some((&**key, choose(key, &entry.content, &entry.definition)?)));
        let chosen: Vec<(&str, RawJson)> = chosen.collect();
        Pages::new(self.page_size).page(|| chosen.iter().map(|(key, definition)| (*key, definition)), cursor)
    }

    fn page(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        self.pages.page(|| self.entries.values().map(|entry| (&*entry.key, &entry.definition)), cursor)
    }
}

impl<D: Define> fmt::Debug for Collection<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
