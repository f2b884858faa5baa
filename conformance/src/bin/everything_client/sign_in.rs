//! A user who agrees to everything, with a browser that goes no further than the redirect.

use http::header::LOCATION;
use http::{HeaderMap, Method};
use protomcp_oauth::{
    AuthorizationError, BoxFuture, HttpClient, HttpExchange, HttpRequest, PendingRedirect, Url, UserAgent,
};

/// Nothing listens there: the redirect is read, and not followed.
const REDIRECT_URI: &str = "http://localhost:3000/callback";

/// Signs in immediately.
pub(crate) struct WillingUser;

impl UserAgent for WillingUser {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingRedirect>, AuthorizationError>> {
        let pending: Box<dyn PendingRedirect> = Box::new(Self);
        Box::pin(std::future::ready(Ok(pending)))
    }
}

impl PendingRedirect for WillingUser {
    fn redirect_uri(&self) -> &str {
        REDIRECT_URI
    }

    fn complete(self: Box<Self>, url: String, _: String) -> BoxFuture<'static, Result<String, AuthorizationError>> {
        Box::pin(async move { redirect(&url).await.map_err(AuthorizationError::SignInRequired) })
    }
}

/// Opens the page and returns the query of the redirect that follows.
async fn redirect(page: &str) -> Result<String, String> {
    let url = Url::parse(page).map_err(|error| error.to_string())?;
    let request = HttpRequest { method: Method::GET, url, headers: HeaderMap::new(), body: String::new() };
    let response = HttpClient::default().send(request).await.map_err(|error| error.to_string())?;
    let location = response.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let query = location.and_then(|location| location.split_once('?')).map(|(_, query)| query.to_owned());
    query.ok_or_else(|| format!("the page replies with {} and leads nowhere", response.status))
}
