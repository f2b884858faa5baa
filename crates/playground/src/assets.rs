//! The files of the page.

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use protomcp_http::Body;

use crate::body::Whole;

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    path: &'static str,
    kind: &'static str,
    policy: &'static str,
    text: &'static str,
}

/// The page loads nothing from elsewhere, runs no script but its own files, and is in no frame.
const PAGE: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                    media-src data: blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
                    frame-ancestors 'none'";

/// The frame of apps has a separate origin, so that an app reaches neither the page nor the server. The frame inside it
/// gets the policy that the app declares.
const FRAME: &str = "sandbox allow-scripts allow-forms; default-src * data: blob: 'unsafe-inline' 'unsafe-eval'; \
                     frame-ancestors 'self'";

macro_rules! assets {
    ($($path:literal => $file:literal, $kind:literal, $policy:ident;)*) => {
        const ASSETS: &[Asset] = &[$(Asset {
            path: $path,
            kind: $kind,
            policy: $policy,
            text: include_str!(concat!("../page/", $file)),
        },)*];
    };
}

assets! {
    "/" => "index.html", "text/html; charset=utf-8", PAGE;
    "/app-frame.html" => "app-frame.html", "text/html; charset=utf-8", FRAME;
    "/style.css" => "style.css", "text/css; charset=utf-8", PAGE;
    "/icon.svg" => "icon.svg", "image/svg+xml", PAGE;
    "/envelope.json" => "envelope.json", "application/json", PAGE;
    "/apps.js" => "apps.js", "text/javascript; charset=utf-8", PAGE;
    "/dom.js" => "dom.js", "text/javascript; charset=utf-8", PAGE;
    "/envelope.js" => "envelope.js", "text/javascript; charset=utf-8", PAGE;
    "/eras.js" => "eras.js", "text/javascript; charset=utf-8", PAGE;
    "/events.js" => "events.js", "text/javascript; charset=utf-8", PAGE;
    "/fields.js" => "fields.js", "text/javascript; charset=utf-8", PAGE;
    "/form.js" => "form.js", "text/javascript; charset=utf-8", PAGE;
    "/history.js" => "history.js", "text/javascript; charset=utf-8", PAGE;
    "/hosts.js" => "hosts.js", "text/javascript; charset=utf-8", PAGE;
    "/items.js" => "items.js", "text/javascript; charset=utf-8", PAGE;
    "/json.js" => "json.js", "text/javascript; charset=utf-8", PAGE;
    "/main.js" => "main.js", "text/javascript; charset=utf-8", PAGE;
    "/markdown.js" => "markdown.js", "text/javascript; charset=utf-8", PAGE;
    "/mcp.js" => "mcp.js", "text/javascript; charset=utf-8", PAGE;
    "/questions.js" => "questions.js", "text/javascript; charset=utf-8", PAGE;
    "/result.js" => "result.js", "text/javascript; charset=utf-8", PAGE;
    "/schema.js" => "schema.js", "text/javascript; charset=utf-8", PAGE;
    "/session-view.js" => "session-view.js", "text/javascript; charset=utf-8", PAGE;
    "/sse.js" => "sse.js", "text/javascript; charset=utf-8", PAGE;
    "/tasks.js" => "tasks.js", "text/javascript; charset=utf-8", PAGE;
    "/trace-file.js" => "trace-file.js", "text/javascript; charset=utf-8", PAGE;
    "/trace-view.js" => "trace-view.js", "text/javascript; charset=utf-8", PAGE;
    "/trace.js" => "trace.js", "text/javascript; charset=utf-8", PAGE;
    "/uri.js" => "uri.js", "text/javascript; charset=utf-8", PAGE;
    "/validate.js" => "validate.js", "text/javascript; charset=utf-8", PAGE;
}

/// The file at a path.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

impl Asset {
    pub(crate) fn response(&self) -> Response<Body> {
        let mut response = Response::new(Body::new(Whole(Some(Bytes::from_static(self.text.as_bytes())))));
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE, self.kind),
            (header::CONTENT_SECURITY_POLICY, self.policy),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            // Another version of the program may have another page.
            (header::CACHE_CONTROL, "no-store"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_that_a_file_imports_is_served() {
        for Asset { path, text, .. } in ASSETS.iter().filter(|asset| asset.path.ends_with(".js")) {
            for line in text.lines().filter(|line| line.contains(" from \"./")) {
                let file = line.split('"').nth(1).unwrap_or_default().trim_start_matches('.');
                assert!(find(file).is_some(), "{path} imports {file}");
            }
        }
    }

    #[test]
    fn the_page_is_small() {
        let size: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(size < 300_000, "{size} bytes");
    }

    #[test]
    fn the_page_runs_no_script_but_its_own_files() {
        let page = find("/").expect("there is a page");
        assert!(!page.text.contains("<script>") && !page.text.contains("style="), "the policy forbids both");
        assert!(page.policy.contains("script-src 'self';") && page.policy.contains("frame-ancestors 'none'"));
        assert!(find("/app-frame.html").is_some_and(|frame| frame.policy.starts_with("sandbox allow-scripts")));
    }
}
