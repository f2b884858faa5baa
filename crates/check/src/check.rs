//! The checks that rows of the table name, with their limits.

use serde::Deserialize;

use crate::pattern::Pattern;
use crate::tokens::tokens;

/// A check with its limits, as a row writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Check {
    /// The name of the server matches.
    ServerName {
        pattern: Pattern,
    },
    /// The name of a tool matches.
    NamePattern {
        pattern: Pattern,
    },
    /// The name that the model sees is short enough; of the server's name it has a part.
    NameLength {
        template: String,
        #[serde(default)]
        server_max: Option<usize>,
        max: usize,
    },
    /// No two tools have one name after the host has replaced all characters but some, and cut the name.
    NameCollision {
        keep: Pattern,
        replacement: String,
        #[serde(default)]
        cut: Option<Cut>,
        #[serde(default)]
        ignores_case: bool,
    },
    DescriptionRequired,
    DescriptionLength {
        max: usize,
        unit: Unit,
    },
    /// Each parameter of the tool is described.
    ParameterDescription,
    InstructionsLength {
        max: usize,
    },
    ToolCount {
        max: usize,
    },
    /// The definitions together, in bytes.
    ListSize {
        max: usize,
    },
    /// The hints are stated.
    Hints {
        wanted: Vec<String>,
    },
    /// The input schema is an object schema.
    RootObject,
    /// The root of the input schema has none of these keywords.
    RootKeywords {
        keywords: Vec<String>,
    },
    /// Object schemas have `properties`.
    ObjectProperties,
    /// Array schemas have `items`.
    ArrayItems,
    /// The names of properties match.
    PropertyKeys {
        pattern: Pattern,
    },
    /// The input schema is valid in this dialect.
    Dialect {
        draft: Draft,
    },
    /// The dialect that the input schema declares is another one.
    DeclaredDialect {
        refused: String,
    },
    /// None of these keywords is used anywhere.
    Keywords {
        keywords: Vec<String>,
    },
    /// The input schema has no `$ref`.
    References,
    /// Every `$ref` leads somewhere.
    DanglingReference,
    /// No `$ref` leads back to itself.
    Recursion,
    /// No `type` is an array of types, unless it is one type and `null`.
    TypeArray {
        null_is_allowed: bool,
    },
    /// Every schema has a type.
    TypeMissing,
    /// No schema has both `type` and `anyOf`.
    TypeNextToAnyOf,
    /// Values of `enum` are text.
    EnumStrings,
    /// No other formats are used.
    Formats {
        known: Vec<String>,
    },
    /// No object takes members beyond its properties.
    OpenObject,
    /// No schema is `true` or `false`.
    BooleanSchema,
    /// The output schema is an object schema.
    OutputRootObject,
    /// The output schema has no `$ref` and no `$defs`.
    OutputReferences,
    /// There is an output schema.
    OutputMissing,
    /// The time from the start to the list.
    StartupTime {
        ms: u64,
    },
    /// The time of a call.
    CallTime {
        ms: u64,
    },
    ResultSize {
        max: usize,
        unit: Unit,
    },
    ResultLines {
        max: usize,
    },
    /// The content has blocks of these types only.
    ResultBlocks {
        shown: Vec<String>,
    },
    /// A tool with an output schema sends structured content.
    StructuredMissing,
    /// Structured content comes with a text.
    TextMissing,
    /// The content has nothing that the structured content lacks.
    ContentHidden,
    /// An error of a tool with an output schema has structured content that matches it, or there is no such schema.
    ErrorStructured,
}

/// A dialect of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Draft {
    #[serde(rename = "2020-12")]
    Draft202012,
    #[serde(rename = "draft-07")]
    Draft7,
}

/// The way in which a host shortens a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cut {
    pub(crate) template: String,
    pub(crate) max: usize,
    pub(crate) side: Side,
}

/// The part that is cut out.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    End,
    /// Dots take its place.
    Middle,
}

/// A unit of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Bytes,
    Characters,
    /// Estimated.
    Tokens,
}

impl Unit {
    pub(crate) fn measure(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Characters => text.chars().count(),
            Self::Tokens => tokens(text.len()),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Characters => "characters",
            Self::Tokens => "tokens",
        }
    }
}
