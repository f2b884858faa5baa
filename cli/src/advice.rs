//! Advice for the user about errors of connections.

/// The error, with the way out if there is a usual one.
pub(crate) fn with_advice(error: &str) -> String {
    let found = ADVICE.iter().find(|(part, _)| error.contains(part));
    found.map_or_else(|| error.to_owned(), |(_, advice)| format!("{error}; {advice}"))
}

/// Parts of errors. The parts about certificates are from the TLS library, which the tests of `pmcp` watch.
const ADVICE: [(&str, &str); 12] = [
    (
        "invalid peer certificate: UnknownIssuer",
        "if you trust the authority that has signed the server's certificate, name a PEM file with its certificate in the \
         environment variable SSL_CERT_FILE",
    ),
    ("invalid peer certificate: certificate not valid for name", "use a host name that the server's certificate has"),
    ("invalid peer certificate: certificate expired", "the server needs a new certificate"),
    (
        "CaUsedAsEndEntity",
        "the server shows the certificate of an authority, such as `openssl req -x509` makes, as its own: it needs one with \
         CA:FALSE among its basic constraints",
    ),
    (
        "InvalidContentType",
        "what the server sends is not TLS, so it does not expect encryption here: use a URL that begins with http:// (or \
         proto:// or ws://), or the port that it has for encryption",
    ),
    ("CertificateRequired", "the server asks for a certificate of the client: add --client-cert and --client-key"),
    (
        "requires a token and names no authorization server",
        "add --header \"Authorization: Bearer TOKEN\", or another header that the server expects, such as X-API-Key",
    ),
    (
        "configure its id",
        "its id is --client-id ID (\"oauth\": {\"clientId\": …} in --config), and its secret, if it has one, \
         --client-secret-env NAME with --client-issuer URL",
    ),
    ("send it the client's secret", "it is --client-issuer URL, or \"oauth\": {\"issuer\": …} in --config"),
    ("a token is required", "add --header \"Authorization: Bearer TOKEN\""),
    ("answered 401 Unauthorized", "add --header \"Authorization: Bearer TOKEN\""),
    (
        "replied with 401",
        "name a token that the server accepts with --header \"Authorization: Bearer TOKEN\"; without it, and with an https \
         URL, you sign in with the browser",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_follows_the_errors_that_have_one() {
        let trusted = with_advice("cannot connect: invalid peer certificate: UnknownIssuer");
        assert!(trusted.contains("UnknownIssuer; ") && trusted.contains("SSL_CERT_FILE"), "{trusted}");
        for (error, advice) in [
            ("the request is not authorized: the server replied with 401 Unauthorized", "--header"),
            ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "CA:FALSE"),
            (
                "https://a registers no clients by itself; register one with its operator and configure its id",
                "--client-id",
            ),
            (
                "https://b names the issuer https://a; configure it, … to send it the client's secret or",
                "--client-issuer",
            ),
            ("received corrupt message of type InvalidContentType", "http://"),
        ] {
            assert!(with_advice(error).strip_prefix(error).is_some_and(|rest| rest.contains(advice)), "{error}");
        }
        assert_eq!(with_advice("cannot connect: connection refused"), "cannot connect: connection refused");
    }
}
