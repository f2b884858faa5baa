//! The redirect of a browser on this machine.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_oauth::{AuthorizationError, Browser, LoopbackUserAgent, RedirectListener, SignInNotice, UserAgent};

use super::servers::{EagerBrowser, World, get};

#[tokio::test(flavor = "multi_thread")]
async fn only_the_redirect_with_the_state_is_taken() {
    let listener = RedirectListener::bind(0).await.unwrap();
    let (uri, port) = (listener.redirect_uri().to_owned(), listener.port());
    let receiving = tokio::spawn(async move { listener.receive("st4te").await });
    let pages = tokio::task::spawn_blocking(move || {
        // A browser connects ahead of need, and another program sends something else.
        let _idle: Vec<_> = (0..3).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        let mut odd = TcpStream::connect(("127.0.0.1", port)).unwrap();
        odd.write_all(b"\x16\x03\x01 hello\r\n\r\n").unwrap();
        let root = uri.trim_end_matches("/callback").to_owned();
        let wrong = [
            format!("{root}/favicon.ico"),
            format!("{uri}?code=c"),
            format!("{uri}?code=c&state=guess"),
            format!("{uri}x?state=st4te"),
            format!("{root}/?state=st4te"),
        ];
        let mut pages: Vec<_> = wrong.iter().map(|url| get(url)).collect();
        pages.push(get(&format!("{uri}?code=<script>&state=st4te").replace('<', "%3C").replace('>', "%3E")));
        pages
    });
    let mut pages = pages.await.unwrap();
    assert_eq!(receiving.await.unwrap(), "code=%3Cscript%3E&state=st4te");
    let last = pages.pop().unwrap();
    assert!(last.starts_with("HTTP/1.1 200") && last.contains("return to the program"), "{last}");
    assert!(!last.contains("script"), "the page holds nothing of the request: {last}");
    assert!(pages.iter().all(|page| page.starts_with("HTTP/1.1 404")), "{pages:?}");
}

/// A browser that cannot be opened.
struct NoBrowser;

impl Browser for NoBrowser {
    fn open(&self, _: &str) -> io::Result<()> {
        Err(io::Error::other("there is no display"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_a_browser_is_told_what_to_do() {
    let world = World::start().await;
    let notices: Arc<Mutex<Vec<SignInNotice>>> = Arc::default();
    let (seen, other_browser) = (Arc::clone(&notices), world.browser.clone());
    let agent = LoopbackUserAgent::default().browser(NoBrowser).on_notice(move |notice| {
        seen.lock().unwrap().push(notice.clone());
        // The user opens the URL by hand.
        let (browser, url) = (other_browser.clone(), notice.url.clone());
        tokio::task::spawn_blocking(move || browser.open(&url).unwrap());
    });
    let client = world.builder().user_agent(agent).build();
    assert_eq!(world.call(&client).await, Ok(200));
    let notice = notices.lock().unwrap()[0].clone();
    let (text, port) = (notice.to_string(), notice.port);
    assert!(text.contains("there is no display") && text.contains(&notice.url), "{text}");
    assert!(text.contains(&format!("ssh -L {port}:127.0.0.1:{port}")), "{text}");
    assert!(notice.url.starts_with(&format!("{}/authorize?", world.issuer.url)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_does_nothing_ends_the_flow() {
    let world = World::start().await;
    let agent = LoopbackUserAgent::default().browser(NoBrowser).timeout(Duration::from_millis(50));
    let client = world.builder().user_agent(agent).build();
    let outcome = world.call(&client).await;
    assert!(matches!(outcome, Err(AuthorizationError::SignInRequired(_))), "{outcome:?}");
    assert_eq!(world.issuer.count("/token"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_sign_in_has_the_redirect_uri_of_the_first() {
    let agent = LoopbackUserAgent::default().browser(EagerBrowser::default());
    let uri = async || agent.prepare().await.unwrap().redirect_uri().to_owned();
    let (mut previous, mut is_same) = (uri().await, false);
    // Another test may get the port between the two.
    for _ in 0..5 {
        let next = uri().await;
        is_same |= next == previous;
        previous = next;
    }
    assert!(is_same);
    // Unless the port is taken.
    let taken = agent.prepare().await.unwrap();
    let other = agent.prepare().await.unwrap();
    assert_ne!(taken.redirect_uri(), other.redirect_uri());
    let port = other.redirect_uri().rsplit_once(':').unwrap().1.split('/').next().unwrap().parse().unwrap();
    let error = LoopbackUserAgent::default().port(port).prepare().await.err();
    assert!(matches!(error, Some(AuthorizationError::SignInRequired(_))), "a port that was asked for is not replaced");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_a_user_says_so() {
    let world = World::start().await;
    let config = protomcp_oauth::OAuthConfig::new(&world.server_url()).unwrap();
    let outcome = world.call(&protomcp_oauth::OAuthClient::builder(config).build()).await;
    assert!(matches!(outcome, Err(AuthorizationError::SignInRequired(_))), "{outcome:?}");
}
