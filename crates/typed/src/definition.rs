//! Faults of a definition, found when it is added.

/// The reason for which a definition cannot be added to a [`crate::Registry`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// A tool or prompt without a name.
    #[error("a definition needs a name")]
    NoName,
    /// The type of the arguments is not written as a JSON object.
    #[error("the arguments of {owner:?} must be a JSON object")]
    NotAnObject {
        /// The tool, prompt or template.
        owner: String,
    },
    /// An [`crate::SchemaPatch`] leads to a place that the schema does not have.
    #[error("{owner:?}: the schema has at {place} {why}")]
    NoSuchPlace {
        /// The tool.
        owner: String,
        /// The existing part of the path.
        place: String,
        /// The missing part.
        why: String,
    },
    /// A schema that is not a JSON Schema, or refers to another document.
    #[error("{owner:?}: the {which} schema does not compile: {why}")]
    BadSchema {
        /// The tool.
        owner: String,
        /// `input` or `output`.
        which: &'static str,
        /// The fault.
        why: String,
    },
    /// A URI template that cannot be matched.
    #[error("{template:?} is not a URI template: {why}")]
    BadTemplate {
        /// The template.
        template: String,
        /// The fault.
        why: String,
    },
    /// A completion for an argument or variable that does not exist.
    #[error("{owner:?} has no argument {argument:?}{hint}")]
    NoSuchArgument {
        /// The prompt or template.
        owner: String,
        /// The argument that was to be completed or described.
        argument: String,
        /// The nearest name, if there is one.
        hint: String,
    },
    /// A page of MCP Apps whose URI does not begin with `ui://`.
    #[error("{0:?} is a page of MCP Apps, whose URI must begin with ui://")]
    NotAnApp(String),
    /// The same name or URI twice in one registry at its start.
    #[error("{0:?} is defined twice")]
    Twice(String),
    /// A group of actions without any.
    #[error("the group {0:?} has no actions")]
    NoActions(String),
    /// An argument with a name that has another meaning there.
    #[error("{owner:?} cannot have an argument {argument:?}: it names the action")]
    ReservedArgument {
        /// The action.
        owner: String,
        /// The argument.
        argument: &'static str,
    },
    /// A step of a workflow that it does not have.
    #[error("the workflow {workflow:?} has no step {step:?}")]
    UnknownStep {
        /// The workflow.
        workflow: String,
        /// The step that was to follow.
        step: String,
    },
    /// A workflow that cannot begin.
    #[error("no step of the workflow {0:?} is initial")]
    NoInitialStep(String),
    /// More tools are hidden than a selection remembers ([`crate::Rejected::TooManyNames`]).
    #[error("too many tools are hidden")]
    TooManyHidden,
    /// The [`crate::ToolSelection`] belongs to another registry.
    #[error("the selection of tools belongs to another registry")]
    SelectionTaken,
    /// The server has not declared the capability; see [`crate::Builder::declare`].
    #[error("capability `{0}` was not declared")]
    NotServed(&'static str),
}
