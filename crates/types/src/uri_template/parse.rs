//! Parses the text of a template to literals and expressions.

use crate::uri_template::error::UriTemplateError;

/// The longest template, in bytes.
pub(super) const MAX_LENGTH: usize = 2048;

/// The most variables of a template, counting repetitions.
pub(super) const MAX_VARIABLES: usize = 32;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Literal(Box<str>),
    Expression { operator: Operator, variables: Vec<Variable> },
}

/// The operator of an expression (RFC 6570, appendix A).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

/// One name in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: Box<str>,
    pub(super) modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modifier {
    None,
    /// The first characters only.
    Prefix(usize),
    /// Each member of a list on its own.
    Explode,
}

impl Part {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let variables = match self {
            Self::Literal(_) => &[],
            Self::Expression { variables, .. } => variables.as_slice(),
        };
        variables.iter().map(|variable| &*variable.name)
    }
}

impl Operator {
    fn of(character: char) -> Option<Self> {
        Some(match character {
            '+' => Self::Reserved,
            '#' => Self::Fragment,
            '.' => Self::Label,
            '/' => Self::Path,
            ';' => Self::Parameter,
            '?' => Self::Query,
            '&' => Self::Continuation,
            _ => return None,
        })
    }

    /// The text before the first value.
    pub(super) fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query => "?",
            Self::Continuation => "&",
        }
    }

    /// The text between values.
    pub(super) fn between(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ",",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query | Self::Continuation => "&",
        }
    }

    /// True if each value follows its name.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// True if values keep the reserved characters of URIs.
    pub(super) fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

/// Splits a template into its parts.
pub(super) fn parts(text: &str) -> Result<Vec<Part>, UriTemplateError> {
    if text.len() > MAX_LENGTH {
        return Err(UriTemplateError::TooLong(text.len()));
    }
    let (mut parts, mut at, mut count) = (Vec::new(), 0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let literal = rest.find(['{', '}']).unwrap_or(rest.len());
        if literal > 0 {
            parts.push(Part::Literal(rest[..literal].into()));
            at += literal;
            continue;
        }
        let inner = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')).map(|(inner, _)| inner);
        let inner = inner.filter(|inner| !inner.contains('{')).ok_or(UriTemplateError::Unbalanced(at))?;
        let part = expression(inner).ok_or_else(|| UriTemplateError::Expression { at, expression: inner.into() })?;
        count += part.names().count();
        if count > MAX_VARIABLES {
            return Err(UriTemplateError::TooManyVariables);
        }
        parts.push(part);
        at += inner.len() + 2;
    }
    Ok(parts)
}

fn expression(inner: &str) -> Option<Part> {
    let operator = inner.chars().next().and_then(Operator::of);
    let names = if operator.is_some() { &inner[1..] } else { inner };
    let variables: Option<Vec<_>> = names.split(',').map(variable).collect();
    Some(Part::Expression { operator: operator.unwrap_or(Operator::Simple), variables: variables? })
}

fn variable(text: &str) -> Option<Variable> {
    let (name, modifier) = if let Some(name) = text.strip_suffix('*') {
        (name, Modifier::Explode)
    } else if let Some((name, length)) = text.split_once(':') {
        // RFC 6570, 2.4.1: a number below 10000 that does not begin with 0.
        let digits = matches!(length.len(), 1..=4) && length.bytes().all(|byte| byte.is_ascii_digit());
        let length = Some(length).filter(|length| digits && !length.starts_with('0'))?;
        (name, Modifier::Prefix(length.parse().ok()?))
    } else {
        (text, Modifier::None)
    };
    // The RFC has no hyphen, but templates in use do.
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.%-".contains(&byte);
    (!name.is_empty() && name.bytes().all(known)).then(|| Variable { name: name.into(), modifier })
}
