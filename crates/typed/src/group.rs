//! Groups: tools that belong together, as separate tools or as the actions of one.
//!
//! Each action is a [`Tool`] with its own schema, handler and layers. As one tool, the group has a schema that is the
//! union of theirs; a call is checked against it and then against the schema of its action.

mod union;

use crate::definition::DefinitionError;
use crate::tool::Tool;

/// Tools that belong together. Without more each action is a tool, named after the group and the action, such as
/// `shapes_square`; every host accepts such names. [`Group::union`] makes one tool of all of them.
///
/// ```
/// use protomcp_typed::{Group, JsonSchema, Registry, Tool};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Square {
///     side: f64,
/// }
///
/// # fn main() -> Result<(), protomcp_typed::DefinitionError> {
/// let square = || Tool::new("square", "Area of a square").handler(async |args: Square| (args.side * args.side).to_string());
/// let unit = || Tool::new("unit", "Area of the unit square").handler(async || "1");
/// let registry = Registry::builder("geometry", "1.0")
///     .group(Group::new("shapes").action(square()).action(unit()))
///     .group(Group::new("areas").action(square()).action(unit()).union("Areas of shapes"))
///     .build()?;
/// assert_eq!(registry.tools().names(), ["areas", "shapes_square", "shapes_unit"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Group {
    name: String,
    separator: String,
    actions: Vec<Tool>,
    title: Option<String>,
    /// The description of the one tool.
    union: Option<String>,
}

impl Group {
    /// A group without actions. The name begins the names of its tools, or is the name of its only one.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), separator: "_".into(), actions: Vec::new(), title: None, union: None }
    }

    /// Adds an action. The name of the tool is the name of the action.
    #[must_use]
    pub fn action(mut self, tool: Tool) -> Self {
        self.actions.push(tool);
        self
    }

    /// Sets the text between the names of the group and of an action; `_` by default. Some hosts refuse tools with other
    /// characters than letters, digits, `_` and `-`.
    #[must_use]
    pub fn separator(mut self, separator: impl Into<String>) -> Self {
        self.separator = separator.into();
        self
    }

    /// Makes the group one tool, whose argument `action` names the action. Its other arguments are the arguments of all
    /// actions; a call has to match the schema of its action. An action must not have an argument of that name.
    ///
    /// The tool has each hint that all of its actions have, and is hidden if all of them are. It can be a task if one of its actions can.
    #[must_use]
    pub fn union(mut self, description: impl Into<String>) -> Self {
        self.union = Some(description.into());
        self
    }

    /// Sets the title of the one tool, for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The tools of the group.
    pub(crate) fn into_tools(self) -> Result<Vec<Tool>, DefinitionError> {
        let Self { name, separator, actions, title, union } = self;
        if let Some(description) = union {
            let tool = union::tool(name, description, actions)?;
            return Ok(vec![match title {
                Some(title) => tool.title(title),
                None => tool,
            }]);
        }
        let renamed = |tool: Tool| {
            let name = format!("{name}{separator}{}", tool.name());
            tool.renamed(name)
        };
        Ok(actions.into_iter().map(renamed).collect())
    }
}
