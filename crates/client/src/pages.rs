//! Lists of a server: one page, or all of them as a stream (MCP 2025-11-25, server/utilities/pagination).

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::hash::{BuildHasher, RandomState};

use futures_util::{Stream, TryStreamExt, stream};
use protomcp_session::RequestError;
use protomcp_types::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, Params, Prompt, RawJson, Resource, ResourceTemplate,
    Tool,
};
use serde::de::DeserializeOwned;

use crate::mirror::Mirrored;
use crate::request::Request;
use crate::session::ClientSession;

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The elements in order. Those that cannot be read are left out, with a warning in the log.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last page. An empty string is a cursor.
    pub next_cursor: Option<String>,
}

/// The pages after which a list that does not end is given up.
pub const MAX_PAGES: usize = 1000;

impl ClientSession {
    /// One page of the tools, the first one without a cursor. Over HTTP, tools that cannot be called there because
    /// their `x-mcp-header` annotations are invalid are left out, with a warning in the log.
    ///
    /// # Errors
    /// Like any request.
    pub async fn list_tools(&self, cursor: Option<String>) -> Result<Page<Tool>, RequestError> {
        self.tool_page(cursor, false).await
    }

    /// One page of the resources, the first one without a cursor.
    ///
    /// # Errors
    /// Like any request.
    pub async fn list_resources(&self, cursor: Option<String>) -> Result<Page<Resource>, RequestError> {
        let result = self.request::<ListResources>(&ListResources { cursor, meta: None }).await?;
        page(&result.resources, result.next_cursor)
    }

    /// One page of the resource templates, the first one without a cursor.
    ///
    /// # Errors
    /// Like any request.
    pub async fn list_resource_templates(
        &self,
        cursor: Option<String>,
    ) -> Result<Page<ResourceTemplate>, RequestError> {
        let result = self.request::<ListResourceTemplates>(&ListResourceTemplates { cursor, meta: None }).await?;
        page(&result.resource_templates, result.next_cursor)
    }

    /// One page of the prompts, the first one without a cursor.
    ///
    /// # Errors
    /// Like any request.
    pub async fn list_prompts(&self, cursor: Option<String>) -> Result<Page<Prompt>, RequestError> {
        let result = self.request::<ListPrompts>(&ListPrompts { cursor, meta: None }).await?;
        page(&result.prompts, result.next_cursor)
    }

    /// All tools, page by page. The stream ends after an error, and with an error if a cursor comes twice.
    pub fn tools(&self) -> impl Stream<Item = Result<Tool, RequestError>> + Send + use<> {
        let session = self.clone();
        pages(move |cursor| {
            let session = session.clone();
            async move { session.list_tools(cursor).await }
        })
    }

    /// All resources, page by page; see [`ClientSession::tools`].
    pub fn resources(&self) -> impl Stream<Item = Result<Resource, RequestError>> + Send + use<> {
        let session = self.clone();
        pages(move |cursor| {
            let session = session.clone();
            async move { session.list_resources(cursor).await }
        })
    }

    /// All resource templates, page by page; see [`ClientSession::tools`].
    pub fn resource_templates(&self) -> impl Stream<Item = Result<ResourceTemplate, RequestError>> + Send + use<> {
        let session = self.clone();
        pages(move |cursor| {
            let session = session.clone();
            async move { session.list_resource_templates(cursor).await }
        })
    }

    /// All prompts, page by page; see [`ClientSession::tools`].
    pub fn prompts(&self) -> impl Stream<Item = Result<Prompt, RequestError>> + Send + use<> {
        let session = self.clone();
        pages(move |cursor| {
            let session = session.clone();
            async move { session.list_prompts(cursor).await }
        })
    }

    /// All tools, of all pages.
    ///
    /// # Errors
    /// Like any request, and if a cursor comes twice.
    pub async fn list_all_tools(&self) -> Result<Vec<Tool>, RequestError> {
        self.tools().try_collect().await
    }

    /// All resources; see [`ClientSession::list_all_tools`].
    ///
    /// # Errors
    /// See [`ClientSession::list_all_tools`].
    pub async fn list_all_resources(&self) -> Result<Vec<Resource>, RequestError> {
        self.resources().try_collect().await
    }

    /// All resource templates; see [`ClientSession::list_all_tools`].
    ///
    /// # Errors
    /// See [`ClientSession::list_all_tools`].
    pub async fn list_all_resource_templates(&self) -> Result<Vec<ResourceTemplate>, RequestError> {
        self.resource_templates().try_collect().await
    }

    /// All prompts; see [`ClientSession::list_all_tools`].
    ///
    /// # Errors
    /// See [`ClientSession::list_all_tools`].
    pub async fn list_all_prompts(&self) -> Result<Vec<Prompt>, RequestError> {
        self.prompts().try_collect().await
    }

    async fn tool_page(&self, cursor: Option<String>, is_fresh: bool) -> Result<Page<Tool>, RequestError> {
        let params = Params::of(&ListTools { cursor, meta: None });
        let request = Request::<ListTools>::of_params(self, params);
        let request = if is_fresh { request.fresh() } else { request };
        let result = request.await?;
        let mut page: Page<Tool> = page(&result.tools, result.next_cursor)?;
        if self.shared.mirrors() {
            let mut known = self.shared.tool_fields();
            page.items.retain(|tool| known.learn(tool));
        }
        Ok(page)
    }

    /// Reads the definition of a tool that was listed by a [forwarded](ClientSession::forward) request, for the header
    /// fields of its calls. False if a proxy has to leave it out of its lists, because the annotations of the tool are
    /// invalid (MCP 2026-07-28, server/tools, `x-mcp-header`). That does not depend on this connection: the proxy may
    /// have clients over HTTP.
    #[must_use]
    pub fn learn_tool(&self, definition: &RawJson) -> bool {
        // One that cannot be read has no header fields.
        let Ok(tool) = definition.to::<Tool>() else { return true };
        if self.shared.mirrors() { self.shared.tool_fields().learn(&tool) } else { is_valid(&tool) }
    }

    /// Reads all definitions of tools again, for the header fields of calls.
    pub(crate) async fn refresh_tools(&self) -> Result<(), RequestError> {
        let mut guard = CursorGuard::default();
        let mut cursor = None;
        loop {
            // Boxed, because listing is itself a request.
            let page = Box::pin(self.tool_page(cursor.clone(), true)).await?;
            match page.next_cursor {
                Some(next) if !guard.has_begun_again(cursor.as_deref(), &next) => cursor = Some(guard.check(next)?),
                _ => return Ok(()),
            }
        }
    }
}

/// False, with a line in the log, if the annotations of a tool are invalid.
fn is_valid(tool: &Tool) -> bool {
    let checked = Mirrored::of(&tool.input_schema);
    checked.inspect_err(|why| tracing::warn!(tool = %tool.name, why, "left a tool out of the list")).is_ok()
}

fn page<T: DeserializeOwned>(items: &RawJson, next_cursor: Option<String>) -> Result<Page<T>, RequestError> {
    let all: Vec<RawJson> =
        items.to().map_err(|error| RequestError::InvalidAnswer(format!("the page is not an array: {error}")))?;
    let count = all.len();
    let mut first_error = None;
    let read = |raw: RawJson| match raw.to() {
        Ok(item) => Some(item),
        Err(error) => {
            first_error.get_or_insert_with(|| error.to_string());
            None
        }
    };
    let items: Vec<T> = all.into_iter().filter_map(read).collect();
    if let Some(error) = first_error {
        let left_out = count - items.len();
        tracing::warn!(left_out, error, "left elements that cannot be read out of a list");
    }
    Ok(Page { items, next_cursor })
}

/// The longest cursor that is sent back, in bytes.
const MAX_CURSOR: usize = 64 * 1024;

/// Finds lists that do not end. It keeps digests of the cursors: a server chooses their length.
#[derive(Debug, Default)]
struct CursorGuard {
    seen: HashSet<u64>,
    state: RandomState,
}

impl CursorGuard {
    /// True if the page for an empty cursor ends with a cursor that has come before: the server means the end with an empty
    /// cursor, and has begun again. For other servers it is a cursor like any.
    fn has_begun_again(&self, asked: Option<&str>, next: &str) -> bool {
        asked == Some("") && self.seen.contains(&self.state.hash_one(next))
    }

    fn check(&mut self, cursor: String) -> Result<String, RequestError> {
        let endless = |why: &str| Err(RequestError::InvalidAnswer(format!("the list does not end: {why}")));
        if cursor.len() > MAX_CURSOR {
            return Err(RequestError::InvalidAnswer(format!("a cursor is longer than {MAX_CURSOR} bytes")));
        }
        if self.seen.len() + 1 >= MAX_PAGES {
            return endless(&format!("it has {MAX_PAGES} pages"));
        }
        if self.seen.insert(self.state.hash_one(&cursor)) { Ok(cursor) } else { endless("a cursor has come twice") }
    }
}

/// The position in a list.
struct Walk<T> {
    ready: VecDeque<T>,
    /// The page to ask for next; `None` after the last.
    next: Option<Option<String>>,
    guard: CursorGuard,
}

fn pages<T, F>(fetch: impl Fn(Option<String>) -> F + Send) -> impl Stream<Item = Result<T, RequestError>> + Send
where
    T: Send,
    F: Future<Output = Result<Page<T>, RequestError>> + Send,
{
    let walk = Walk { ready: VecDeque::new(), next: Some(None), guard: CursorGuard::default() };
    stream::unfold((walk, fetch), |(mut walk, fetch)| async move {
        loop {
            if let Some(item) = walk.ready.pop_front() {
                return Some((Ok(item), (walk, fetch)));
            }
            let cursor = walk.next.take()?;
            let page = match fetch(cursor.clone()).await {
                Ok(page) => page,
                Err(error) => return Some((Err(error), (walk, fetch))),
            };
            let next = page.next_cursor.as_deref();
            if next.is_some_and(|next| walk.guard.has_begun_again(cursor.as_deref(), next)) {
                return None;
            }
            walk.ready = page.items.into();
            match page.next_cursor.map(|cursor| walk.guard.check(cursor)).transpose() {
                Ok(next) => walk.next = next.map(Some),
                Err(error) => {
                    walk.ready.clear();
                    return Some((Err(error), (walk, fetch)));
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    /// A list whose pages are `(elements, next cursor)`, by cursor.
    fn walk(
        page: impl Fn(Option<&str>) -> (Vec<u8>, Option<&'static str>) + Send + Sync,
    ) -> Vec<Result<u8, RequestError>> {
        let fetch = |cursor: Option<String>| {
            let (items, next) = page(cursor.as_deref());
            std::future::ready(Ok(Page { items, next_cursor: next.map(str::to_owned) }))
        };
        pages(fetch).collect::<Vec<_>>().now_or_never().unwrap()
    }

    #[test]
    fn all_pages_are_one_stream() {
        let all = walk(|cursor| match cursor {
            None => (vec![1, 2], Some("")),
            Some("") => (vec![], Some("b")),
            Some(_) => (vec![3], None),
        });
        assert_eq!(all, [Ok(1), Ok(2), Ok(3)], "an empty string is a cursor");
    }

    #[test]
    fn an_empty_cursor_that_means_the_end_repeats_nothing() {
        let one = walk(|_| (vec![1, 2], Some("")));
        assert_eq!(one, [Ok(1), Ok(2)]);
        let two = walk(|cursor| match cursor {
            None | Some("") => (vec![1, 2], Some("b")),
            Some(_) => (vec![3], Some("")),
        });
        assert_eq!(two, [Ok(1), Ok(2), Ok(3)]);
    }

    #[test]
    fn a_list_that_does_not_end_is_an_error() {
        let all = walk(|_| (vec![1], Some("again")));
        assert!(all.last().unwrap().is_err() && all.len() <= 3, "{all:?}");
        let counter = std::sync::atomic::AtomicUsize::new(0);
        let fetch = |_| {
            let number = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::future::ready(Ok(Page { items: vec![number], next_cursor: Some(number.to_string()) }))
        };
        let all = pages(fetch).collect::<Vec<_>>().now_or_never().unwrap();
        assert!(all.last().unwrap().is_err());
        assert_eq!(counter.into_inner(), MAX_PAGES);
    }

    #[test]
    fn a_cursor_of_any_length_is_not_kept() {
        let mut guard = CursorGuard::default();
        assert!(guard.check("x".repeat(MAX_CURSOR)).is_ok());
        assert!(guard.check("x".repeat(MAX_CURSOR + 1)).is_err());
    }

    #[test]
    fn one_bad_element_costs_no_other() {
        let raw = RawJson::parse(r#"[{"name":"a","uri":"u"},5,{"name":"b","uri":"v"}]"#).unwrap();
        let page: Page<Resource> = page(&raw, None).unwrap();
        assert_eq!(page.items.len(), 2);
        assert!(super::page::<Resource>(&RawJson::EMPTY_OBJECT, None).is_err());
    }
}
