//! Shows and hides tools while they are served.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwap;
use protomcp_server::{AskError, Audience, Context, ServerHandle, SessionId};
use protomcp_toollist::{Command, Rejected};
use protomcp_types::RawJson;

use crate::collection::{Collection, Entries};
use crate::saved_selection;
use crate::selections::{Changed, Selections};
use crate::tool::Tool;
use crate::tool::entry::Entry;

/// Shows and hides the tools of a registry while they are served. It exists before the registry does, so that handlers
/// can hold it; [`Builder::selection`](crate::Builder::selection) connects the two. Cloning is cheap.
///
/// A change in a call is for the session of its client, until the session ends. Clients of 2026-07-28 have no session and
/// a list that no request may change (MCP 2026-07-28, server/tools): they see the tools that are not
/// [hidden](Tool::hidden), and a change in their calls has no effect. A hidden tool cannot be called.
///
/// ```
/// use protomcp_server::Context;
/// use protomcp_typed::{Registry, Tool, ToolSelection};
///
/// # fn main() -> Result<(), protomcp_typed::DefinitionError> {
/// let tools = ToolSelection::default();
/// let selection = tools.clone();
/// let open = move |context: Context| {
///     let selection = selection.clone();
///     async move { selection.enable(&context, ["look"]).await.map(|tools| tools.join(", ")) }
/// };
/// let registry = Registry::builder("vault", "1.0")
///     .tool(Tool::new("open", "Opens the vault").handler(open))
///     .tool(Tool::new("look", "Looks inside").handler(async || "three coins").hidden())
///     .selection(&tools)
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ToolSelection(Arc<Shared>);

#[derive(Default)]
struct Shared {
    selections: ArcSwap<Selections>,
    /// Held while new selections are made from the old ones.
    writing: Mutex<()>,
    registry: OnceLock<Served>,
}

/// The registry that is served.
struct Served {
    /// Its handlers may hold the selection.
    tools: Weak<Collection<Tool>>,
    sessions: ServerHandle,
}

/// The reason for which tools were not shown or hidden. Nothing has changed then, except that a bridge without an answer
/// may have made the change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// No registry is built with the selection, or it is gone.
    #[error("no registry serves tools with this selection")]
    NotServed,
    /// The selection would remember too many names.
    #[error("the tools were not selected")]
    Rejected(#[from] Rejected),
    /// The bridge has not answered.
    #[error("the bridge has not selected the tools")]
    Bridge(#[from] AskError),
}

impl ToolSelection {
    /// Shows these tools to the client of a call, and returns the names of all that it sees then, sorted.
    ///
    /// # Errors
    /// See [`SelectionError`].
    pub async fn enable(
        &self,
        context: &Context,
        tools: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Vec<String>, SelectionError> {
        self.change(context, Command::enable(owned(tools))).await
    }

    /// Hides these tools from the client of a call, and returns the names of all that it sees then, sorted.
    ///
    /// # Errors
    /// See [`SelectionError`].
    pub async fn disable(
        &self,
        context: &Context,
        tools: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Vec<String>, SelectionError> {
        self.change(context, Command::disable(owned(tools))).await
    }

    /// The names of the tools that the client of a call sees, sorted.
    ///
    /// # Errors
    /// See [`SelectionError`].
    pub async fn active(&self, context: &Context) -> Result<Vec<String>, SelectionError> {
        self.change(context, Command::enable(Vec::new())).await
    }

    /// Changes the tools that the client of a call sees, and returns their names, sorted.
    ///
    /// ```
    /// use protomcp_server::Context;
    /// use protomcp_typed::{SelectionError, ToolChange, ToolSelection};
    ///
    /// async fn close(selection: ToolSelection, context: Context) -> Result<Vec<String>, SelectionError> {
    ///     selection.change(&context, ToolChange::enable_then_disable(vec!["open".into()], vec!["look".into()])).await
    /// }
    /// ```
    ///
    /// # Errors
    /// See [`SelectionError`].
    pub async fn change(&self, context: &Context, change: Command<String>) -> Result<Vec<String>, SelectionError> {
        if let Some(names) = context.select_tools(change.clone()) {
            return Ok(names.await?);
        }
        let (tools, sessions) = self.served()?;
        let Some(session) = session(context) else {
            tracing::debug!(?change, "a call without a session selects no tools");
            let shown = |(name, tool): (&str, &Entry)| (!tool.is_hidden).then(|| name.to_owned());
            return Ok(tools.snapshot().entries().filter_map(shown).collect());
        };
        let names = tools.names();
        let change_one = |selections: &mut Selections| match sessions.view(session) {
            Some(_) => selections.change(session, &change, &names),
            // Its selection is forgotten, and a new one would stay for ever.
            None => Ok(false),
        };
        if self.write(change_one)? {
            sessions.tools_changed(Audience::Session(session));
        }
        Ok(self.shown(Some(session), names))
    }

    /// Changes the tools that all sessions see, those with their own changes included, and returns the names of the
    /// tools that a new session sees, sorted.
    ///
    /// # Errors
    /// See [`SelectionError`].
    pub fn change_for_all(&self, change: &Command<String>) -> Result<Vec<String>, SelectionError> {
        let (tools, sessions) = self.served()?;
        let names = tools.names();
        let changed = self.write(|selections| selections.change_all(change, &names))?;
        let selections = self.0.selections.load();
        for view in sessions.views() {
            let own = if selections.has_own(view.id) { Changed::Session(view.id) } else { Changed::Base };
            if changed.contains(&own) {
                sessions.tools_changed(Audience::Session(view.id));
            }
        }
        Ok(self.shown(None, names))
    }

    /// The registry is built.
    pub(crate) fn serve(&self, tools: &Arc<Collection<Tool>>, sessions: ServerHandle) -> Result<(), Taken> {
        self.0.registry.set(Served { tools: Arc::downgrade(tools), sessions }).map_err(|_| Taken)
    }

    /// The tools are defined anew.
    pub(crate) fn define(&self, tools: &Entries<Entry>) -> Result<(), Rejected> {
        let hidden = tools.values().filter(|tool| tool.content.is_hidden).map(|tool| tool.key.to_string());
        let hidden: BTreeSet<String> = hidden.collect();
        self.write(|selections| selections.define(hidden))
    }

    /// The tools that the sender of a request sees, if it does not see all.
    pub(crate) fn view(&self, context: &Context) -> Option<View> {
        let selections = self.0.selections.load_full();
        if selections.is_open() || context.is_remote() {
            return None;
        }
        Some(if context.lists_hidden_tools() {
            View::Marked(selections)
        } else {
            session(context).map_or(View::Defined, |session| View::Session(selections, session))
        })
    }

    /// The selection of a session as JSON, if it has its own.
    pub(crate) fn saved(&self, session: SessionId) -> Option<RawJson> {
        saved_selection::to_json(self.0.selections.load().own(session)?)
    }

    /// A session was taken over with this selection.
    pub(crate) fn restore(&self, session: SessionId, saved: &RawJson) {
        let Some(selection) = saved_selection::from_json(saved) else {
            tracing::warn!(%session, "a selection of tools that was taken over cannot be read");
            return;
        };
        let restored = self.write(|selections| {
            selections.restore(session, selection);
            Ok(())
        });
        debug_assert_eq!(restored, Ok(()));
    }

    /// A session has ended.
    pub(crate) fn forget(&self, session: SessionId) {
        // A call of the session may just be changing it.
        let _writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.selections.load().has_own(session) {
            let mut selections = Selections::clone(&self.0.selections.load());
            selections.forget(session);
            self.0.selections.store(Arc::new(selections));
        }
    }

    fn write<T>(&self, change: impl FnOnce(&mut Selections) -> Result<T, Rejected>) -> Result<T, Rejected> {
        let _writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut selections = Selections::clone(&self.0.selections.load());
        let outcome = change(&mut selections)?;
        self.0.selections.store(Arc::new(selections));
        Ok(outcome)
    }

    fn served(&self) -> Result<(Arc<Collection<Tool>>, &ServerHandle), SelectionError> {
        let Served { tools, sessions } = self.0.registry.get().ok_or(SelectionError::NotServed)?;
        Ok((tools.upgrade().ok_or(SelectionError::NotServed)?, sessions))
    }

    fn shown(&self, session: Option<SessionId>, mut names: Vec<String>) -> Vec<String> {
        let selections = self.0.selections.load();
        names.retain(|name| selections.of(session).allows(name.as_str()));
        names
    }
}

/// The selection belongs to another registry.
#[derive(Debug)]
pub(crate) struct Taken;

/// The tools that the sender of a request sees.
#[derive(Debug)]
pub(crate) enum View {
    /// A session, by its selection.
    Session(Arc<Selections>, SessionId),
    /// A client without a session, by the definitions.
    Defined,
    /// A bridge, which sees all and learns which are hidden.
    Marked(Arc<Selections>),
}

/// The visibility of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    Shown,
    Hidden,
    /// Shown with the mark of a hidden tool.
    Marked,
}

impl View {
    /// The visibility of a tool.
    pub(crate) fn of(&self, name: &str, tool: &Entry) -> Visibility {
        let shown = |is_shown, otherwise| if is_shown { Visibility::Shown } else { otherwise };
        match self {
            Self::Session(selections, session) => shown(selections.of(Some(*session)).allows(name), Visibility::Hidden),
            Self::Defined => shown(!tool.is_hidden, Visibility::Hidden),
            Self::Marked(selections) => shown(selections.of(None).allows(name), Visibility::Marked),
        }
    }
}

/// The session of a request, unless it has none.
fn session(context: &Context) -> Option<SessionId> {
    (!context.is_stateless()).then(|| context.session())
}

fn owned(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    names.into_iter().map(Into::into).collect()
}

impl fmt::Debug for ToolSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSelection").field("selections", &self.0.selections.load()).finish_non_exhaustive()
    }
}
