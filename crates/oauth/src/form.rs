//! `application/x-www-form-urlencoded`, in which OAuth sends parameters: bodies, queries, and the parts of Basic
//! credentials (RFC 6749, appendix B).

use form_urlencoded::{Serializer, byte_serialize};

/// The longest query that is read, in bytes.
pub(crate) const MAX_QUERY: usize = 16 * 1024;

/// A value of a form.
pub(crate) fn encode(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

/// A form of these pairs.
pub(crate) fn encode_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The pairs of a query, in order; none if it is longer than [`MAX_QUERY`] or not properly encoded.
pub(crate) fn decode_pairs(query: &str) -> Option<Vec<(String, String)>> {
    if query.len() > MAX_QUERY {
        return None;
    }
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decode(name)?, decode(value)?))
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let value = digit(rest.next())? * 16 + digit(rest.next())?;
                u8::try_from(value).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_forms_are_coded() {
        assert_eq!(encode_pairs([("a", "aZ0-._* +&=/~ü")]), "a=aZ0-._*+%2B%26%3D%2F%7E%C3%BC");
    }

    #[test]
    fn pairs_survive_coding() {
        let pairs = [("code", "a b+c&d=e"), ("state", "ü%"), ("empty", "")];
        let coded = encode_pairs(pairs);
        let decoded = decode_pairs(&coded).unwrap();
        assert_eq!(decoded, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(decode_pairs("a&&b=c=d").unwrap(), [("a", ""), ("b", "c=d")].map(|(a, b)| (a.into(), b.into())));
        for bad in ["a=%", "a=%2", "a=%zz", "a=%FF"] {
            assert_eq!(decode_pairs(bad), None, "{bad}");
        }
        assert_eq!(decode_pairs(&"a".repeat(MAX_QUERY + 1)), None);
    }
}
