//! The lists of the MCP server, as one conversation sees them.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_session::{Cursors, NextPage};
use protomcp_types::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, Prompt, RawJson, Resource, ResourceTemplate, Tool,
};
use serde::de::DeserializeOwned;

use crate::code;
use crate::cursor::ListDigest;
use crate::fault::Fault;
use crate::serve::mcp::served_method::ServedMethod;
use crate::serve::mcp::{Mcp, Outcome};

/// The tools, by name, as they were last asked for.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    tools: Option<Arc<Tools>>,
    /// The number of changes of the list.
    changes: u64,
}

/// All tools of a server.
#[derive(Debug)]
pub(super) struct Tools {
    /// In the order of their names.
    pub(super) all: Vec<Arc<Tool>>,
    /// Of all definitions.
    pub(super) digest: ListDigest,
}

impl Tools {
    fn of(mut all: Vec<Arc<Tool>>) -> Self {
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.dedup_by(|one, other| one.name == other.name);
        let digest = ListDigest::of(all.iter().map(|tool| tool.to_raw().into_bytes()));
        Self { all, digest }
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Tool>> {
        let at = self.all.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok()?;
        self.all.get(at).cloned()
    }
}

impl Catalog {
    /// The list has changed.
    pub(super) fn forget(&self) {
        let mut known = self.lock();
        known.tools = None;
        known.changes += 1;
    }

    /// The tools as they are known.
    pub(super) fn known(&self) -> Option<Arc<Tools>> {
        self.lock().tools.clone()
    }

    /// Asks for all tools. A list that changes while it is read is not kept: its pages may be older.
    pub(super) async fn fetch(&self, mcp: &Mcp) -> Result<Arc<Tools>, Fault> {
        let changes = self.lock().changes;
        let (mut all, mut bytes, mut request) = (Vec::new(), 0, ListTools::default());
        let mut cursors = Cursors::default();
        loop {
            let Outcome { result: page, reservation: _reservation } = mcp.request::<ListTools>(request.clone()).await?;
            bytes += page.tools.len();
            let next = cursors.next(page.next_cursor).map_err(unreadable)?;
            let elements = mcp.worker.run(page.tools.len(), move || elements::<Tool>(&page.tools)).await?;
            if next != NextPage::Repeated {
                all.extend(elements.into_iter().map(Arc::new));
                check_size(all.len())?;
            }
            let NextPage::At(cursor) = next else { break };
            request.cursor = Some(cursor);
        }
        let tools = mcp.worker.run(bytes, move || Arc::new(Tools::of(all))).await;
        let mut known = self.lock();
        if known.changes == changes {
            known.tools = Some(Arc::clone(&tools));
        }
        Ok(tools)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A list of MCP that is fetched for each answer.
pub(super) trait ListMethod: ServedMethod + 'static {
    type Entry: DeserializeOwned + Send + 'static;

    /// The request for the page at this cursor.
    fn page_at(cursor: Option<String>) -> Self::Params;

    /// The entries of a page, and the cursor of the next one.
    fn entries(page: Self::Result) -> (RawJson, Option<String>);

    /// The text that identifies an entry.
    fn key(entry: &Self::Entry) -> &str;
}

macro_rules! lists {
    ($($method:ident: $entries:ident of $entry:ident by $key:ident;)*) => {
        $(impl ListMethod for $method {
            type Entry = $entry;

            fn page_at(cursor: Option<String>) -> Self {
                Self { cursor, meta: None }
            }

            fn entries(page: Self::Result) -> (RawJson, Option<String>) {
                (page.$entries, page.next_cursor)
            }

            fn key(entry: &$entry) -> &str {
                &entry.$key
            }
        })*
    };
}

lists! {
    ListResources: resources of Resource by uri;
    ListResourceTemplates: resource_templates of ResourceTemplate by uri_template;
    ListPrompts: prompts of Prompt by name;
}

/// Asks for all entries of a list, in the order of their keys.
pub(super) async fn all<M: ListMethod>(mcp: &Mcp) -> Result<Vec<M::Entry>, Fault> {
    let (mut all, mut cursor, mut cursors) = (Vec::new(), None, Cursors::default());
    loop {
        let Outcome { result, reservation: _reservation } = mcp.request::<M>(M::page_at(cursor)).await?;
        let (list, next) = M::entries(result);
        let next = cursors.next(next).map_err(unreadable)?;
        let entries = mcp.worker.run(list.len(), move || elements::<M::Entry>(&list)).await?;
        if next != NextPage::Repeated {
            all.extend(entries);
            check_size(all.len())?;
        }
        let NextPage::At(next) = next else { break };
        cursor = Some(next);
    }
    all.sort_by(|one, other| M::key(one).cmp(M::key(other)));
    all.dedup_by(|one, other| M::key(one) == M::key(other));
    Ok(all)
}

/// The elements of a page. Those that cannot be read are left out, with a warning.
fn elements<T: DeserializeOwned>(list: &RawJson) -> Result<Vec<T>, Fault> {
    let all: Vec<RawJson> = list.to().map_err(unreadable)?;
    let (mut elements, mut first_error) = (Vec::with_capacity(all.len()), None);
    for element in &all {
        match element.to() {
            Ok(element) => elements.push(element),
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    if let Some(error) = first_error {
        let left_out = all.len() - elements.len();
        tracing::warn!(left_out, %error, "left elements that cannot be read out of a list");
    }
    Ok(elements)
}

fn check_size(entries: usize) -> Result<(), Fault> {
    if entries > MAX_ENTRIES { Err(Fault::new(code::INTERNAL_ERROR, "the server's list is too long")) } else { Ok(()) }
}

fn unreadable(error: impl Display) -> Fault {
    Fault::new(code::INTERNAL_ERROR, format!("the server's list cannot be read: {error}"))
}

/// The most entries of one list.
const MAX_ENTRIES: usize = 20_000;
