//! The lists of a server, unread: some of their elements may be broken.

use protomcp_client::{ClientSession, Cursors, NextPage, RequestError, ServerRequest};
use protomcp_types::{JsonObject, Params, RawJson, code};

/// All elements of a list. `member`: the member of a page that has them.
pub(super) async fn elements(
    session: &ClientSession,
    method: &'static str,
    member: &str,
) -> Result<Vec<RawJson>, RequestError> {
    let first = page(session, method, None).await?;
    following(session, method, member, first).await
}

/// Like [`elements`], of a server that may not know the method: then the list is empty.
pub(super) async fn elements_if_known(
    session: &ClientSession,
    method: &'static str,
    member: &str,
) -> Result<Vec<RawJson>, RequestError> {
    match page(session, method, None).await {
        Err(RequestError::Refused(error)) if error.code == code::METHOD_NOT_FOUND => Ok(Vec::new()),
        // On a later page the same error is one.
        first => following(session, method, member, first?).await,
    }
}

async fn page(
    session: &ClientSession,
    method: &'static str,
    cursor: Option<String>,
) -> Result<JsonObject, RequestError> {
    let with_cursor = |cursor: String| JsonObject::new().with("cursor", RawJson::text(&cursor));
    let params = Params::Named(cursor.map(with_cursor).unwrap_or_default());
    let other = ServerRequest::Other { method: method.into(), params: params.clone() };
    let request = ServerRequest::read(method.into(), params).unwrap_or(other);
    Ok(JsonObject::from_raw(&session.forward(request).fresh().raw().await?).unwrap_or_default())
}

/// The elements of a page, and of those behind it.
async fn following(
    session: &ClientSession,
    method: &'static str,
    member: &str,
    mut current: JsonObject,
) -> Result<Vec<RawJson>, RequestError> {
    let (mut all, mut cursors) = (Vec::new(), Cursors::default());
    loop {
        let next = current.member("nextCursor").map_or(Ok(None), RawJson::to::<Option<String>>);
        let next = next.map_err(|error| RequestError::InvalidAnswer(format!("nextCursor: {error}")))?;
        let next = cursors.next(next).map_err(|error| RequestError::InvalidAnswer(error.to_string()))?;
        if next != NextPage::Repeated {
            all.extend(current.member(member).and_then(|items| items.to::<Vec<RawJson>>().ok()).unwrap_or_default());
        }
        let NextPage::At(next) = next else { return Ok(all) };
        current = page(session, method, Some(next)).await?;
    }
}
