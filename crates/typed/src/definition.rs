//! What can be wrong with a definition: the author's fault, found when it is added and not when it is used.

/// Why something cannot be added to a [`crate::Registry`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// A tool or prompt without a name.
    #[error("a definition needs a name")]
    NoName,
    /// The type of the arguments is not written as a JSON object.
    #[error("the arguments of {owner:?} are no JSON object")]
    NotAnObject {
        /// Whose arguments.
        owner: String,
    },
    /// An [`crate::Edit`] leads to a place that the schema does not have.
    #[error("{owner:?}: the schema has at {place} {why}")]
    NoSuchPlace {
        /// Whose schema.
        owner: String,
        /// As far as it leads.
        place: String,
        /// What is missing there.
        why: String,
    },
    /// A schema that is no JSON Schema, or refers to another document.
    #[error("{owner:?}: the {which} schema does not compile: {why}")]
    BadSchema {
        /// Whose schema.
        owner: String,
        /// `input` or `output`.
        which: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A URI template that cannot be matched.
    #[error("{template:?} is no URI template: {why}")]
    BadTemplate {
        /// The template.
        template: String,
        /// What is wrong with it.
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
    /// The same name or URI twice in one registry at its start.
    #[error("{0:?} is defined twice")]
    Twice(String),
    /// Hosts were told that the server has none of these; see [`crate::Builder::serve_later`].
    #[error("hosts were told that this server has no {0}")]
    NotServed(&'static str),
}
