//! The one token that was ever signed, and the policy that it must meet. The private key no longer exists: any other
//! accepted token is a forgery.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protomcp_auth::TokenPolicy;

pub const ISSUER: &str = "https://as";
pub const RESOURCE: &str = "https://rs";
pub const OTHER_AUDIENCE: &str = "client";

/// The time of the checks, in seconds since 1970.
pub const NOW: u64 = 1_900_000_000;

/// The public key of the issuer.
pub const KEY: &str = r#"{"kty":"EC","crv":"P-256","kid":"known","x":"kZea0_xcJ0DaJKWxUqeBXo_kxIUjYwaoNCVd4ga0cYI","y":"AyphfkBzYr4O0ctrjPiB_hssYju-i8tpenpH57BgioY"}"#;

/// A valid token of `ann`, until the year 2100.
pub const TOKEN: &str = "eyJhbGciOiJFUzI1NiIsImtpZCI6Imtub3duIiwidHlwIjoiYXQrand0In0.\
                         eyJpc3MiOiJodHRwczovL2FzIiwiYXVkIjoiaHR0cHM6Ly9ycyIsInN1YiI6ImFubiIsImNsaWVudF9pZCI6ImFwcCIsInNj\
                         b3BlIjoidXNlIiwiZXhwIjo0MTAyNDQ0ODAwfQ.\
                         pQdESAyumI5gXY5-wbVcFmb6u0EB7KXiFvJEZjxn2dS-SK0xYX2Mo9KaKDwZMHhq0bsPoqSDSVOkN1YkuybaNA";

/// The policy for tokens of the issuer, for the resource or the other audience, and the time of the check.
pub fn expected() -> (TokenPolicy, SystemTime) {
    let expected = TokenPolicy::new(ISSUER, RESOURCE).add_audience(OTHER_AUDIENCE);
    (expected, UNIX_EPOCH + Duration::from_secs(NOW))
}
