//! The whole list of the service behind, as one client sees it.

use protomcp_types::{ErrorObject, JsonObject, ListTools, RawJson, ToolAnnotations, UiTool, UiVisibility};

use crate::call::context::Context;
use crate::layer::lazy_tools::rank::Texts;
use crate::service::Service;
use protomcp_session::{Cursors, NextPage, ServerRequest, ServerResult};

/// The most bytes of the definitions of a list.
const MAX_BYTES: usize = 64 << 20;

/// The longest line about a tool, in characters.
const MAX_LINE: usize = 160;

/// A tool of the list.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) name: String,
    members: JsonObject,
}

/// The tools that a client may see, by name. A definition without a name cannot be called, and is left out.
pub(super) async fn read<S: Service>(service: &S, context: &Context) -> Result<Vec<Listed>, ErrorObject> {
    let (mut tools, mut bytes, mut cursors) = (Vec::new(), 0, Cursors::default());
    let mut cursor = None;
    loop {
        let request = ServerRequest::ListTools(ListTools { cursor: cursor.take(), meta: None });
        let (page, next) = page(service.call(request, context.clone()).await?)?;
        bytes += page.len();
        let definitions = page.to::<Vec<RawJson>>().map_err(unreadable)?;
        let next = cursors.next(next).map_err(unreadable)?;
        if next != NextPage::Repeated {
            tools.extend(definitions.iter().filter_map(Listed::read));
        }
        match next {
            NextPage::At(_) if bytes > MAX_BYTES => return Err(ErrorObject::internal("the list of tools is too long")),
            NextPage::At(next) => cursor = Some(next),
            NextPage::End | NextPage::Repeated => break,
        }
    }
    tools.sort_by(|one: &Listed, other| one.name.cmp(&other.name));
    tools.dedup_by(|one, other| one.name == other.name);
    Ok(tools)
}

/// The definitions of a page, and the cursor of the next one.
fn page(result: ServerResult) -> Result<(RawJson, Option<String>), ErrorObject> {
    match result {
        ServerResult::ListTools(page) => Ok((page.tools, page.next_cursor)),
        // A service that writes its results itself.
        ServerResult::Body(body) => {
            let mut members = JsonObject::from_raw(&body.into_raw()).map_err(unreadable)?;
            let next = members.take("nextCursor").map(|next| next.to::<Option<String>>()).transpose();
            let tools = members.take("tools").unwrap_or(RawJson::EMPTY_ARRAY);
            Ok((tools, next.map_err(unreadable)?.flatten()))
        }
        _ => Err(ErrorObject::internal("the list of tools has no tools")),
    }
}

fn unreadable(error: impl std::fmt::Display) -> ErrorObject {
    ErrorObject::internal(format!("the list of tools cannot be read: {error}"))
}

impl Listed {
    /// `None`: the definition has no name.
    pub(super) fn read(definition: &RawJson) -> Option<Self> {
        let members = JsonObject::from_raw(definition).ok()?;
        let name = members.member("name")?.to().ok()?;
        Some(Self { name, members })
    }

    /// The texts that a search compares.
    pub(super) fn texts(&self) -> Texts {
        let schema = self.members.member("inputSchema").and_then(|schema| JsonObject::from_raw(schema).ok());
        let properties = schema.and_then(|schema| JsonObject::from_raw(schema.member("properties")?).ok());
        let arguments = properties.iter().flat_map(|all| all.iter().map(|(name, _)| name.to_owned())).collect();
        let title = self.title().unwrap_or_default();
        let description = self.text("description").unwrap_or_default();
        Texts { name: self.name.clone(), title, description, arguments }
    }

    /// `name: description`, with the first sentence of the description.
    pub(super) fn line(&self) -> String {
        let about = self.text("description").or_else(|| self.title()).unwrap_or_default();
        match first_sentence(&about) {
            about if about.is_empty() => self.name.clone(),
            about => format!("{}: {about}", self.name),
        }
    }

    /// The part of the definition about MCP Apps, if it has one.
    fn ui(&self) -> Option<UiTool> {
        UiTool::of_meta(self.members.member("_meta")?)
    }

    /// True if a host that shows apps needs the definition: it names a page, or the tool is for pages.
    pub(super) fn is_of_app(&self) -> bool {
        self.ui().is_some()
    }

    /// True if the model may see the tool. Hosts hide those for pages alone (MCP Apps 2026-01-26, Visibility).
    pub(super) fn is_for_model(&self) -> bool {
        self.ui().and_then(|ui| ui.visibility).is_none_or(|callers| callers.contains(&UiVisibility::Model))
    }

    /// The whole definition.
    pub(super) fn to_raw(&self) -> RawJson {
        self.members.to_body().into_raw()
    }

    /// The definition, without the icons: they are for people, and may be long.
    pub(super) fn definition(&self) -> RawJson {
        let mut members = self.members.clone();
        members.take("icons");
        members.to_body().into_raw()
    }

    fn title(&self) -> Option<String> {
        self.text("title").or_else(|| self.members.member("annotations")?.to::<ToolAnnotations>().ok()?.title)
    }

    fn text(&self, member: &str) -> Option<String> {
        self.members.member(member)?.to().ok()
    }
}

/// The first sentence of a text, in one line and cut if it is long. A sentence ends before a blank and a capital letter,
/// so not after an abbreviation.
fn first_sentence(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    let ends = line.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | '。')).find(|(end, c)| {
        let mut rest = line[end + c.len_utf8()..].chars();
        *c == '。' || rest.next().is_some_and(char::is_whitespace) && !rest.next().is_some_and(char::is_lowercase)
    });
    let sentence = ends.map_or(line, |(end, c)| &line[..end + c.len_utf8()]);
    match sentence.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}…", sentence[..end].trim_end()),
        None => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &'static str) -> Listed {
        Listed::read(&RawJson::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn a_line_is_the_first_sentence() {
        let long = "word ".repeat(100);
        for (text, expected) in [
            ("Adds numbers.", "Adds numbers."),
            ("Adds numbers. Slowly.", "Adds numbers."),
            ("Finds files, e.g. by name. Fast.", "Finds files, e.g. by name."),
            ("Version 1.2 of it! More", "Version 1.2 of it!"),
            ("\n  First line \nsecond line", "First line"),
            ("列出文件。再来", "列出文件。"),
            ("", ""),
            (&long, &format!("{}…", "word ".repeat(32).trim_end())),
        ] {
            assert_eq!(first_sentence(text), expected, "{text}");
        }
    }

    #[test]
    fn a_tool_is_shown_by_its_description_or_its_title() {
        for (text, line) in [
            (r#"{"name":"a","title":"T","description":"D. E."}"#, "a: D."),
            (r#"{"name":"a","title":"T"}"#, "a: T"),
            (r#"{"name":"a","annotations":{"title":"T"}}"#, "a: T"),
            (r#"{"name":"a","description":null}"#, "a"),
        ] {
            assert_eq!(listed(text).line(), line);
        }
    }

    #[test]
    fn the_texts_of_a_tool_are_found() {
        let tool = listed(
            r#"{"name":"a","title":"T","description":"D","inputSchema":{"type":"object","properties":{"x":{},"y":1}}}"#,
        );
        let expected = Texts {
            name: "a".into(),
            title: "T".into(),
            description: "D".into(),
            arguments: ["x", "y"].map(Into::into).into(),
        };
        assert_eq!(tool.texts(), expected);
    }

    #[test]
    fn a_definition_keeps_everything_but_its_icons() {
        let tool = listed(r#"{"name":"a","icons":[{"src":"data:"}],"inputSchema":{ "z":1.50 },"later":2}"#);
        assert_eq!(tool.definition().as_str(), r#"{"name":"a","inputSchema":{ "z":1.50 },"later":2}"#);
    }
}
