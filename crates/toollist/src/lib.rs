//! The tools that a client can see, as a pure state machine.
//!
//! A tool process registers tools. While it runs it hides and shows some of them: one by one, or with an allowlist or a
//! blocklist (protomcp wire 3). This crate answers two questions: which tools are visible now, and what did the last
//! command change. It knows nothing of sockets, sessions or JSON; the bridge feeds it and notifies clients.
//!
//! - [`ToolList`] holds the registered tools and the base [`Selection`]. Tools are replaced whole, never one by one.
//! - [`Selection`] is the visibility rule alone, without tools. The base list has one, and a session whose calls
//!   changed its view has its own (an overlay): [`ToolList::view`] shows the same tools through it.
//! - [`Command`] is one atomic change of a selection. The five control messages and the lists inside a call's result
//!   are its constructors, so their differences end at the edge of this crate.
//! - [`Change`] is the effect of a command on a *visible* list, sorted. An empty change needs no notification.
//!
//! Both parameters are open: `N` is the name (its `Ord` must be that of the bytes, which is the order of the list), `D`
//! is the data that the caller keeps per tool.
//!
//! ```
//! use protomcp_toollist::{Command, ToolList};
//!
//! let mut list = ToolList::new();
//! list.register(vec![("approve", 1), ("review", 2)]);
//! let change = list.apply(&Command::disable(vec!["approve"]))?;
//! assert_eq!(change.removed, ["approve"]);
//! assert_eq!(list.active().map(|(name, _)| *name).collect::<Vec<_>>(), ["review"]);
//! # Ok::<(), protomcp_toollist::Rejected>(())
//! ```

mod change;
mod command;
mod list;
mod policy;
mod selection;

pub use change::Change;
pub use command::{Batch, Command, Rejected};
pub use list::{Registration, ToolList};
pub use policy::{Mode, Policy};
pub use selection::{MAX_LISTED_NAMES, Selection};
