//! Serves skills in front of a service.
//!
//! The service in the layer keeps its own resources: its list comes first, and it is asked for each URI that is not a
//! file of a skill.

use protomcp_schema::Page;
use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_types::{
    CacheHint, ErrorObject, JsonBuf, JsonObject, Kind, ListResources, ListResourcesResult, ObjectWriter, Params,
    RawJson, ReadResourceResult, array, code,
};

use crate::skills::Skills;
use crate::tree::SkillTree;

/// Begins the URI of a file of a skill.
const SCHEME: &str = "skill://";

/// Begins a cursor of the pages with skills in `resources/list`.
const CURSOR: &str = "skills-";

/// Serves [`Skills`] in front of a service. [`Skills::serve`] adds it to a server and declares the extension.
#[derive(Debug, Clone, Default)]
pub struct SkillsLayer {
    /// `None`: every request passes.
    skills: Option<Skills>,
}

/// A service behind a [`SkillsLayer`].
#[derive(Debug)]
pub struct WithSkills<S> {
    inner: S,
    skills: Option<Skills>,
}

impl SkillsLayer {
    /// A layer with these skills. The default has none, and passes every request.
    #[must_use]
    pub fn new(skills: Skills) -> Self {
        Self { skills: Some(skills) }
    }
}

impl<S: Service> Layer<S> for SkillsLayer {
    type Service = WithSkills<S>;

    fn layer(&self, inner: S) -> WithSkills<S> {
        WithSkills { inner, skills: self.skills.clone() }
    }
}

impl<S: Service> Service for WithSkills<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let Some(skills) = &self.skills else { return self.inner.call(request, context).await };
        if skills.is_held() && is_about_skills(&request) {
            Box::pin(skills.released()).await;
        }
        match request {
            // In a box: the future of each request would hold it.
            ServerRequest::ListResources(list) => Box::pin(self.list(skills, list, context)).await,
            ServerRequest::Unsubscribe(request) if request.uri.starts_with(SCHEME) => {
                let is_served = skills.tree().read(&request.uri).is_some();
                let outcome = self.inner.call(ServerRequest::Unsubscribe(request), context).await;
                // The file may have gone since the subscription.
                if is_served { Ok(ServerResult::Empty) } else { outcome.or(Ok(ServerResult::Empty)) }
            }
            request => match own(skills, &request) {
                Some(outcome) => outcome,
                None => self.inner.call(request, context).await,
            },
        }
    }
}

impl<S: Service> WithSkills<S> {
    /// The resources of the service, then the skills.
    async fn list(&self, skills: &Skills, list: ListResources, context: Context) -> Result<ServerResult, ErrorObject> {
        if let Some(cursor) = list.cursor.as_deref().and_then(|cursor| cursor.strip_prefix(CURSOR)) {
            return Ok(joined(RawJson::EMPTY_ARRAY, skills.tree().resources(Some(cursor))?)?.into());
        }
        let cursor = list.cursor.clone().filter(|cursor| !cursor.is_empty());
        match self.inner.call(ServerRequest::ListResources(list), context).await {
            Ok(ServerResult::ListResources(page)) if page.next_cursor.is_none() => {
                let first = joined(page.resources, skills.tree().resources(None)?)?;
                Ok(ListResourcesResult { meta: page.meta, ..first }.into())
            }
            Ok(ServerResult::Body(body)) if skills.tree().skills().next().is_some() => {
                with_skills(body, &skills.tree())
            }
            // A service without resources.
            Err(error) if error.code == code::METHOD_NOT_FOUND => {
                if let Some(cursor) = cursor {
                    return Err(ErrorObject::invalid_cursor(&cursor));
                }
                Ok(joined(RawJson::EMPTY_ARRAY, skills.tree().resources(None)?)?.into())
            }
            outcome => outcome,
        }
    }
}

/// True if the answer may depend on the skills alone.
fn is_about_skills(request: &ServerRequest) -> bool {
    match request {
        ServerRequest::ReadResource(read) => read.uri.starts_with(SCHEME),
        ServerRequest::Subscribe(request) => request.uri.starts_with(SCHEME),
        ServerRequest::Unsubscribe(request) => request.uri.starts_with(SCHEME),
        ServerRequest::Other { method, .. } => {
            ["skills/list", "skills/get", "resources/directory/read"].contains(&method.as_ref())
        }
        _ => false,
    }
}

/// The answer to a request about skills; `None` for any other.
fn own(skills: &Skills, request: &ServerRequest) -> Option<Result<ServerResult, ErrorObject>> {
    let tree = skills.tree();
    match request {
        ServerRequest::ReadResource(read) => {
            let file = tree.read(&read.uri)?;
            Some(Ok(ReadResourceResult::of([file.to_contents()]).into()))
        }
        ServerRequest::Subscribe(request) => tree.read(&request.uri).map(|_| Ok(ServerResult::Empty)),
        ServerRequest::Other { method, params } => match method.as_ref() {
            "skills/list" => Some(listed(&tree, params, skills.cache().resources)),
            "skills/get" => Some(entry(&tree, params, skills.cache().reads)),
            "resources/directory/read" => Some(directory(&tree, params)),
            _ => None,
        },
        _ => None,
    }
}

/// `skills/list` (SEP-2640, "Listing Skills").
fn listed(tree: &SkillTree, params: &Params, hint: CacheHint) -> Result<ServerResult, ErrorObject> {
    let page = tree.list(params.optional::<String>("cursor")?.as_deref())?;
    let object = JsonBuf::object().raw("skills", &page.items).text_if("nextCursor", page.next.as_deref());
    Ok(ServerResult::Body(cached(object, hint).finish()))
}

/// `skills/get` (SEP-2640, "Getting a Skill").
fn entry(tree: &SkillTree, params: &Params, hint: CacheHint) -> Result<ServerResult, ErrorObject> {
    let skill = tree.get(&params.required::<String>("uri")?)?;
    Ok(ServerResult::Body(cached(JsonBuf::object().raw("skill", &skill), hint).finish()))
}

/// `resources/directory/read` (SEP-2640, "Reading Directories").
fn directory(tree: &SkillTree, params: &Params) -> Result<ServerResult, ErrorObject> {
    let (uri, cursor) = (params.required::<String>("uri")?, params.optional::<String>("cursor")?);
    let page = tree.directory(&uri, cursor.as_deref())?;
    let object = JsonBuf::object().raw("resources", &page.items).text_if("nextCursor", page.next.as_deref());
    Ok(ServerResult::Body(object.finish()))
}

fn cached(object: ObjectWriter, hint: CacheHint) -> ObjectWriter {
    object.value("ttlMs", &hint.ttl_ms).text("cacheScope", hint.cache_scope.as_str())
}

/// Resources of the service, and a page of skills behind them.
fn joined(resources: RawJson, page: Page) -> Result<ListResourcesResult, ErrorObject> {
    let all = match (resources.as_str(), page.items.as_str()) {
        ("[]", _) => page.items,
        (_, "[]") => resources,
        _ => array(elements(&resources)?.into_iter().chain(elements(&page.items)?)),
    };
    Ok(ListResourcesResult {
        resources: all,
        next_cursor: page.next.map(|cursor| format!("{CURSOR}{cursor}")),
        meta: None,
    })
}

fn elements(resources: &RawJson) -> Result<Vec<RawJson>, ErrorObject> {
    resources.to().map_err(|error| ErrorObject::internal(format!("the list of resources cannot be read: {error}")))
}

/// The same for a service that writes its results itself.
fn with_skills(body: JsonBuf, tree: &SkillTree) -> Result<ServerResult, ErrorObject> {
    let unreadable = |error| ErrorObject::internal(format!("the list of resources cannot be read: {error}"));
    let mut members = JsonObject::from_raw(&body.into_raw()).map_err(unreadable)?;
    if members.member("nextCursor").is_none_or(|cursor| cursor.kind() == Kind::Null) {
        let resources = members.take("resources").unwrap_or(RawJson::EMPTY_ARRAY);
        let first = joined(resources, tree.resources(None)?)?;
        members.insert("resources", first.resources);
        if let Some(cursor) = first.next_cursor {
            members.insert("nextCursor", RawJson::text(&cursor));
        }
    }
    Ok(ServerResult::Body(members.to_body()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;

    #[test]
    fn skills_follow_the_last_page_of_a_service() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/SKILL.md"), "---\nname: a\ndescription: About a.\n---\nText.\n").unwrap();
        let tree = SkillTree::load(folder.path()).unwrap();
        for (page, is_last) in [
            (r#"{"resources":[{"uri":"note:a"}]}"#, true),
            (r#"{"resources":[{"uri":"note:a"}],"nextCursor":null}"#, true),
            (r#"{"resources":[{"uri":"note:a"}],"nextCursor":"more"}"#, false),
        ] {
            let body = JsonBuf::from(RawJson::parse(page).unwrap());
            let Ok(ServerResult::Body(body)) = with_skills(body, &tree) else { panic!("{page}") };
            let answer: Value = body.into_raw().to().unwrap();
            assert_eq!(answer["resources"].as_array().unwrap().len() > 1, is_last, "{page}");
        }
    }
}
