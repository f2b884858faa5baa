//! The lists of a server, unread: some of their elements may be broken.

use protomcp_client::{ClientSession, Cursors, NextPage, RequestError, ServerRequest};
use protomcp_types::{JsonObject, Params, RawJson, code};

/// All elements of a list. `member`: the member of a page that has them.
pub(super) async fn elements(
    session: &ClientSession,
    method: &'static str,
    member: &str,
) -> Result<Vec<RawJson>, RequestError> {
    let (mut all, mut cursor, mut cursors) = (Vec::new(), None::<String>, Cursors::default());
    loop {
        let with_cursor = |cursor: String| JsonObject::new().with("cursor", RawJson::text(&cursor));
        let params = Params::Named(cursor.take().map(with_cursor).unwrap_or_default());
        let other = ServerRequest::Other { method: method.into(), params: params.clone() };
        let request = ServerRequest::read(method.into(), params).unwrap_or(other);
        let page = JsonObject::from_raw(&session.forward(request).fresh().raw().await?).unwrap_or_default();
        let next = page.member("nextCursor").map_or(Ok(None), RawJson::to::<Option<String>>);
        let next = next.map_err(|error| RequestError::InvalidAnswer(format!("nextCursor: {error}")))?;
        let next = cursors.next(next).map_err(|error| RequestError::InvalidAnswer(error.to_string()))?;
        if next != NextPage::Repeated {
            all.extend(page.member(member).and_then(|items| items.to::<Vec<RawJson>>().ok()).unwrap_or_default());
        }
        let NextPage::At(next) = next else { return Ok(all) };
        cursor = Some(next);
    }
}

/// Like [`elements`], of a server that may not know the method: then the list is empty.
pub(super) async fn elements_if_known(
    session: &ClientSession,
    method: &'static str,
    member: &str,
) -> Result<Vec<RawJson>, RequestError> {
    match elements(session, method, member).await {
        Err(RequestError::Refused(error)) if error.code == code::METHOD_NOT_FOUND => Ok(Vec::new()),
        list => list,
    }
}
