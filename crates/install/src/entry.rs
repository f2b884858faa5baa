//! The entry of a server, in the words of a host.

use crate::document::edit::Format;
use crate::hosts::{Host, Part};
use crate::value::Value;

/// A server, as an entry names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// A program that the host starts and speaks to on standard input and output.
    Command {
        /// The program, as an absolute path: hosts with a window have a short search path.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables in addition to those that the host passes on.
        env: Vec<(String, String)>,
    },
    /// A server over Streamable HTTP.
    Url {
        /// The URL.
        url: String,
        /// Header fields of each request.
        headers: Vec<(String, String)>,
    },
}

impl Server {
    /// The entry for a host. `None` if it has no entries for servers over HTTP, or none for commands.
    pub(crate) fn entry(&self, host: &Host, name: &str) -> Option<Value> {
        let parts = match self {
            Self::Command { .. } => Some(host.stdio).filter(|parts| !parts.is_empty())?,
            Self::Url { .. } => host.http?,
        };
        let members = parts.iter().filter_map(|(key, part)| Some(((*key).to_owned(), self.part(*part, name)?)));
        Some(Value::Object(members.collect()))
    }

    /// A member; `None` for an empty one that hosts do not need.
    fn part(&self, part: Part, name: &str) -> Option<Value> {
        Some(match (part, self) {
            (Part::Text(text), _) => text.into(),
            (Part::Name, _) => name.into(),
            (Part::Yes, _) => Value::Flag(true),
            (Part::Words(words), _) => Value::List(words.iter().map(|word| Value::from(*word)).collect()),
            (Part::Command, Self::Command { program, .. }) => program.as_str().into(),
            (Part::Args, Self::Command { args, .. }) => list(args.iter()),
            (Part::CommandAndArgs, Self::Command { program, args, .. }) => list([program].into_iter().chain(args)),
            (Part::Env, Self::Command { env, .. }) if !env.is_empty() => object(env),
            (Part::Url, Self::Url { url, .. }) => url.as_str().into(),
            (Part::Headers, Self::Url { headers, .. }) if !headers.is_empty() => object(headers),
            _ => return None,
        })
    }
}

/// The text to paste into the configuration of a host. `None` for the notation that most hosts share.
///
/// A server over HTTP that the host's file cannot name gives `None`, and a command for a host that starts none.
pub fn snippet(host: Option<&Host>, name: &str, server: &Server) -> Option<String> {
    let host = host.unwrap_or(&crate::hosts::OTHER);
    let entry = server.entry(host, name)?;
    let keys = host.keys.last().copied().unwrap_or_default();
    if host.format == Some(Format::Toml) {
        return crate::document::insert("", Format::Toml, keys, name, &entry).ok().map(|edited| edited.text);
    }
    let named = Value::Object(vec![(name.to_owned(), entry)]);
    let whole = keys.iter().rev().fold(named, |value, key| Value::Object(vec![((*key).to_owned(), value)]));
    Some(whole.to_json() + "\n")
}

fn list<'a>(words: impl Iterator<Item = &'a String>) -> Value {
    Value::List(words.map(|word| Value::Text(word.clone())).collect())
}

fn object(pairs: &[(String, String)]) -> Value {
    Value::Object(pairs.iter().map(|(key, value)| (key.clone(), Value::Text(value.clone()))).collect())
}
