//! The lists of the server, page by page, and the handshake that the list of tools belongs to.

use std::collections::BTreeSet;

use protomcp_envelope::{
    Envelope, Msg, PromptListResponse, ReloadResponse, ResourceListResponse, ResourceTemplateListResponse,
    ToolListResponse,
};
use protomcp_server::{ServerRequest, ServerResult};
use protomcp_session::NextPage;
use protomcp_types::{ErrorObject, Method, Prompt, RawJson, Resource, ResourceTemplate, Subscribe, Tool};
use protomcp_wire::process::definition;
use serde::de::DeserializeOwned;

use crate::exchange::pending::{List, Listing, Pending, Reply};
use crate::exchange::{Exchange, selection};
use crate::step::Step;

/// The most resources whose changes are passed on.
const SUBSCRIPTIONS_MAX: usize = 1024;

impl Exchange {
    /// Asks the server for a list; one that it does not have is empty.
    pub(super) fn list(&mut self, list: List, reply: Reply) -> Vec<Step> {
        if ServerRequest::is_offered(list.method(), &self.capabilities) {
            vec![self.page(Listing::new(list, reply), None)]
        } else {
            self.listed(list, reply, &[])
        }
    }

    fn page(&mut self, listing: Listing, cursor: Option<String>) -> Step {
        self.request(listing.list.page(cursor), Pending::List(listing))
    }

    /// The server has answered with a page.
    pub(super) fn paged(&mut self, mut listing: Listing, answer: Result<ServerResult, ErrorObject>) -> Vec<Step> {
        let (items, next) = match answer.and_then(entries) {
            Ok(page) => page,
            Err(error) => return self.unlisted(&listing, &error),
        };
        match listing.cursors.next(next) {
            Ok(NextPage::At(cursor)) => {
                listing.items.extend(items);
                vec![self.page(listing, Some(cursor))]
            }
            Ok(NextPage::End) => {
                listing.items.extend(items);
                self.listed(listing.list, listing.reply, &listing.items)
            }
            Ok(NextPage::Repeated) => self.listed(listing.list, listing.reply, &listing.items),
            Err(endless) => self.unlisted(&listing, &ErrorObject::internal(endless.to_string())),
        }
    }

    /// All pages are there.
    fn listed(&mut self, list: List, reply: Reply, items: &[RawJson]) -> Vec<Step> {
        let mut hidden = BTreeSet::new();
        let mut tool = |mut tool: Tool| {
            if selection::take_mark(&mut tool) {
                hidden.insert(tool.name.to_string());
            }
            definition::tool(tool)
        };
        let message: Msg = match list {
            List::Tools => ToolListResponse { tools: read(items, &mut tool) }.into(),
            List::Resources => {
                ResourceListResponse { resources: read::<Resource, _>(items, definition::resource) }.into()
            }
            List::Templates => {
                let templates = read::<ResourceTemplate, _>(items, definition::resource_template);
                ResourceTemplateListResponse { templates }.into()
            }
            List::Prompts => PromptListResponse { prompts: read::<Prompt, _>(items, definition::prompt) }.into(),
        };
        let subscriptions = match &message {
            Msg::ResourceListResponse(list) => list.resources.iter().map(|resource| resource.uri.clone()).collect(),
            _ => Vec::new(),
        };
        let mut after = if list == List::Tools { self.hide(hidden) } else { Vec::new() };
        after.extend(subscriptions.into_iter().filter_map(|uri| self.subscribe(uri)));
        self.reply_list(reply, message, after)
    }

    /// The list, and the messages after it and after the handshake that it may belong to.
    fn reply_list(&mut self, reply: Reply, message: Msg, after: Vec<Step>) -> Vec<Step> {
        let (id, reload) = match reply {
            Reply::Reload(id) => (String::new(), Some(id)),
            Reply::Changed => (String::new(), None),
            Reply::To(id) => {
                let ends_handshake = matches!(message, Msg::ToolList(_)) && !self.is_handshake_over;
                self.is_handshake_over |= ends_handshake;
                (id, ends_handshake.then(String::new))
            }
        };
        let mut steps = vec![Step::send(Envelope::new(id, message))];
        match reload {
            Some(reload) => steps.extend(self.end_handshake(reload, after)),
            None => steps.extend(after),
        }
        steps
    }

    /// The server has no list to give.
    fn unlisted(&mut self, listing: &Listing, error: &ErrorObject) -> Vec<Step> {
        let failed = |id: &str| {
            let error = format!("{}: {}", listing.list.method(), error.message);
            vec![Step::send(Envelope::new(id, ReloadResponse { success: false, error }))]
        };
        tracing::warn!(list = listing.list.method(), %error, "the server has not answered with its list");
        match &listing.reply {
            Reply::Reload(id) => failed(id),
            Reply::To(_) if listing.list == List::Tools => failed(""),
            Reply::To(id) => self.listed(listing.list, Reply::To(id.clone()), &[]),
            Reply::Changed => Vec::new(),
        }
    }

    /// Asks the server for the changes of a resource: the bridge knows which of its clients want them.
    pub(super) fn subscribe(&mut self, uri: String) -> Option<Step> {
        let is_offered = ServerRequest::is_offered(Subscribe::NAME, &self.capabilities);
        if !is_offered || self.subscribed.len() >= SUBSCRIPTIONS_MAX || !self.subscribed.insert(uri.clone()) {
            return None;
        }
        if self.subscribed.len() == SUBSCRIPTIONS_MAX {
            tracing::warn!(resources = SUBSCRIPTIONS_MAX, "changes of further resources are not passed on");
        }
        Some(self.request(ServerRequest::Subscribe(Subscribe::new(uri)), Pending::Own))
    }
}

/// The entries of a page, and the cursor of the next one.
fn entries(page: ServerResult) -> Result<(Vec<RawJson>, Option<String>), ErrorObject> {
    let (items, next) = match page {
        ServerResult::ListTools(page) => (page.tools, page.next_cursor),
        ServerResult::ListResources(page) => (page.resources, page.next_cursor),
        ServerResult::ListResourceTemplates(page) => (page.resource_templates, page.next_cursor),
        ServerResult::ListPrompts(page) => (page.prompts, page.next_cursor),
        _ => return Err(ErrorObject::internal("the answer is not a page of the list")),
    };
    let items = items.to().map_err(|error| ErrorObject::internal(format!("the list cannot be read: {error}")))?;
    Ok((items, next))
}

fn read<T: DeserializeOwned, D>(items: &[RawJson], mut to_envelope: impl FnMut(T) -> D) -> Vec<D> {
    let read = |item: &RawJson| match item.to() {
        Ok(item) => Some(to_envelope(item)),
        Err(error) => {
            tracing::warn!(%error, %item, "a definition cannot be read and is left out");
            None
        }
    };
    items.iter().filter_map(read).collect()
}
