//! Reads the token from the one `Authorization` header (RFC 6750, section 2.1); no other place is accepted.

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The longest token that is accepted, in bytes.
pub const MAX_TOKEN: usize = 16 * 1024;

/// The credentials of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BearerToken<'a> {
    /// No token.
    Nothing,
    Token(&'a str),
    /// Credentials that cannot be a token, and the reason.
    Malformed(&'static str),
}

pub(crate) fn bearer_token(headers: &HeaderMap) -> BearerToken<'_> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return BearerToken::Nothing };
    if values.next().is_some() {
        return BearerToken::Malformed("there are several Authorization headers");
    }
    let bytes = value.as_bytes();
    let (scheme, rest) = bytes.split_at(bytes.iter().position(|byte| *byte == b' ').unwrap_or(bytes.len()));
    // Another scheme is not supported: the rejection names the supported one.
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return BearerToken::Nothing;
    }
    let token = rest.trim_ascii();
    if token.len() > MAX_TOKEN {
        return BearerToken::Malformed("the token is too long");
    }
    match std::str::from_utf8(token) {
        Ok(token) if is_token(token) => BearerToken::Token(token),
        _ => BearerToken::Malformed("the Authorization header holds no Bearer token"),
    }
}

/// RFC 6750, section 2.1, `b64token`.
fn is_token(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[&str], expected: &BearerToken<'_>) {
        let headers: HeaderMap = values.iter().map(|value| (AUTHORIZATION, value.parse().unwrap())).fold(
            HeaderMap::new(),
            |mut headers, (name, value)| {
                headers.append(name, value);
                headers
            },
        );
        assert_eq!(&bearer_token(&headers), expected, "{values:?}");
    }

    #[test]
    fn a_token_stands_alone_behind_its_scheme() {
        check(&[], &BearerToken::Nothing);
        check(&["Bearer a.b-c_d~e+f/g=="], &BearerToken::Token("a.b-c_d~e+f/g=="));
        check(&["bEARER   a"], &BearerToken::Token("a"));
        check(&["Basic YTpi"], &BearerToken::Nothing);
        check(&["Bearerish a"], &BearerToken::Nothing);
        check(&["DPoP a"], &BearerToken::Nothing);
        let none = BearerToken::Malformed("the Authorization header holds no Bearer token");
        for bad in ["Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer =", "Bearer a=b", "Bearer \"a\""] {
            check(&[bad], &none);
        }
        check(&["Bearer a", "Bearer a"], &BearerToken::Malformed("there are several Authorization headers"));
        check(&[&format!("Bearer {}", "a".repeat(MAX_TOKEN))], &BearerToken::Token(&"a".repeat(MAX_TOKEN)));
        check(&[&format!("Bearer {}", "a".repeat(MAX_TOKEN + 1))], &BearerToken::Malformed("the token is too long"));
    }
}
