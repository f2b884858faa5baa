//! JSON values that are written into files of others, in the style of the file.

use std::fmt::Write;

/// A value of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A truth value.
    Flag(bool),
    /// An array.
    List(Vec<Self>),
    /// An object, in the order of its members.
    Object(Vec<(String, Self)>),
}

/// The layout of the text around a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layout {
    /// All on one line.
    Line,
    /// A line for each member.
    Lines {
        /// The end of a line: `\n` or `\r\n`.
        newline: String,
        /// The indentation of one level.
        unit: String,
        /// The indentation of the line that the value begins on.
        indent: String,
    },
}

impl Value {
    /// JSON with two spaces for each level, as most hosts write it.
    pub fn to_json(&self) -> String {
        self.render(&Layout::Lines { newline: "\n".into(), unit: "  ".into(), indent: String::new() })
    }

    pub(crate) fn render(&self, layout: &Layout) -> String {
        let mut text = String::new();
        self.write(&mut text, layout);
        text
    }

    fn write(&self, text: &mut String, layout: &Layout) {
        match self {
            Self::Text(value) => text.push_str(&quoted(value)),
            Self::Flag(value) => write!(text, "{value}").expect("a string grows"),
            Self::List(items) => {
                let write = |text: &mut String, item: &Self, layout: &Layout| item.write(text, layout);
                write_items(text, layout, ['[', ']'], items, write);
            }
            Self::Object(members) => {
                let write = |text: &mut String, (key, value): &(String, Self), layout: &Layout| {
                    text.push_str(&quoted(key));
                    text.push_str(": ");
                    value.write(text, layout);
                };
                write_items(text, layout, ['{', '}'], members, write);
            }
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Layout {
    /// The layout one level deeper.
    pub(crate) fn deeper(&self) -> Self {
        match self {
            Self::Line => Self::Line,
            Self::Lines { newline, unit, indent } => {
                Self::Lines { newline: newline.clone(), unit: unit.clone(), indent: format!("{indent}{unit}") }
            }
        }
    }

    /// The text before an item at this level.
    pub(crate) fn start(&self) -> String {
        match self {
            Self::Line => String::new(),
            Self::Lines { newline, indent, .. } => format!("{newline}{indent}"),
        }
    }
}

fn write_items<T>(
    text: &mut String,
    layout: &Layout,
    [open, close]: [char; 2],
    items: &[T],
    write: impl Fn(&mut String, &T, &Layout),
) {
    text.push(open);
    let inner = layout.deeper();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push_str(if *layout == Layout::Line { ", " } else { "," });
        }
        text.push_str(&inner.start());
        write(text, item, &inner);
    }
    if !items.is_empty() {
        text.push_str(&layout.start());
    }
    text.push(close);
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is valid JSON")
}
