//! Lists of a server: one page, or all of them as a stream (MCP 2025-11-25, server/utilities/pagination).

use std::collections::VecDeque;
use std::future::Future;

use futures_util::{Stream, TryStreamExt, stream};
use protomcp_session::{Cursors, EndlessList, NextPage, RequestError};
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
        let mut cursors = Cursors::default();
        let mut cursor = None;
        loop {
            // Boxed, because listing is itself a request.
            let page = Box::pin(self.tool_page(cursor.take(), true)).await?;
            match cursors.next(page.next_cursor).map_err(endless)? {
                NextPage::At(next) => cursor = Some(next),
                NextPage::End | NextPage::Repeated => return Ok(()),
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

fn endless(error: EndlessList) -> RequestError {
    RequestError::InvalidAnswer(error.to_string())
}

/// The position in a list.
struct Walk<T> {
    ready: VecDeque<T>,
    /// The page to ask for next; `None` after the last.
    next: Option<Option<String>>,
    cursors: Cursors,
}

fn pages<T, F>(fetch: impl Fn(Option<String>) -> F + Send) -> impl Stream<Item = Result<T, RequestError>> + Send
where
    T: Send,
    F: Future<Output = Result<Page<T>, RequestError>> + Send,
{
    let walk = Walk { ready: VecDeque::new(), next: Some(None), cursors: Cursors::default() };
    stream::unfold((walk, fetch), |(mut walk, fetch)| async move {
        loop {
            if let Some(item) = walk.ready.pop_front() {
                return Some((Ok(item), (walk, fetch)));
            }
            let cursor = walk.next.take()?;
            let page = match fetch(cursor).await {
                Ok(page) => page,
                Err(error) => return Some((Err(error), (walk, fetch))),
            };
            match walk.cursors.next(page.next_cursor) {
                Ok(NextPage::At(next)) => walk.next = Some(Some(next)),
                Ok(NextPage::End) => {}
                Ok(NextPage::Repeated) => return None,
                Err(error) => return Some((Err(endless(error)), (walk, fetch))),
            }
            walk.ready = page.items.into();
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
    }

    #[test]
    fn one_bad_element_costs_no_other() {
        let raw = RawJson::parse(r#"[{"name":"a","uri":"u"},5,{"name":"b","uri":"v"}]"#).unwrap();
        let page: Page<Resource> = page(&raw, None).unwrap();
        assert_eq!(page.items.len(), 2);
        assert!(super::page::<Resource>(&RawJson::EMPTY_OBJECT, None).is_err());
    }
}
